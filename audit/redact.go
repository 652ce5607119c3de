package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/plainjson"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/secret"
)

// How much of arguments is stored.
const (
	maxRead    = 64 << 10
	maxText    = 200 // bytes of one text
	maxSession = 512 // bytes of a session's key
	maxDepth   = 6
	maxError   = 300 // bytes of an error's text
)

// limits are how many bytes arguments have that are read at all, how many are kept all together, and in one text,
// and how many items a list or an object has.
type limits struct{ read, all, text, items int }

var (
	stored = limits{maxRead, 2 << 10, maxText, 20}
	shown  = limits{1 << 20, 16 << 10, 8 << 10, 200} // nobody can decide about a number of bytes
)

const hidden = "(hidden)"

// Arguments returns arguments for somebody who decides about a call: without secrets, and as whole
// as can be. Arguments that have no shape are escaped.
func Arguments(secrets *secret.Set, args json.RawMessage) string {
	text := cleaner{secrets.Redactor()}.arguments(args, shown)
	var b strings.Builder
	for i, c := range text {
		if n := utf8.RuneLen(c); printable.HiddenLength([]byte(text[i:i+n])) > 0 {
			quoted := strconv.QuoteToASCII(text[i : i+n])
			b.WriteString(quoted[1 : len(quoted)-1])
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// cleaner removes from texts the known secrets and anything that looks like one.
type cleaner struct{ known secret.Redactor }

// arguments returns arguments as [Record] has them.
func (r cleaner) arguments(args json.RawMessage, most limits) string {
	if len(args) == 0 {
		return ""
	}
	if len(args) > most.read {
		return fmt.Sprintf("(%d bytes)", len(args))
	}
	value, err := plainjson.Decode(args)
	if err != nil {
		return "(not JSON)"
	}
	out, err := plainjson.Encode(r.value(value, most, 0))
	if err != nil {
		return "(not JSON)"
	}
	return cut(string(out), most.all)
}

func (r cleaner) value(v any, most limits, depth int) any {
	if depth > maxDepth {
		return "…"
	}
	switch v := v.(type) {
	case string:
		return cut(r.text(v), most.text)
	case []any:
		kept := make([]any, 0, min(len(v), most.items))
		for i, item := range v {
			if i == most.items {
				return append(kept, fmt.Sprintf("… %d more", len(v)-i))
			}
			kept = append(kept, r.value(item, most, depth+1))
		}
		return kept
	case map[string]any:
		kept := make(map[string]any, min(len(v), most.items))
		for i, name := range slices.Sorted(maps.Keys(v)) {
			if i == most.items {
				kept["…"] = fmt.Sprintf("%d more", len(v)-i)
				break
			}
			if _, number := v[name].(json.Number); secretName(name) && !number {
				kept[cut(r.text(name), maxText)] = hidden
				continue
			}
			kept[cut(r.text(name), maxText)] = r.value(v[name], most, depth+1)
		}
		return kept
	}
	return v
}

// line returns a text cleaned, cut and in one line.
func (r cleaner) line(text string) string {
	text = cut(text, maxRead) // what is looked through
	return cut(r.text(strings.Join(strings.Fields(text), " ")), maxError)
}

// looks are texts that look like secrets. The words that introduce one stay.
var looks = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[\w.~+/=-]{6,}`), "$1 " + hidden},
	{regexp.MustCompile(`(?i)((?:\b(?:pass(?:word|phrase|wd)|pwd|secret|token|credentials?|api[ _-]?key|access[ _-]?key)|密码|口令|密钥|令牌)["']?\s*(?:\bis\b|[=:：]|是|为)\s*["']?)[^\s"',;&]+`), "$1" + hidden},
	{regexp.MustCompile(`\b(?:sk|pk|rk)[-_][\w-]{16,}|\bgh[pousr]_\w{20,}|\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[abeoprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}`), hidden},
	{regexp.MustCompile(`\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*`), hidden},
	{regexp.MustCompile(`(://[^/\s:@]+:)[^/\s@]+@`), "$1" + hidden + "@"},
	{regexp.MustCompile(`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)`), hidden},
}

func (r cleaner) text(s string) string {
	s = r.known.Text(s)
	for _, l := range looks {
		s = l.pattern.ReplaceAllString(s, l.instead)
	}
	return strings.ToValidUTF8(s, "")
}

var secretWords = []string{"password", "passwd", "pwd", "passphrase", "passcode", "secret", "secrets", "token", "auth",
	"authorization", "credential", "credentials", "cookie", "cookies", "apikey", "otp", "pin", "密码", "口令", "密钥",
	"令牌"}

// secretName reports whether the value of a name is likely a secret: access_token,
// apiKey, DB-PASSWORD.
func secretName(name string) bool {
	before := ""
	for _, word := range words(name) {
		key := word == "key" && slices.Contains([]string{"api", "private", "access", "secret", "ssh", "signing",
			"encryption"}, before)
		if key || slices.Contains(secretWords, word) {
			return true
		}
		before = word
	}
	return false
}

// words splits a name at non-letters and where a capital follows a small letter.
func words(name string) (list []string) {
	var word []rune
	end := func() {
		if len(word) > 0 {
			list = append(list, strings.ToLower(string(word)))
		}
		word = nil
	}
	small := false
	for _, c := range name {
		if !unicode.IsLetter(c) || small && unicode.IsUpper(c) {
			end()
		}
		if small = unicode.IsLower(c); unicode.IsLetter(c) {
			word = append(word, c)
		}
	}
	end()
	return list
}

// cut shortens a text between characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	n := limit
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return fmt.Sprintf("%s… (%d bytes)", s[:n], len(s))
}
