package markdown

import (
	"strings"
	"unicode"
)

// Characters that people cannot see and models read.
var (
	zeroWidth = table(0xad, 0xad, 0x61c, 0x61c, 0x180e, 0x180e, 0x200b, 0x200f, 0x2060, 0x2064, 0xfeff, 0xfeff)
	turning   = table(0x202a, 0x202e, 0x2066, 0x2069) // the text after them runs the other way
	tags      = table(0xe0000, 0xe007f, 0xe0100, 0xe01ef)
)

// table makes a table of ranges.
func table(bounds ...rune) *unicode.RangeTable {
	t := &unicode.RangeTable{}
	for i := 0; i < len(bounds); i += 2 {
		t.R32 = append(t.R32, unicode.Range32{Lo: uint32(bounds[i]), Hi: uint32(bounds[i+1]), Stride: 1})
	}
	return t
}

const (
	nonJoiner = '\u200c'
	joiner    = '\u200d'
	flag      = '\U0001f3f4'
)

// strip removes characters from a text and counts them. Those that scripts and emoji
// need stay: joiners after non-ASCII characters, and tags after a flag.
func strip(s string, tables ...*unicode.RangeTable) (rest string, count int) {
	if strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0 {
		return s, 0
	}
	before := rune(0)
	rest = strings.Map(func(r rune) rune {
		switch {
		case r < 0xad, !unicode.In(r, tables...),
			(r == joiner || r == nonJoiner) && before >= 0x80,
			unicode.Is(tags, r) && before == flag:
			if !unicode.Is(tags, r) {
				before = r
			}
			return r
		}
		count++
		return -1
	}, s)
	return rest, count
}
