// Package charset reads text whose charset is said wrongly or not at all, as mail, old files and
// Windows write it.
package charset

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/gogs/chardet"
	"golang.org/x/net/html/charset"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
	"golang.org/x/text/encoding/ianaindex"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
	textunicode "golang.org/x/text/encoding/unicode"
)

// Decode returns bytes as text. It believes the label as long as the bytes agree with it, and
// guesses otherwise; an empty label says nothing. Sure is false if it has guessed, or replaced what
// it could not read.
func Decode(data []byte, label string) (text string, sure bool) {
	label = oldCodepage.ReplaceAllString(strings.ToLower(strings.Trim(strings.TrimSpace(label), `"'`)), "cp$1")
	e, known := find(label)
	switch text, ok := marked(data); {
	case ok:
		return text, true
	case strings.HasSuffix(label, "utf-7"):
		return utf7(data)
	case utf8.Valid(data) && e == nil:
		return string(data), known
	case utf8.Valid(data) && !ascii(data) && mislabelled(e, data):
		return string(data), false
	}
	if e != nil {
		if text, ok := decode(e, data); ok {
			return text, true
		}
	}
	if letters, ok := tables[label]; ok {
		return table(data, letters), true
	}
	for _, guess := range guesses {
		if text, ok := decode(guess.charset, data); ok && guess.fits(data, text) {
			return text, false
		}
	}
	if e == nil {
		e = likely(data)
	}
	text, _ = decode(e, data)
	return text, false
}

// oldCodepage is a name of a charset of DOS, of which the usual one begins with cp.
var oldCodepage = regexp.MustCompile(`^(?:x-)?(?:cs)?(?:ibm|dos|cp)-?0*(\d{3})$`)

// DecodeHTML does the same for a page, which may say its charset itself.
func DecodeHTML(data []byte, label string) (text string, sure bool) {
	e, known := find(strings.ToLower(label))
	wrong := !known || label == "" || e == nil && !utf8.Valid(data)
	if e != nil {
		_, fits := decode(e, data)
		wrong = !fits
	}
	if wrong {
		if _, name, _ := charset.DetermineEncoding(data, ""); name != "windows-1252" && name != "utf-8" {
			label = name
		} else if said := metaCharset.FindSubmatch(data[:min(len(data), maxMeta)]); said != nil { // behind the styles
			label = string(said[1]) + string(said[2])
		}
	}
	return Decode(data, label)
}

// maxMeta is how far into a page its charset is looked for.
const maxMeta = 64 << 10

var metaCharset = regexp.MustCompile(`(?i)<meta\s[^>]{0,200}charset\s*=\s*["']?([\w.:-]+)|^\s*<\?xml\s[^>]{0,200}encoding\s*=\s*["']([\w.:-]+)`)

// decode reports also whether all bytes were text.
func decode(e encoding.Encoding, data []byte) (string, bool) {
	text, err := e.NewDecoder().Bytes(data)
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	return string(text), err == nil && !bytes.ContainsRune(text, utf8.RuneError)
}

// marked reads what begins by saying how it is written, or can be written in no other way.
func marked(data []byte) (string, bool) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		data = data[3:]
		return string(data), utf8.Valid(data)
	case bytes.HasPrefix(data, []byte("\xff\xfe")), bytes.HasPrefix(data, []byte("\xfe\xff")):
		return decode(textunicode.UTF16(textunicode.LittleEndian, textunicode.UseBOM), data)
	case bytes.IndexByte(data, 0) >= 0:
		return wide(data)
	case !ascii(data):
	case bytes.Contains(data, []byte("\x1b$)C")):
		return shifted(data, "\x1b$)C", korean.EUCKR)
	case bytes.Contains(data, []byte("\x1b$)A")):
		return shifted(data, "\x1b$)A", simplifiedchinese.GB18030)
	case bytes.Contains(data, []byte("\x1b$")):
		return decode(japanese.ISO2022JP, data)
	}
	return "", false
}

// wide reads UTF-16 that does not begin by saying so. Latin signs in it have a zero on the same side of each.
func wide(data []byte) (string, bool) {
	var zeros [2]int
	for i, b := range data {
		if b == 0 {
			zeros[i%2]++
		}
	}
	order := textunicode.LittleEndian
	if zeros[0] > 0 {
		order = textunicode.BigEndian
	}
	if zeros[0] > 0 && zeros[1] > 0 || (zeros[0]+zeros[1])*20 < len(data) { // one alone is a fault in a text
		return "", false
	}
	text, ok := decode(textunicode.UTF16(order, textunicode.IgnoreBOM), data[:len(data)/2*2])
	odd := func(r rune) bool { return !unicode.IsPrint(r) && !unicode.IsSpace(r) }
	return text, ok && strings.IndexFunc(text, odd) < 0
}

// likely guesses by how often groups of letters are in languages. Of few letters that says nothing: they
// are taken for those of Western Europe.
func likely(data []byte) encoding.Encoding {
	data = data[:min(len(data), maxMeta)]
	high := 0
	for _, b := range data {
		if b >= utf8.RuneSelf {
			high++
		}
	}
	if best, err := chardet.NewTextDetector().DetectBest(data); high >= minHigh && err == nil && best.Confidence >= 30 {
		if e, _ := find(strings.ToLower(best.Charset)); e != nil {
			if _, ok := decode(e, data); ok {
				return e
			}
		}
	}
	return charmap.Windows1252
}

// minHigh is of how many letters beyond ASCII a charset is guessed.
const minHigh = 8

func ascii(data []byte) bool {
	return bytes.IndexFunc(data, func(r rune) bool { return r >= utf8.RuneSelf }) < 0
}

// Codepage returns the charset of a number of Windows.
func Codepage(n int) string {
	switch n {
	case 0:
		return ""
	case 65001:
		return "utf-8"
	case 28591, 28592, 28595, 28605:
		return "iso-8859-" + strconv.Itoa(n-28590)
	case 20866:
		return "koi8-r"
	case 50220, 50221, 50222:
		return "iso-2022-jp"
	case 51932:
		return "euc-jp"
	case 51949:
		return "euc-kr"
	case 52936, 54936:
		return "gb18030"
	}
	return "cp" + strconv.Itoa(n)
}

// find returns the charset of a label, and whether there is one. Nil is UTF-8 or unknown.
func find(label string) (e encoding.Encoding, known bool) {
	switch label {
	case "", "binary", "default", "x-unknown", "unknown-8bit":
		return nil, true
	case "utf8mb4", "utf-8", "utf8", "us-ascii", "ascii", "ansi_x3.4-1968":
		return nil, true
	case "gb2312", "gbk", "gb18030", "cp936", "ms936", "euc-cn", "gb_2312-80", "x-gbk", "csgb2312":
		return simplifiedchinese.GB18030, true // the newest of the family has all of it
	case "cp932", "ms932", "windows-932", "x-sjis", "sjis":
		return japanese.ShiftJIS, true
	case "eucjp", "euc_jp", "eucjp-ms":
		return japanese.EUCJP, true
	case "cp858":
		return charmap.CodePage858, true
	case "cp949", "ms949", "windows-949", "ks_c_5601", "x-windows-949", "uhc":
		return korean.EUCKR, true
	case "cp950", "ms950", "windows-950", "big5-hkscs":
		return traditionalchinese.Big5, true
	}
	if number, ok := strings.CutPrefix(label, "cp"); ok && strings.HasPrefix(number, "125") {
		label = "windows-" + number
	}
	if e, err := htmlindex.Get(label); err == nil && e != encoding.Replacement {
		return e, true
	}
	if e, err := ianaindex.IANA.Encoding(label); err == nil && e != nil {
		return e, true
	}
	return nil, false
}

// guesses are the charsets that people still write without saying so, the strictest first.
var guesses = []struct {
	charset encoding.Encoding
	fits    func(data []byte, text string) bool
}{
	{korean.EUCKR, koreanWords},
	{simplifiedchinese.GB18030, func(data []byte, _ string) bool { return common(data, 0xb0, 0xd7, 0xa1) }},
	{japanese.EUCJP, func(_ []byte, text string) bool { return share(text, unicode.Hiragana, unicode.Katakana) > 0.3 }},
	{traditionalchinese.Big5, func(data []byte, _ string) bool { return common(data, 0xa4, 0xc6, 0x40) }},
	{japanese.ShiftJIS, func(_ []byte, text string) bool { return share(text, unicode.Hiragana, fullKatakana) > 0.3 }},
	{korean.EUCKR, func(_ []byte, text string) bool { return share(text, unicode.Hangul) > 0.7 }},
	{charmap.Windows1255, hebrew},
	{charmap.Windows1251, func(_ []byte, text string) bool { return russian(text) }},
	{charmap.KOI8R, func(_ []byte, text string) bool { return russian(text) }},
	{charmap.CodePage866, func(_ []byte, text string) bool { return russian(text) }},
}

// final matches a letter within a word that Hebrew has at the end of words only.
var final = regexp.MustCompile(`[ךםןףץ][א-ת]`)

// hebrew reports whether a text is Hebrew, whose letters could be small ones of Russian as well.
func hebrew(data []byte, text string) bool {
	return share(text, unicode.Hebrew) > 0.9 && len(text)-len(data) > 2*minHigh-1 && !final.MatchString(text)
}

// fullKatakana are those of usual width: the others are what texts of other languages look like.
var fullKatakana = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x30a1, Hi: 0x30ff, Stride: 1}}}

// common reports whether the pairs of bytes beyond ASCII are mostly the usual characters of a
// charset, whose first bytes are from low to high. Letters with accents, which stand alone, fail.
func common(data []byte, low, high, second byte) bool {
	pairs, usual := 0, 0
	for i := 0; i < len(data); i++ {
		if data[i] < utf8.RuneSelf {
			continue
		}
		if i+1 >= len(data) || data[i+1] < second {
			if second < 0xa1 || i+3 >= len(data) || data[i+1] < '0' || data[i+1] > '9' {
				return false
			}
			i += 2 // a sign of four bytes of GB18030
		}
		pairs++
		if data[i] >= low && data[i] <= high || data[i] >= 0xa1 && data[i] <= 0xa3 {
			usual++
		}
		i++
	}
	return pairs > 0 && usual*10 >= pairs*8
}

// share is how much of the text beyond ASCII is in scripts.
func share(text string, scripts ...*unicode.RangeTable) float64 {
	in, all := 0, 0
	for _, r := range text {
		if r >= utf8.RuneSelf {
			if all++; unicode.In(r, scripts...) {
				in++
			}
		}
	}
	return float64(in) / float64(max(all, 1))
}

// russian reports whether a text is Cyrillic as people write it: words, of small letters but for
// the first.
func russian(text string) bool {
	if share(text, unicode.Cyrillic) < 0.9 {
		return false
	}
	small, all := 0, 0
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return !unicode.Is(unicode.Cyrillic, r) }) {
		for i, r := range []rune(word) {
			if i > 0 {
				if all++; unicode.IsLower(r) {
					small++
				}
			}
		}
	}
	return all > 1 && small*10 >= all*9 && len(mixed.FindAllString(text, -1))*4 <= all
}

// mixed matches where a word goes on in another script, as those of Western Europe do if they are misread.
var mixed = regexp.MustCompile(`[A-Za-z]\p{Cyrillic}|\p{Cyrillic}[A-Za-z]`)

// mislabelled reports whether a text in UTF-8 is no text of the charset that it is said to have: in one
// of single bytes it would be letters beside signs. In others, UTF-8 of two bytes may be chance.
func mislabelled(e encoding.Encoding, data []byte) bool {
	if _, single := e.(*charmap.Charmap); single {
		return true
	}
	letters := 0
	for _, r := range string(data) {
		if r >= 0x800 && unicode.IsLetter(r) {
			letters++
		}
	}
	return letters > 1
}

// koreanWords reports whether a text is Korean, whose bytes could be Chinese as well: of Hangul
// alone, with spaces between words.
func koreanWords(data []byte, text string) bool {
	hangul, words := 0, 0
	for _, word := range strings.Fields(text) { // those of a page's markup are none
		before := hangul
		for _, r := range word {
			if unicode.Is(unicode.Hangul, r) {
				hangul++
			}
		}
		if hangul > before {
			words++
		}
	}
	return hangul > 4 && words*6 >= hangul && share(text, unicode.Hangul) > 0.9 && common(data, 0xb0, 0xc8, 0xa1)
}

// shifted reads ISO-2022-KR and ISO-2022-CN, which no library here does: signs in seven bits between two
// marks.
func shifted(data []byte, announced string, e encoding.Encoding) (string, bool) {
	data = bytes.ReplaceAll(data, []byte(announced), nil)
	var wide []byte
	shifted := false
	for _, b := range data {
		switch {
		case b == 0x0e || b == 0x0f:
			shifted = b == 0x0e
		case shifted && b > ' ':
			wide = append(wide, b|0x80)
		default:
			wide = append(wide, b)
		}
	}
	return decode(e, wide)
}

var shifted7 = regexp.MustCompile(`\+([A-Za-z0-9+/]*)-?`)

// utf7 reads UTF-7 (RFC 2152), which old programs of mail still write.
func utf7(data []byte) (string, bool) {
	ok := ascii(data)
	text := shifted7.ReplaceAllStringFunc(string(data), func(part string) string {
		packed := shifted7.FindStringSubmatch(part)[1]
		if packed == "" {
			return "+"
		}
		raw, err := base64.RawStdEncoding.DecodeString(packed)
		if err != nil {
			ok = false
			return part
		}
		units := make([]uint16, len(raw)/2)
		for i := range units {
			units[i] = binary.BigEndian.Uint16(raw[2*i:])
		}
		return string(utf16.Decode(units))
	})
	return strings.ToValidUTF8(text, "\uFFFD"), ok
}

// Reader is for [mime.WordDecoder]. It never fails.
func Reader(label string, r io.Reader) (io.Reader, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	text, _ := Decode(data, label)
	return strings.NewReader(text), nil
}
