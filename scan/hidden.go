package scan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// hidden finds characters that a person does not see and a model reads.
func (p *page) hidden() (flags []Flag) {
	for i, l := range p.lines {
		if why := hiddenIn(l.text, i == 0); why != "" {
			flags = append(flags, Flag{File: p.name, Line: l.number, Rule: "hidden-text", Why: why})
		}
		if len(flags) == 3 {
			break
		}
	}
	return flags
}

func hiddenIn(text string, first bool) string {
	if strings.IndexFunc(text, func(r rune) bool { return r >= utf8.RuneSelf }) < 0 {
		return ""
	}
	zero, before, begins := 0, rune(0), first
	for at, r := range text {
		switch {
		case r >= 0xE0000 && r <= 0xE007F && !flagOf(text[:at]):
			return fmt.Sprintf("it contains invisible letters (U+%04X)", r)
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return fmt.Sprintf("it contains a mark that reverses the direction of text (U+%04X)", r)
		case r >= 0xE0100 && r <= 0xE01EF, r >= 0x2061 && r <= 0x2064, r == 0x180E, r >= 0xFFF9 &&
			r <= 0xFFFB, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0:
			if zero++; zero > 2 || r >= 0xE0100 {
				return fmt.Sprintf("it contains invisible characters (U+%04X)", r)
			}
		case r == 0xFEFF && begins:
		case r == 0x200B, r == 0x2060, r == 0xFEFF, (r == 0x200C || r == 0x200D) && before < utf8.RuneSelf:
			after, _ := utf8.DecodeRuneInString(text[at+utf8.RuneLen(r):])
			if zero++; zero > 1 || before < utf8.RuneSelf && unicode.IsLetter(before) && unicode.IsLetter(after) {
				return fmt.Sprintf("it contains characters without width (U+%04X)", r)
			}
		}
		before, begins = r, false
	}
	return ""
}

// flagOf reports that invisible letters belong to an emoji: the flags of England,
// Scotland and Wales are written with them.
func flagOf(before string) bool {
	before = strings.TrimRightFunc(before, func(r rune) bool { return r >= 0xE0000 && r <= 0xE007F })
	return strings.HasSuffix(before, "\U0001F3F4")
}
