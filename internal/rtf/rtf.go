// Package rtf reads the text of documents in Rich Text Format, without its form.
package rtf

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf16"

	"github.com/etui-run/etui/internal/charset"
)

// maxUnpacked is how many bytes are unpacked; the rest is left out.
const maxUnpacked = 512 << 10

// begin is in the dictionary from the beginning ([MS-OXRTFCP]).
const begin = `{\rtf1\ansi\mac\deff0\deftab720{\fonttbl;}{\f0\fnil \froman \fswiss \fmodern \fscript ` +
	`\fdecor MS Sans SerifSymbolArialTimes New RomanCourier{\colortbl\red0\green0\blue0` + "\r\n" +
	`\par \pard\plain\f0\fs20\b\i\u\tab\tx`

// Unpack unpacks a text that Outlook has compressed, as far as it is whole.
func Unpack(data []byte) (out []byte) {
	const header, window = 16, 4096
	if len(data) < header {
		return nil
	}
	switch kind, rest := string(data[8:12]), data[header:]; kind {
	case "MELA":
		return rest
	case "LZFu":
		data = rest
	default:
		return nil
	}
	var ring [window]byte
	at := copy(ring[:], begin)
	write := func(b byte) {
		out = append(out, b)
		ring[at%window] = b
		at++
	}
	for len(data) > 0 && len(out) < maxUnpacked {
		flags := data[0]
		data = data[1:]
		for bit := 0; bit < 8 && len(data) > 0; bit++ {
			if flags>>bit&1 == 0 {
				write(data[0])
				data = data[1:]
				continue
			}
			if len(data) < 2 {
				return out
			}
			from, length := int(data[0])<<4|int(data[1])>>4, int(data[1]&0xf)+2
			data = data[2:]
			if from == at%window {
				return out
			}
			for i := range length {
				write(ring[(from+i)%window])
			}
		}
	}
	return out
}

// word is a word that formats, with its number and the space that ends it.
var word = regexp.MustCompile(`^([a-z]+)(-?[0-9]+)? ?`)

// state is what holds in a group.
type state struct {
	hidden bool // a table of fonts, a picture
	after  int  // how many characters follow a \u for programs that do not know it
}

// Text returns the text of RTF: that of an old reader, which knows none of the marks of HTML.
func Text(rtf string) string {
	var out strings.Builder
	var raw []byte // in the charset of the document
	var units []uint16
	label, skip := "cp1252", 0
	groups := []state{{after: 1}}
	flush := func() {
		text, _ := charset.Decode(raw, label)
		out.WriteString(text)
		out.WriteString(string(utf16.Decode(units)))
		raw, units = nil, nil
	}
	say := func(b byte) {
		if skip > 0 {
			skip--
		} else if !groups[len(groups)-1].hidden {
			if len(units) > 0 {
				flush()
			}
			raw = append(raw, b)
		}
	}
	for i := 0; i < len(rtf); i++ {
		now := &groups[len(groups)-1]
		switch c := rtf[i]; {
		case c == '{' && len(groups) < 1000:
			groups, skip = append(groups, *now), 0
		case c == '}' && len(groups) > 1:
			groups, skip = groups[:len(groups)-1], 0
		case c == '\r' || c == '\n' || c == '{' || c == '}':
		case c != '\\':
			say(c)
		case i+1 == len(rtf):
		case rtf[i+1] == '\'' && i+3 < len(rtf):
			if b, err := strconv.ParseUint(rtf[i+2:i+4], 16, 8); err == nil {
				say(byte(b))
			}
			i += 3
		case rtf[i+1] == '*':
			now.hidden = true
			i++
		case strings.IndexByte(`\{}`, rtf[i+1]) >= 0:
			say(rtf[i+1])
			i++
		case rtf[i+1] == '~':
			say(' ')
			i++
		default:
			m := word.FindStringSubmatch(rtf[i+1 : min(len(rtf), i+40)])
			if m == nil { // a sign that is not shown
				i++
				continue
			}
			i += len(m[0])
			n, _ := strconv.Atoi(m[2])
			switch m[1] {
			case "par", "line", "row", "sect", "page":
				say('\n')
			case "tab", "cell":
				say('\t')
			case "emdash", "endash":
				say('-')
			case "bullet":
				say('*')
			case "lquote", "rquote":
				say('\'')
			case "ldblquote", "rdblquote":
				say('"')
			case "ansicpg":
				label = charset.Codepage(n)
			case "uc":
				now.after = n
			case "u":
				if !now.hidden {
					if len(raw) > 0 {
						flush()
					}
					units = append(units, uint16(n))
				}
				skip = now.after
			case "fonttbl", "colortbl", "stylesheet", "info", "pict", "object", "header", "footer":
				now.hidden = true
			}
		}
	}
	flush()
	return strings.Trim(out.String(), "\x00 \n")
}
