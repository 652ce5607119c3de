// Package textcode tells how a text is written as bytes - its encoding - when
// nothing but the bytes themselves can be asked.
package textcode

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
)

// Code is how a text is written. The zero value is UTF-8. A Code does not change.
type Code struct {
	name  string
	codec encoding.Encoding // nil for UTF-8
	mark  int               // bytes of the mark with which such a text begins
}

// Of tells from the beginning of a text, as long as possible, how it is written, or
// that it is none that can be read. What says nothing of itself is UTF-8, perhaps
// with some broken characters, else Chinese in GB 18030 (GBK), else Western
// European (Windows-1252).
func Of(head []byte) (c Code, isText bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return c, false // UTF-32, which nobody writes
	case bytes.HasPrefix(head, []byte("\xff\xfe")):
		return Code{"UTF-16", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM), 2}, true
	case bytes.HasPrefix(head, []byte("\xfe\xff")):
		return Code{"UTF-16", unicode.UTF16(unicode.BigEndian, unicode.UseBOM), 2}, true
	case bytes.IndexByte(head, 0) >= 0:
		return c, false
	case bytes.HasPrefix(head, []byte("\xef\xbb\xbf")):
		return Code{"UTF-8 with a byte order mark", unicode.UTF8BOM, 3}, true
	case isUTF8(head):
		return c, true
	case bytes.ContainsFunc(head, func(r rune) bool { return r < ' ' && !strings.ContainsRune("\t\n\v\f\r\b\x1b", r) }):
		return c, false
	case isGB(head):
		return Code{"GB18030", simplifiedchinese.GB18030, 0}, true
	case isLatin(head):
		return Code{"Windows-1252", charmap.Windows1252, 0}, true
	}
	return c, false
}

// isUTF8 reports whether more of the bytes beyond ASCII are UTF-8 than are not.
func isUTF8(head []byte) bool {
	good, bad := 0, 0
	for len(head) > 0 && utf8.FullRune(head) { // the last one may be cut
		r, n := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && n == 1:
			bad++
		case n > 1:
			good++
		}
		head = head[n:]
	}
	return bad == 0 || good > bad
}

// isGB reports whether the bytes beyond ASCII come in pairs, and most of these are
// common Chinese characters. Rare ones have four bytes, and do not count.
func isGB(head []byte) bool {
	digit := func(b byte) bool { return b >= '0' && b <= '9' }
	pairs, common := 0, 0
	for i := 0; i+1 < len(head); i++ {
		switch first, second := head[i], head[i+1]; {
		case first < utf8.RuneSelf:
			continue
		case digit(second) && i+3 < len(head) && head[i+2] >= utf8.RuneSelf && digit(head[i+3]):
			i += 3
			continue
		case first >= 0xa1 && first <= 0xf7 && second >= 0xa1:
			common++
		}
		pairs++
		i++
	}
	return pairs > 0 && common*4 >= pairs*3
}

// isLatin reports whether letters of Western Europe stand here and there.
func isLatin(head []byte) bool {
	letters := 0
	for _, b := range head {
		switch {
		case b == 0x81, b == 0x8d, b == 0x8f, b == 0x90, b == 0x9d:
			return false // stand for nothing
		case b >= utf8.RuneSelf:
			letters++
		}
	}
	return letters*10 <= len(head)*3
}

// IsUTF8 reports whether it is UTF-8 without a mark at the beginning.
func (c Code) IsUTF8() bool { return c.codec == nil }

// String is the name of the code.
func (c Code) String() string {
	if c.codec == nil {
		return "UTF-8"
	}
	return c.name
}

// Decode reads a text that is written so. What is not becomes U+FFFD, but for UTF-8,
// which stays as it is.
func (c Code) Decode(raw []byte) (string, error) {
	if c.codec == nil {
		return string(raw), nil
	}
	text, err := c.codec.NewDecoder().Bytes(raw)
	return string(text), err
}

// Reader is Decode for a stream.
func (c Code) Reader(r io.Reader) io.Reader {
	if c.codec == nil {
		return r
	}
	return c.codec.NewDecoder().Reader(r)
}

// Encode writes a text. It fails when the code does not have all of its characters.
func (c Code) Encode(text string) ([]byte, error) {
	if c.codec == nil {
		return []byte(text), nil
	}
	raw, err := c.codec.NewEncoder().Bytes([]byte(text))
	if err != nil {
		return nil, fmt.Errorf("the text holds characters that %s does not have", c.name)
	}
	return raw, nil
}

// EncodeMore is Encode for what is added to a text: without a mark at its beginning.
func (c Code) EncodeMore(text string) ([]byte, error) {
	raw, err := c.Encode(text)
	return raw[min(c.mark, len(raw)):], err
}
