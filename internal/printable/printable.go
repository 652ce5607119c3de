// Package printable removes from texts of servers, pages and packages the characters
// that people cannot see and that can steer models.
package printable

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns a text without terminal sequences, control characters, characters
// without a shape, changes of direction and tag characters. Line ends become '\n',
// broken UTF-8 becomes U+FFFD. A text without any of these is returned as it is.
func Text(s string) string {
	if ready(s) {
		return s
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = terminal.ReplaceAllString(s, "")
	s = lineEnds.Replace(s)
	var b strings.Builder
	b.Grow(len(s))
	var before rune
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		if !unseen(r) || joins(before, r, after) {
			b.WriteRune(r)
			before = r
		}
	}
	return b.String()
}

// HiddenLength returns the length of what shows nothing at the beginning of a text: a sequence
// that steers a terminal, or a character without a shape. It is 0 if there is none.
func HiddenLength(s []byte) int {
	if at := leading.FindIndex(s); len(s) > 0 && s[0] == 0x1b && at != nil {
		return at[1]
	}
	if r, n := utf8.DecodeRune(s); n > 0 && r != utf8.RuneError && unseen(r) {
		return n
	}
	return 0
}

// terminal matches the sequences that steer terminals: CSI, OSC and the other
// strings, two-character ones.
var terminal, leading = regexp.MustCompile(sequence), regexp.MustCompile("^(?:" + sequence + ")")

const sequence = "\x1b\\[[0-?]*[ -/]*[@-~]" + "|\x1b[\\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\\\)" + "|\x1b[ -/]*[0-~]"

var lineEnds = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029", "\n", "\u0085", "\n")

func ready(s string) bool {
	for i := range len(s) {
		if c := s[i]; c >= utf8.RuneSelf || c < ' ' && c != '\n' && c != '\t' || c == 0x7f {
			return false
		}
	}
	return true
}

// unseen reports whether a character has no shape of its own.
func unseen(r rune) bool {
	switch {
	case r == '\n', r == '\t':
		return false
	case r >= 0xFE00 && r <= 0xFE0F, r >= 0xE0100 && r <= 0xE01EF, // variation selectors
		r == 0x034F, r == 0x115F, r == 0x1160, r == 0x17B4, r == 0x17B5, r == 0x3164, r == 0xFFA0, r == 0x2800: // blanks other than spaces
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co)
}

// joins reports whether an unseen character belongs between its neighbors: a joiner
// in a script or an emoji that needs it, or a selector after one.
func joins(before, r, after rune) bool {
	switch r {
	case 0xFE0F:
		return unicode.In(before, unicode.So, unicode.Sm) || before >= '0' && before <= '9' || before == '#' ||
			before == '*'
	case 0x200D:
		if emoji(before) && emoji(after) {
			return true
		}
		fallthrough
	case 0x200C:
		return unicode.In(before, joining...) && unicode.In(after, joining...)
	}
	return false
}

func emoji(r rune) bool { return unicode.In(r, unicode.So, unicode.Sk) || r == 0xFE0F }

var joining = []*unicode.RangeTable{
	unicode.Arabic, unicode.Syriac, unicode.Mongolian, unicode.Devanagari, unicode.Bengali, unicode.Gurmukhi,
	unicode.Gujarati,
	unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam, unicode.Sinhala, unicode.Khmer,
	unicode.Mn, unicode.Mc,
}

// OneLine puts a text on one line, with single blanks, and removes what [Text]
// removes.
func OneLine(s string) string { return strings.Join(strings.Fields(Text(s)), " ") }

// Line is OneLine, cut to so many characters.
func Line(s string, most int) string {
	s = OneLine(s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most-1]) + "…"
	}
	return s
}

// Count writes a number of things: "1 tool", "2 tools".
func Count(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}
