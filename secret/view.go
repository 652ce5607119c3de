package secret

import (
	"bytes"
	"encoding/hex"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/etui-run/etui/internal/printable"
)

// A view is a text in another form, such as without its escapes.
type view struct {
	text []byte
	// at is, for each byte, its place in the original; nil when places are not needed.
	at []span
}

// plain is a text as it is.
func plain(text string, places bool) view {
	v := view{text: []byte(text)}
	if places {
		v.at = make([]span, len(text))
		for i := range v.at {
			v.at[i] = span{i, i + 1}
		}
	}
	return v
}

// maxEscapes is how many levels of escapes are removed.
const maxEscapes = 4

// views returns a text as it is, without each level of escapes that it has, and as a
// reader understands it.
func views(text string, places bool) []view {
	all := []view{plain(text, places)}
	v := all[0]
	if strings.ContainsAny(text, `\%&`) {
		for len(all) <= maxEscapes {
			next := v.unescape()
			if len(next.text) == len(v.text) {
				break
			}
			v, all = next, append(all, next)
		}
	}
	if slices.ContainsFunc(v.text, odd) {
		all = append(all, v.seen())
	}
	return all
}

// odd reports whether a byte is none of a character that everybody sees as it is.
func odd(b byte) bool { return b < ' ' && b != '\n' && b != '\t' || b > '~' }

// seen returns a text without what shows nothing - characters without a shape, marks on
// letters, sequences that steer a terminal - and with plain letters for those of another
// width or style.
func (v view) seen() view {
	out := view{text: make([]byte, 0, len(v.text))}
	for i := 0; i < len(v.text); {
		before, n := len(out.text), 1
		if !odd(v.text[i]) {
			out.text = append(out.text, v.text[i])
		} else if n = printable.HiddenLength(v.text[i:]); n == 0 {
			_, n = utf8.DecodeRune(v.text[i:])
			out.text = appendPlain(out.text, v.text[i:i+n])
		}
		if v.at != nil {
			for range out.text[before:] {
				out.at = append(out.at, span{v.at[i].from, v.at[i+n-1].to})
			}
		}
		i += n
	}
	return out
}

// appendPlain appends what one character consists of, without marks.
func appendPlain(out, char []byte) []byte {
	if whole := norm.NFKD.Properties(char).Decomposition(); whole != nil {
		char = whole
	}
	for len(char) > 0 {
		r, n := utf8.DecodeRune(char)
		if !unicode.Is(unicode.M, r) {
			out = append(out, char[:n]...)
		}
		char = char[n:]
	}
	return out
}

func (v view) unescape() view {
	out := view{text: make([]byte, 0, len(v.text))}
	for i := 0; i < len(v.text); {
		next := i
		for next < len(v.text) && v.text[next] != '\\' && v.text[next] != '%' && v.text[next] != '&' {
			next++
		}
		out.text = append(out.text, v.text[i:next]...)
		if v.at != nil {
			out.at = append(out.at, v.at[i:next]...)
		}
		if i = next; i == len(v.text) {
			break
		}
		before, length := len(out.text), 0
		out.text, length = appendEscape(out.text, v.text[i:])
		for range out.text[before:] {
			if v.at != nil {
				out.at = append(out.at, span{v.at[i].from, v.at[i+length-1].to})
			}
		}
		i += length
	}
	return out
}

// appendEscape appends the meaning of the escape at the beginning of text, and returns
// its length. Without an escape it appends one byte.
func appendEscape(out, text []byte) ([]byte, int) {
	switch text[0] {
	case '%':
		if b, ok := hexByte(text[1:]); ok {
			return append(out, b), 3
		}
	case '&':
		if r, n := entity(text); n > 0 {
			return utf8.AppendRune(out, r), n
		}
	case '\\':
		if r, n := backslash(text); n > 0 {
			return utf8.AppendRune(out, r), n
		}
		if len(text) > 1 && text[1] == 'x' {
			if b, ok := hexByte(text[2:]); ok {
				return append(out, b), 4
			}
		}
	}
	return append(out, text[0]), 1
}

func hexByte(text []byte) (byte, bool) {
	var b [1]byte
	if len(text) < 2 {
		return 0, false
	}
	_, err := hex.Decode(b[:], text[:2])
	return b[0], err == nil
}

// backslash reads an escape as JSON and Go write it; n is 0 for none.
func backslash(text []byte) (r rune, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"'/\abfnrtv`, text[1]); i >= 0 {
		return rune("\"'/\\\a\b\f\n\r\t\v"[i]), 2
	}
	if code, ok := hexByte(text[2:]); text[1] == 'U' && ok && code == 0 && len(text) >= 10 { // Go and Python
		if rest := codeUnit(append([]byte(`\u`), text[6:10]...)); rest >= 0 {
			plane, _ := hexByte(text[4:])
			return rune(plane)<<16 | rest, 10
		}
	}
	if r = codeUnit(text); r < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(r) {
		if pair := utf16.DecodeRune(r, codeUnit(text[6:])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return r, 6
}

// codeUnit reads \u and four digits; -1 when there are none.
func codeUnit(text []byte) rune {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return -1
	}
	high, ok := hexByte(text[2:])
	low, also := hexByte(text[4:])
	if !ok || !also {
		return -1
	}
	return rune(high)<<8 | rune(low)
}

// entity reads an escape as HTML writes it; n is 0 for none.
func entity(text []byte) (r rune, n int) {
	end := bytes.IndexByte(text[:min(len(text), 10)], ';')
	if end < 3 {
		return 0, 0
	}
	plain := html.UnescapeString(string(text[:end+1]))
	if r, n = utf8.DecodeRuneInString(plain); n != len(plain) {
		return 0, 0
	}
	return r, end + 1
}

func lower(b byte) byte {
	if 'A' <= b && b <= 'Z' {
		return b + 'a' - 'A'
	}
	return b
}

// folded returns a text in small letters, without spaces and punctuation, so that
// wrapped and separated base64 and hexadecimal look the same.
func (v view) folded() view {
	out := view{text: make([]byte, len(v.text))}
	n := 0
	for i, b := range v.text {
		if out.text[n] = folds[b]; out.text[n] == 0 {
			continue
		}
		if n++; v.at != nil {
			out.at = append(out.at, v.at[i])
		}
	}
	out.text = out.text[:n]
	return out
}

// folds maps each byte to that in a folded text; 0 for those that are left out.
var folds = func() (table [256]byte) {
	for i := range table {
		table[i] = lower(byte(i))
	}
	for _, b := range []byte(" \t\r\n:,;-_+/=|.'\"`") {
		table[b] = 0
	}
	return table
}()

// fold returns a text as in the folded last one of its views.
func fold(text string) string {
	all := views(text, false)
	return string(all[len(all)-1].folded().text)
}
