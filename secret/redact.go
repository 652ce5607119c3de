package secret

import (
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
)

const (
	// Shortest is the least length in bytes of a value that redactors look for.
	Shortest = 6
	// shortestFolded is the least number of letters and digits of a value that
	// redactors find also in other case and with other characters between. Ordinary
	// words are shorter.
	shortestFolded = 16
	// shortestOnce is the least length of an encoding that redactors find encoded again:
	// that of 8 bytes. Shorter ones occur by chance.
	shortestOnce = 10
)

// Redactor hides secrets in texts. It is immutable, and its zero value hides
// nothing.
type Redactor struct{ words *words }

// words are the forms of secrets.
type words struct {
	exact  *finder // in a text, with and without its escapes
	folded *finder // in a folded one
}

// NewRedactor returns a redactor of values.
func NewRedactor(values ...Value) Redactor {
	var exact, loose []string
	for _, text := range withLines(values) {
		if len(text) < Shortest {
			continue
		}
		plain := []string{text, reversed(text), strings.ReplaceAll(text, " ", "+")}
		for _, p := range plain {
			for _, v := range views(p, false)[1:] {
				plain = append(plain, string(v.text))
			}
		}
		encoded := encodings(text)
		exact = append(append(exact, plain...), encoded...)
		for _, once := range slices.Compact(slices.Sorted(slices.Values(encoded))) {
			loose = append(loose, fold(once))
			if len(once) < shortestOnce {
				continue
			}
			for _, twice := range encodings(once) {
				loose = append(loose, fold(twice))
			}
		}
		for _, p := range []string{text, reversed(text)} {
			if p = fold(p); len(p) >= shortestFolded {
				loose = append(loose, p)
			}
		}
	}
	w := &words{newFinder(exact), newFinder(loose)}
	if w.exact == nil {
		return Redactor{}
	}
	return Redactor{w}
}

// withLines returns the texts to hide: the values and, of those with several lines, such as keys in
// PEM, also each line that is not found by chance, because tools show texts in part.
func withLines(values []Value) (texts []string) {
	for _, v := range values {
		text := strings.TrimSpace(string(v))
		texts = append(texts, text)
		lines := strings.Split(text, "\n")
		if len(lines) == 1 {
			continue
		}
		for _, line := range lines {
			if line = strings.TrimSpace(line); len(fold(line)) >= shortestFolded && !strings.HasPrefix(line, "-----") {
				texts = append(texts, line)
			}
		}
	}
	return texts
}

// encodings returns a text in hexadecimal and base64.
func encodings(text string) []string {
	digits := hex.EncodeToString([]byte(text))
	return append(inBase64(text), digits, strings.ToUpper(digits))
}

// inBase64 returns the base64 of a text anywhere in other data: the digits that depend
// only on it, for each of the three offsets at which it may begin, in both alphabets.
func inBase64(text string) (all []string) {
	for before := range 3 {
		data := append(make([]byte, before), text...)
		digits := base64.RawStdEncoding.EncodeToString(data)
		whole := len(data) / 3 * 4
		if rest := len(data) % 3; rest > 0 {
			whole += rest // the next digit has bits of the data behind
		}
		digits = digits[[]int{0, 2, 3}[before]:whole]
		all = append(all, digits, strings.NewReplacer("+", "-", "/", "_").Replace(digits))
	}
	return all
}

func reversed(text string) string {
	runes := []rune(text)
	slices.Reverse(runes)
	return string(runes)
}

// Text returns a text without the secrets.
func (r Redactor) Text(text string) string {
	if r.words == nil || len(text) < Shortest || !r.words.in(text) {
		return text
	}
	if len(text) > longest {
		return r.words.long(text)
	}
	return without(text, r.words.spans(text))
}

// without returns a text without some of its places, which are sorted and disjoint.
func without(text string, places []span) string {
	var out strings.Builder
	end := 0
	for _, s := range places {
		out.WriteString(text[end:s.from])
		out.WriteString(hidden)
		end = s.to
	}
	out.WriteString(text[end:])
	return out.String()
}

const (
	// longest is the most bytes of a text whose places are looked for at once: that takes a
	// hundred times the memory, and a file that a tool gives has 20 MiB.
	longest = 512 << 10
	// overlap is how many bytes a piece of a longer text shares with the next one.
	overlap = 64 << 10
)

// long returns a text without the secrets, which it looks for in pieces that overlap. If that
// misses one that is spread over more than a piece, nothing of the text is left.
func (w *words) long(text string) string {
	var all []span
	for from := 0; from < len(text); from += longest - overlap {
		piece := text[from:min(len(text), from+longest)]
		for _, s := range w.spans(piece) {
			all = append(all, span{s.from + from, s.to + from})
		}
	}
	out := without(text, joined(all))
	if w.in(out) {
		return hidden
	}
	return out
}

// in reports whether a text contains a secret.
func (w *words) in(text string) bool {
	all := views(text, false)
	for _, v := range all {
		if len(w.exact.find(v.text)) > 0 {
			return true
		}
	}
	return len(w.folded.find(all[len(all)-1].folded().text)) > 0
}

// spans returns the places of the secrets, sorted and disjoint.
func (w *words) spans(text string) (all []span) {
	forms := views(text, true)
	for _, v := range forms {
		all = append(all, v.places(w.exact)...)
	}
	all = append(all, forms[len(forms)-1].folded().places(w.folded)...)
	return joined(all)
}

// joined sorts spans and joins those that touch.
func joined(all []span) []span {
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	joined := all[:0]
	for _, s := range all {
		if n := len(joined); n > 0 && s.from <= joined[n-1].to {
			joined[n-1].to = max(joined[n-1].to, s.to)
			continue
		}
		joined = append(joined, s)
	}
	return joined
}

// places returns the places in the original of the words that are found in a view.
func (v view) places(f *finder) []span {
	found := f.find(v.text)
	for i, s := range found {
		found[i] = span{v.at[s.from].from, v.at[s.to-1].to}
	}
	return found
}

// JSON returns a valid JSON value without the secrets, however its strings are
// escaped. A value without secrets is returned unchanged; a number with one becomes a
// string.
func (r Redactor) JSON(raw json.RawMessage) json.RawMessage {
	if r.words == nil || !r.words.in(string(raw)) {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for len(raw) > 0 {
		n := tokenLength(raw)
		out, raw = r.appendToken(out, raw[:n]), raw[n:]
	}
	return out
}

func (r Redactor) appendToken(out, token []byte) []byte {
	switch {
	case token[0] == '"':
		var s string
		if err := json.Unmarshal(token, &s); err == nil && r.Text(s) != s {
			token, _ = json.Marshal(r.Text(s)) // never fails for a string
		}
	case len(token) > 1 && r.Text(string(token)) != string(token):
		token = []byte(`"` + hidden + `"`)
	}
	return append(out, token...)
}

// tokenLength returns the length of the string, number or byte of punctuation at the
// beginning of a piece of JSON.
func tokenLength(raw []byte) int {
	n := 1
	switch {
	case raw[0] == '"':
		for n < len(raw) && raw[n] != '"' {
			if raw[n] == '\\' {
				n++
			}
			n++
		}
		n++
	case raw[0] == '-' || '0' <= raw[0] && raw[0] <= '9':
		for n < len(raw) && isNumeric(raw[n]) {
			n++
		}
	}
	return min(n, len(raw))
}

func isNumeric(b byte) bool { return '0' <= b && b <= '9' || strings.IndexByte("+-.eE", b) >= 0 }

// ErrHidden means that a text holds "(hidden)" in the place of a secret, which would be lost where the
// text is written.
var ErrHidden = errors.New("incomplete: \"(hidden)\" stands for a secret that etui removed, and must not be written in its place; " +
	"leave it out, change only what is around it, or have a person write it")

// Whole refuses a text in which a secret may have been hidden: it holds "(hidden)", and there are
// secrets. The error is ErrHidden.
func (r Redactor) Whole(text string) error {
	if r.words != nil && strings.Contains(text, hidden) {
		return ErrHidden
	}
	return nil
}

// Error returns err without the secrets in its text. errors.Is and errors.As still find
// what err wraps.
func (r Redactor) Error(err error) error {
	if err == nil {
		return nil
	}
	if text := err.Error(); r.Text(text) != text {
		return &redaction{r.Text(text), err}
	}
	return err
}

type redaction struct {
	text string
	err  error
}

func (e *redaction) Error() string { return e.text }

func (e *redaction) Unwrap() error { return e.err }

// Writer returns a writer that hides the secrets in each text that it writes to w, and those in
// addresses, see [URLs]. It is for logs: a handler of package slog writes one record at a time.
func (k *Set) Writer(w io.Writer) io.Writer { return &writer{k, w} }

type writer struct {
	known *Set
	to    io.Writer
}

func (w *writer) Write(p []byte) (int, error) {
	text := string(p)
	if clean := URLs(w.known.Redactor().Text(text)); clean != text {
		if _, err := io.WriteString(w.to, clean); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return w.to.Write(p)
}
