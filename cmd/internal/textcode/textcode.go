// Package textcode detects the encoding of a text from its bytes alone.
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

// Code is an encoding. The zero value is UTF-8. A Code is immutable.
type Code struct {
	name  string
	codec encoding.Encoding // nil for UTF-8
	mark  int               // bytes of the mark at the beginning of a text
}

// Of detects the encoding of a text from its beginning, which should be as long as
// possible, or reports that it is not readable text. Without a mark it is UTF-8,
// perhaps with some broken characters, else Chinese in GB 18030 (GBK), else Western
// European (Windows-1252).
func Of(head []byte) (c Code, isText bool) {
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe\x00\x00")):
		return c, false // UTF-32, which is not used for files
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

// isUTF8 reports whether most characters beyond ASCII are valid UTF-8.
func isUTF8(head []byte) bool {
	good, bad := 0, 0
	for len(head) > 0 && utf8.FullRune(head) { // the last one may be incomplete
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

// isGB reports whether the bytes beyond ASCII come in pairs, most of them common
// Chinese characters. Rare ones have four bytes and do not count.
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

// isLatin reports whether there are a few letters of Western Europe.
func isLatin(head []byte) bool {
	letters := 0
	for _, b := range head {
		switch {
		case b == 0x81, b == 0x8d, b == 0x8f, b == 0x90, b == 0x9d:
			return false // undefined
		case b >= utf8.RuneSelf:
			letters++
		}
	}
	return letters*10 <= len(head)*3
}

// IsUTF8 reports whether c is UTF-8 without a mark at the beginning.
func (c Code) IsUTF8() bool { return c.codec == nil }

// String returns the name of the encoding.
func (c Code) String() string {
	if c.codec == nil {
		return "UTF-8"
	}
	return c.name
}

// Decode decodes a text. Invalid bytes become U+FFFD, except that UTF-8 stays as it
// is.
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

// Encode encodes a text. It fails if the encoding lacks one of its characters.
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

// EncodeMore is Encode for an addition to a text: without a mark at the beginning.
func (c Code) EncodeMore(text string) ([]byte, error) {
	raw, err := c.Encode(text)
	return raw[min(c.mark, len(raw)):], err
}
