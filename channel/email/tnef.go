package email

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"strings"
	"unicode/utf16"

	"github.com/etui-run/etui/internal/charset"
	"github.com/etui-run/etui/internal/rtf"
)

// tnef is what a winmail.dat has, as Outlook and Exchange write it ([MS-OXTNEF]).
type tnef struct {
	plain, html, rtf string
	files            []*tnefFile
	charset          string // of texts that do not say theirs
	label            string // of the page
}

type tnefFile struct {
	name, kind string
	data       []byte
}

var tnefKinds = []string{"application/ms-tnef", "application/vnd.ms-tnef"}

// The attributes of the format, and the properties of MAPI in them, that have texts and files.
const (
	attBody, attTitle, attData                 = 0x0002800c, 0x00018010, 0x0006800f
	attCodepage, attProperties, attFile        = 0x00069007, 0x00069003, 0x00069005
	attBegins                                  = 0x00069002
	propBody, propRTF, propHTML, propHTMLCode  = 0x1000, 0x1009, 0x1013, 0x3fde
	propData, propLongName, propName, propKind = 0x3701, 0x3707, 0x3704, 0x370e
	typeUnicode, typeString, typeObject        = 0x1f, 0x1e, 0x0d
	tnefBegin                                  = "\x78\x9f\x3e\x22"
)

// readTNEF reads a winmail.dat, as far as it is whole; nil if it is none.
func readTNEF(data []byte) *tnef {
	if !bytes.HasPrefix(data, []byte(tnefBegin)) || len(data) < 6 {
		return nil
	}
	var t tnef
	for r := (cursor{data: data[6:]}); len(r.data) > 0; {
		r.take(1) // the level: the attribute says it, too
		name, value := r.number(4), []byte(nil)
		if value = r.take(r.number(4)); r.broken {
			break
		}
		r.take(2) // a checksum
		file := t.file()
		switch name {
		case attCodepage:
			r := cursor{data: value}
			t.charset = charset.Codepage(r.number(4))
		case attBody:
			t.plain = t.text(value)
		case attProperties:
			t.properties(value, nil)
		case attBegins:
			if len(t.files) < maxFiles {
				t.files = append(t.files, &tnefFile{})
			}
		case attTitle:
			if file != nil && file.name == "" {
				file.name = t.text(value)
			}
		case attData:
			if file != nil {
				file.data = value
			}
		case attFile:
			t.properties(value, file)
		}
	}
	return &t
}

// file returns the file that attributes are about; nil before the first one.
func (t *tnef) file() *tnefFile {
	if len(t.files) == 0 {
		return nil
	}
	return t.files[len(t.files)-1]
}

// properties reads the properties of the message, or of a file.
func (t *tnef) properties(data []byte, file *tnefFile) {
	r := cursor{data: data}
	for n := r.number(4); n > 0 && !r.broken; n-- {
		kind, name := r.number(2), r.number(2)
		if name >= 0x8000 { // it has a name of its own
			r.take(16)
			if r.number(4) == 0 {
				r.take(4)
			} else {
				r.take(even(r.number(4)))
			}
		}
		values := 1
		size, fixed := sizes[kind&^0x1000]
		if !fixed || kind&0x1000 != 0 {
			values = r.number(4)
		}
		for ; values > 0 && !r.broken; values-- {
			length := size
			if !fixed {
				length = r.number(4)
			}
			value := r.take(length)
			r.take(even(length) - length)
			if r.broken {
				return
			}
			t.property(name, kind&^0x1000, value, file)
		}
	}
}

// sizes are the bytes of the types that have always as many. Shorter ones are filled up to four.
var sizes = map[int]int{
	0x02: 2, 0x03: 4, 0x04: 4, 0x05: 8, 0x06: 8, 0x07: 8, 0x0a: 4, 0x0b: 2, 0x14: 8, 0x40: 8, 0x48: 16,
}

// even returns how many bytes a value of a length takes.
func even(length int) int { return (length + 3) &^ 3 }

func (t *tnef) property(name, kind int, value []byte, file *tnefFile) {
	text := func() string {
		if kind == typeUnicode {
			return wide(value)
		}
		return t.text(value)
	}
	switch {
	case file != nil && name == propData:
		if kind == typeObject && len(value) > 16 { // behind the interface's name
			value = value[16:]
			if bytes.HasPrefix(value, []byte(tnefBegin)) {
				file.kind = tnefKinds[0]
			}
		}
		file.data = value
	case file != nil && (name == propLongName || name == propName && file.name == ""):
		file.name = text()
	case file != nil && name == propKind:
		file.kind = text()
	case file != nil:
	case name == propHTMLCode:
		r := cursor{data: value}
		t.label = cmp.Or(t.label, charset.Codepage(r.number(4)))
	case name == propBody:
		t.plain = text()
	case name == propHTML:
		t.html = string(bytes.TrimRight(value, "\x00"))
		if kind == typeUnicode {
			t.html, t.label = wide(value), "utf-8"
		}
	case name == propRTF:
		t.rtf = string(rtf.Unpack(value))
	}
}

// text decodes a text that ends with a zero.
func (t *tnef) text(value []byte) string {
	text, _ := charset.Decode(bytes.TrimRight(value, "\x00"), t.charset)
	return text
}

func wide(value []byte) string {
	units := make([]uint16, len(value)/2)
	for i := range units {
		units[i] = binary.LittleEndian.Uint16(value[2*i:])
	}
	return strings.TrimRight(string(utf16.Decode(units)), "\x00")
}

// cursor reads numbers and bytes. Behind the end it reads zeros, and is broken.
type cursor struct {
	data   []byte
	broken bool
}

func (c *cursor) take(n int) []byte {
	if n < 0 || n > len(c.data) {
		c.data, c.broken = nil, true
		return nil
	}
	taken := c.data[:n]
	c.data = c.data[n:]
	return taken
}

func (c *cursor) number(size int) (n int) {
	for i, b := range c.take(size) {
		n |= int(b) << (8 * i)
	}
	return n
}
