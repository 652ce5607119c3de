package secret_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"math/rand/v2"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/secret"
)

// encodings are the ways in which programs write a text within others.
func encodings() map[string]func(string) string {
	b64 := func(e *base64.Encoding) func(string) string {
		return func(s string) string { return e.EncodeToString([]byte(s)) }
	}
	wrapped := func(f func(string) string, width int, by string) func(string) string {
		return func(s string) string {
			var lines []string
			for s = f(s); len(s) > width; s = s[width:] {
				lines = append(lines, s[:width])
			}
			return strings.Join(append(lines, s), by)
		}
	}
	quoted := func(s string) string {
		raw, _ := json.Marshal(s)
		return string(raw)
	}
	small := func(s string) string { return hex.EncodeToString([]byte(s)) }
	return map[string]func(string) string{
		"plain":           func(s string) string { return s },
		"base64":          b64(base64.StdEncoding),
		"base64 raw":      b64(base64.RawStdEncoding),
		"base64url":       b64(base64.URLEncoding),
		"base64url raw":   b64(base64.RawURLEncoding),
		"base64 wrapped":  wrapped(b64(base64.StdEncoding), 76, "\n"),
		"MIME":            wrapped(b64(base64.StdEncoding), 20, "\r\n"),
		"base64 twice":    func(s string) string { return b64(base64.StdEncoding)(b64(base64.StdEncoding)(s)) },
		"base64 of hex":   func(s string) string { return b64(base64.StdEncoding)(small(s)) },
		"hex of base64":   func(s string) string { return small(b64(base64.StdEncoding)(s)) },
		"hex":             small,
		"HEX":             func(s string) string { return strings.ToUpper(small(s)) },
		"xxd -p":          wrapped(small, 60, "\n"),
		"hex with colons": wrapped(small, 2, ":"),
		"xxd":             wrapped(small, 4, " "),
		"query":           url.QueryEscape,
		"path":            url.PathEscape,
		"all percent": func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, "%%%02x", c)
			}
			return b.String()
		},
		"JSON":            quoted,
		"JSON in JSON":    func(s string) string { return quoted(quoted(s)) },
		"Go":              func(s string) string { return fmt.Sprintf("%+q", s) },
		"HTML":            html.EscapeString,
		"base64 in JSON":  func(s string) string { return quoted(wrapped(b64(base64.StdEncoding), 64, "\n")(s)) },
		"base64 in a URL": func(s string) string { return url.QueryEscape(b64(base64.StdEncoding)(s)) },
		"escaped": func(s string) string {
			var b strings.Builder
			for _, c := range []byte(s) {
				fmt.Fprintf(&b, `\u%04X`, c)
			}
			return b.String()
		},
	}
}

// TestRedactor: no encoding of a secret survives, at any place in a text.
func TestRedactor(t *testing.T) {
	secrets := []string{"tr0ub4dor&3", `p"a/ss\w+rd`, "sk-proj-0aZ_9-xY8wQ2", "100% n\\to <&> it", "päßwörter", strings.Repeat("k3y/", 40)}
	for _, s := range secrets {
		r := secret.NewRedactor(secret.Value(s))
		for name, encode := range encodings() {
			ascii := strings.ContainsFunc(s, func(c rune) bool { return c > 127 })
			if name == "escaped" && ascii {
				continue // it writes bytes
			}
			for before := range 5 {
				text := strings.Repeat("b", before) + s + "after it"
				in := "<<" + encode(text) + ">>"
				got := r.Text(in)
				if !strings.Contains(got, "(hidden)") || !strings.HasPrefix(got, "<<") || !strings.HasSuffix(got, ">>") {
					t.Errorf("%s of %q: %q gives %q", name, s, in, got)
				}
				for _, rest := range strings.Split(strings.Trim(got, "<>"), "(hidden)") {
					if len(rest) > 4*len("bbbbbafter it")+12 {
						t.Errorf("%s of %q: %q gives %q", name, s, in, got)
					}
				}
			}
		}
	}
}

// TestUnseen: what nobody sees in a secret, and letters of another width or style, hide it
// from nobody, in any escape.
func TestUnseen(t *testing.T) {
	between := func(what string) func(string) string {
		return func(s string) string { return strings.Join(strings.Split(s, ""), what) }
	}
	moved := func(by rune) func(string) string {
		return func(s string) string {
			return strings.Map(func(c rune) rune {
				if c > ' ' && c <= '~' {
					return c + by
				}
				return c
			}, s)
		}
	}
	bold := func(s string) string {
		return strings.Map(func(c rune) rune {
			switch {
			case c >= 'a' && c <= 'z':
				return 0x1D41A + c - 'a'
			case c >= '0' && c <= '9':
				return 0x1D7CE + c - '0'
			}
			return c
		}, s)
	}
	ways := map[string]func(string) string{"full width": moved(0xFEE0), "bold": bold}
	for _, c := range []string{
		"\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u2066", "\u061c", "\ufe0f", "\U000e0041", "\u034f", "\u3164", "\u0301", "\u20dd",
		"\x00", "\r", "\b", "\x1b[0m", "\x1b]8;;x\a", "\u200b\u00ad\u202e",
	} {
		ways[fmt.Sprintf("%+q", c)] = between(c)
	}
	quoted := func(s string) string { raw, _ := json.Marshal(s); return string(raw) }
	for _, s := range []string{"tr0ub4dor&3", `p"a/ss\w+rd`, "sk-proj-0aZ_9-xY8wQ2", "päßwörter", "pа́роль-1234567890"} {
		r := secret.NewRedactor(secret.Value(s))
		for name, way := range ways {
			for escape, write := range map[string]func(string) string{
				"": func(s string) string { return s }, "JSON": quoted, "Go": func(s string) string { return fmt.Sprintf("%+q", s) }, "query": url.QueryEscape, "HTML": html.EscapeString,
			} {
				in := "<<" + write(way(s)) + ">>"
				if got := r.Text(in); strings.Trim(got, `<>"`) != "(hidden)" {
					t.Errorf("%s %s of %q: %q gives %q", escape, name, s, in, got)
				}
			}
		}
		hexed := between("\u200b")(hex.EncodeToString([]byte(s)))
		if got := r.Text(hexed); strings.Trim(got, "\u200b") != "(hidden)" {
			t.Errorf("%q gives %q", hexed, got)
		}
	}
	const harmless = "naïve café, ｆｕｌｌ width, \x1b[1mbold\x1b[0m, 密码 and 👩‍👩‍👧"
	if got := secret.NewRedactor("tr0ub4dor&3").Text(harmless); got != harmless {
		t.Errorf("%q gives %q", harmless, got)
	}
}

func TestText(t *testing.T) {
	r := secret.NewRedactor("s3cr3t/+=\"", "overlapping-one", "one-and-more", "1234567", "C0rrectHorseBattery", "short")
	for in, want := range map[string]string{
		"":                                   "",
		"nothing of it: short, C0rrect":      "nothing of it: short, C0rrect",
		`got s3cr3t/+=" twice: s3cr3t/+="`:   "got (hidden) twice: (hidden)",
		"?key=s3cr3t%2F%2B%3D%22&x=1":        "?key=(hidden)&x=1",
		"an overlapping-one-and-more here":   "an (hidden) here",
		"12345671234567":                     "(hidden)",
		"7654321":                            "(hidden)",
		"c0rrect horse battery, c0rrect":     "(hidden), c0rrect",
		`\\\\ 100%zz &amp &#; \u12 %`:        `\\\\ 100%zz &amp &#; \u12 %`,
		"长 s3cr3t/+=\" 长":                    "长 (hidden) 长",
		`{"a":"\u0073\u0033cr3t\/+=\u0022"}`: `{"a":"(hidden)"}`,
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", in, got, want)
		}
	}
	for in, want := range map[string]string{
		`{"b": 1.50, "a":"x\ny"}`:       `{"b": 1.50, "a":"x\ny"}`,
		`["s3cr3t\/+=\u0022", "\\"]`:    `["(hidden)", "\\"]`,
		`{"n":-1234567.5e3,"m":123456}`: `{"n":"(hidden)","m":123456}`,
	} {
		if got := string(r.JSON(json.RawMessage(in))); got != want {
			t.Errorf("%s\ngives %s\nwant  %s", in, got, want)
		}
	}
	if got := (secret.Redactor{}).Text("1234567"); got != "1234567" {
		t.Error(got)
	}
	err := r.Error(fmt.Errorf("token 1234567: %w", io.EOF))
	if err.Error() != "token (hidden): EOF" {
		t.Errorf("the error says %q", err)
	}
	if !errors.Is(err, io.EOF) || !errors.Is(r.Error(io.EOF), io.EOF) {
		t.Error("the error is io.EOF no more")
	}
	if r.Error(nil) != nil {
		t.Error("there is an error where there was none")
	}
}

func TestValue(t *testing.T) {
	for _, got := range []string{
		fmt.Sprint(secret.Value("tr0ub4dor")), fmt.Sprintf("%v %+v %s", secret.Value("tr0ub4dor"), struct{ V secret.Value }{"tr0ub4dor"}, secret.Value("tr0ub4dor")),
		fmt.Sprintf("%#v %q", secret.Value("tr0ub4dor"), secret.Value("tr0ub4dor")),
	} {
		if strings.Contains(got, "tr0") {
			t.Error(got)
		}
	}
	if raw, err := json.Marshal(map[string]secret.Value{"a": "tr0ub4dor", "b": ""}); err != nil || string(raw) != `{"a":"(hidden)","b":""}` {
		t.Errorf("%s %v", raw, err)
	}
	for v, want := range map[secret.Value]int{"abc def ghi": 1, "Bearer abcdef": 2, secret.Value("Basic " + base64.StdEncoding.EncodeToString([]byte("u:pass-word"))): 3} {
		if got := v.Parts(); len(got) != want {
			t.Errorf("%d parts", len(got))
		}
	}
}

func set(t *testing.T, k *secret.Set, owner string, values ...secret.Value) {
	t.Helper()
	if err := k.Set(owner, values...); err != nil {
		t.Error(err)
	}
}

// TestKnown: secrets come and go while others redact and log.
func TestKnown(t *testing.T) {
	var k secret.Set
	var log strings.Builder
	w := k.Writer(&log)
	set(t, &k, "first", "Bearer s3cret-one")
	set(t, &k, "second", "s3cret-two")
	fmt.Fprint(w, "with s3cret-one and s3cret-two")
	set(t, &k, "first", "s3cret-three")
	fmt.Fprint(w, "; s3cret-one s3cret-three")
	if got := log.String(); got != "with (hidden) and (hidden); s3cret-one (hidden)" {
		t.Error(got)
	}
	var none *secret.Set
	if got := none.Redactor().Text("s3cret-two"); got != "s3cret-two" {
		t.Error(got)
	}
	var wg sync.WaitGroup
	for i := range 4 {
		wg.Go(func() {
			for n := range 50 {
				set(t, &k, fmt.Sprint("skill ", i), secret.Value(fmt.Sprintf("s3cret-of-%d-%d", i, n)))
				if got := k.Redactor().Text(fmt.Sprintf("a s3cret-of-%d-%d, s3cret-two", i, n)); got != "a (hidden), (hidden)" {
					t.Error(got)
				}
			}
		})
	}
	wg.Wait()
}

// TestKnownIsFull: too many secrets are refused, and push no others out.
func TestKnownIsFull(t *testing.T) {
	var k secret.Set
	set := func(owner string, from, n int) error {
		var list []secret.Value
		for i := range n {
			list = append(list, secret.Value(fmt.Sprintf("value-%d-%d", from, i)))
		}
		return k.Set(owner, list...)
	}
	if err := set("etui.yaml", 0, secret.MaxOwned); err != nil {
		t.Fatal(err)
	}
	if err := set("a.yaml", 1, secret.MaxOwned+1); err == nil || !strings.Contains(err.Error(), "a.yaml holds 501 secrets") {
		t.Error(err)
	}
	full := false
	for i := 1; i <= secret.MaxKnown/secret.MaxOwned; i++ {
		full = set(fmt.Sprint("skill ", i), i, secret.MaxOwned) != nil
	}
	if !full {
		t.Error("there is no limit of all")
	}
	if got := k.Redactor().Text("value-0-7"); got != "(hidden)" {
		t.Errorf("a secret was forgotten: %q", got)
	}
}

// FuzzRedactor: no secret survives in any encoding, and JSON stays valid.
func FuzzRedactor(f *testing.F) {
	f.Add("tr0ub4dor&3", "before ", " after")
	f.Add("aaaaaaa", `\u00`, "%4")
	f.Add("00000000", "0", "0")
	f.Fuzz(func(t *testing.T, value, before, after string) {
		// Secrets are printable, and do not consist of the replacement's characters.
		odd := strings.ContainsFunc(value, func(c rune) bool { return c <= ' ' || c > '~' || strings.ContainsRune("(hidden)", c) })
		if odd || len(value) < 8 || len(value) > 500 {
			t.Skip()
		}
		r := secret.NewRedactor(secret.Value(value))
		for name, encode := range encodings() {
			in := encode(before + "\n" + value + "\n" + after)
			got := r.Text(in)
			if !strings.Contains(got, "(hidden)") {
				t.Errorf("%s: %q gives %q", name, in, got)
			}
			if name == "plain" && strings.Contains(got, value) {
				t.Errorf("%q gives %q", in, got)
			}
		}
		raw, _ := json.Marshal([]string{before + value + after})
		if got := r.JSON(raw); !json.Valid(got) {
			t.Errorf("%s gives %s", raw, got)
		}
	})
}

// TestLines: a tool that shows one line of a key shows none of it; the lines around the key and
// short ones are ordinary text.
func TestLines(t *testing.T) {
	t.Parallel()
	key := "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\nq83kZpLw0vXyT5nBhR7sJdUeGfKcMaOi\nwQIDAQAB\n-----END PRIVATE KEY-----\n"
	r := secret.NewRedactor(secret.Value(key))
	for in, want := range map[string]string{
		"2: MIIEvQIBADANBgkqhkiG9w0BAQEFAASC":                                              "2: (hidden)",
		"q83kZpLw0vXyT5nBhR7sJdUeGfKcMaOi\nwQIDAQAB\n-----END PRIVATE KEY-----":            "(hidden)\nwQIDAQAB\n-----END PRIVATE KEY-----",
		"-----BEGIN PRIVATE KEY-----":                                                      "-----BEGIN PRIVATE KEY-----",
		base64.StdEncoding.EncodeToString([]byte("xq83kZpLw0vXyT5nBhR7sJdUeGfKcMaOi and")): "eH(hidden)IGFuZA==",
		key: "(hidden)\n",
	} {
		if got := r.Text(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func BenchmarkText(b *testing.B) {
	var values []secret.Value
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		raw := make([]byte, 30)
		for i := range raw {
			raw[i] = byte(random.Uint32())
		}
		values = append(values, secret.Value(base64.StdEncoding.EncodeToString(raw)))
	}
	r := secret.NewRedactor(values...)
	line := "2026-07-28T10:31:04Z ERROR checkout-7f9c payment gateway answered 503 after 3 tries, order 81234 is kept; retry in 30 s\n"
	for _, size := range []int{1 << 10, 32 << 10} {
		text := strings.Repeat(line, size/len(line)+1)[:size]
		quoted, _ := json.Marshal(text)
		for name, in := range map[string]string{"text": text, "JSON": string(quoted), "found": text + string(values[7])} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				b.SetBytes(int64(len(in)))
				b.ReportAllocs()
				for b.Loop() {
					r.Text(in)
				}
			})
		}
	}
	b.Run("build/50", func(b *testing.B) {
		for b.Loop() {
			secret.NewRedactor(values...)
		}
	})
}

// TestLongTexts: a secret in a file of 2 MiB is found wherever it is, and looking for its place
// does not take a hundred times as much.
func TestLongTexts(t *testing.T) {
	const key = "tr0ub4dor-tr0ub4dor-tr0ub4dor"
	r := secret.NewRedactor(key)
	part := strings.Repeat("%25%2525\x01\u00e9 ", 28_000)
	var b strings.Builder
	for i := 0; b.Len() < 2<<20; i++ {
		b.WriteString(part[:len(part)-i*1000] + "<" + url.QueryEscape(key[:i%9+1]) + key[i%9+1:] + ">")
		if i == 20 {
			i = 0
		}
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	clean := r.Text(b.String())
	runtime.ReadMemStats(&after)
	if n := int64(after.HeapSys-before.HeapSys) >> 20; n > 200 {
		t.Errorf("it took %d MiB", n)
	}
	if n := strings.Count(b.String(), "<"); strings.Count(clean, "<(hidden)>") != n || r.Text(clean) != clean {
		t.Errorf("%d of %d are hidden", strings.Count(clean, "<(hidden)>"), n)
	}
	// One that is spread over more than a piece is not in the text either.
	spread := "begin " + key[:10] + strings.Repeat(" ", 1<<20) + key[10:]
	if got := r.Text(spread); strings.Contains(got, key[10:]) {
		t.Errorf("%.40q is left", got)
	}
}
