package email

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/hex"
	"mime"
	"net/mail"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"github.com/emersion/go-message/textproto"

	"github.com/etui-run/etui/internal/charset"
)

// part is a mail, or a part of one. It is read although a rule of MIME is broken: programs
// break all of them.
type part struct {
	header message.Header
	kind   string // such as text/plain
	params map[string]string
	body   []byte // as it was transferred
	mended []string
}

// readPart reads a header, without the lines that belong to none, and what follows it.
func readPart(raw []byte) part {
	if !bytes.Contains(raw, []byte("\n")) { // as old Macs end lines
		raw = bytes.ReplaceAll(raw, []byte("\r"), []byte("\n"))
	}
	head, body := cutHeader(raw)
	h, _ := textproto.ReadHeader(bufio.NewReader(bytes.NewReader(head))) // cutHeader left what it reads
	p := part{header: message.Header{Header: h}, body: body}
	var ok bool
	p.kind, p.params, ok = mediaType(h.Get("Content-Type"))
	if !ok {
		p.mended = append(p.mended, "its Content-Type")
	}
	boundary := p.params["boundary"]
	if strings.HasPrefix(p.kind, "multipart/") && !bytes.Contains(body, []byte("--")) { // no rule allows to encode it
		body, _ = p.decoded()
		p.body = body
	}
	if strings.HasPrefix(p.kind, "multipart/") && (boundary == "" || !bytes.Contains(body, []byte("--"+boundary))) {
		p.params["boundary"] = guessBoundary(body)
		p.mended = append(p.mended, "the boundary of its parts")
	}
	return p
}

// cutHeader cuts a mail or part behind its header, and leaves out the header's lines that no
// field has.
func cutHeader(raw []byte) (head, body []byte) {
	body = bytes.TrimPrefix(raw, []byte("\xef\xbb\xbf"))
	known := 0                 // how much of body was left at the field that follows
	in, broken := false, false // in a field, which the next line may continue; behind a line that is none
	for len(body) > 0 && len(head) < maxHeader {
		line, rest, _ := bytes.Cut(body, []byte("\n"))
		bare := bytes.TrimRight(line, "\r")
		if len(bare) == 0 {
			return head, rest
		}
		name, _, isField := bytes.Cut(bare, []byte(":"))
		isField = isField && fieldName.Match(name)
		continues := in && (bare[0] == ' ' || bare[0] == '\t')
		if !isField && !continues && (known == 0 || len(rest) < known) {
			if known = fieldAhead(rest); known == 0 {
				return head, body // the empty line is not there
			}
		}
		broken = broken || !isField && !continues
		// The server may not have seen what follows a broken line: somebody else may have proved it.
		forged := broken && isField && bytes.EqualFold(bytes.TrimSpace(name), []byte("Authentication-Results"))
		if in = (isField || continues) && !forged; in {
			head = append(append(head, bare...), "\r\n"...)
		}
		body = rest
	}
	return head, body
}

// fieldAhead returns how much of a text is left where a field begins, before the next empty line; 0 if
// there is none.
func fieldAhead(text []byte) int {
	left := len(text)
	for line := range bytes.Lines(text[:min(len(text), maxHeader)]) {
		bare := bytes.TrimRight(line, "\r\n")
		if len(bare) == 0 {
			return 0
		}
		if name, _, ok := bytes.Cut(bare, []byte(":")); ok && fieldName.Match(name) {
			return left
		}
		left -= len(line)
	}
	return 0
}

var fieldName = regexp.MustCompile(`^[!-9;-~]+[ \t]*$`)

// mediaType reads a Content-Type or Content-Disposition. It keeps the parameters that have a value
// where one of them is broken; ok is false then.
func mediaType(field string) (kind string, params map[string]string, ok bool) {
	kind, params, err := mime.ParseMediaType(field)
	if ok = err == nil || field == ""; ok && !strings.Contains(field, "*") {
		return kindOf(kind), orEmpty(params), true
	}
	kind, rest, _ := strings.Cut(field, ";")
	said := map[string]string{}
	for range maxParams {
		var name, value string
		if name, value, rest = nextParam(rest); name != "" {
			if _, seen := said[name]; !seen {
				said[name] = value
			}
		}
	}
	return kindOf(kind), joined(said), ok
}

const maxParams = 50

// joined puts parameters together that were cut, and decodes those that say how they are written
// (RFC 2231), in any charset.
func joined(said map[string]string) map[string]string {
	params := map[string]string{}
	for name, value := range said {
		base, section, extended := strings.Cut(name, "*")
		if !extended {
			if _, better := params[name]; !better {
				params[name] = value
			}
			continue
		}
		if section != "" && section != "0" && section != "0*" {
			continue // the first one takes it
		}
		label, bytes := "", ""
		add := func(value string, coded, first bool) {
			if coded {
				if parts := strings.SplitN(value, "'", 3); first && len(parts) == 3 {
					label, value = parts[0], parts[2]
				}
				value = unescape(value)
			}
			bytes += value
		}
		add(value, section != "0", true)
		for i := 1; section != "" && i < maxParams; i++ {
			plain, isPlain := said[base+"*"+strconv.Itoa(i)]
			coded, isCoded := said[base+"*"+strconv.Itoa(i)+"*"]
			if !isPlain && !isCoded {
				break
			}
			add(cmp.Or(coded, plain), isCoded, false)
		}
		params[base], _ = charset.Decode([]byte(bytes), label)
	}
	return params
}

// unescape decodes %20 and its like; a sign that is no code stays.
func unescape(text string) string {
	return percent.ReplaceAllStringFunc(text, func(code string) string {
		b, _ := hex.DecodeString(code[1:]) // it matches
		return string(b)
	})
}

var percent = regexp.MustCompile(`%[0-9A-Fa-f]{2}`)

func orEmpty(params map[string]string) map[string]string {
	if params == nil {
		return map[string]string{}
	}
	return params
}

// kindOf completes what old programs write for a type.
func kindOf(kind string) string {
	kind, _, _ = strings.Cut(kind, "(") // a comment
	switch kind = strings.ToLower(strings.TrimSpace(kind)); kind {
	case "", "text", "plain":
		return "text/plain"
	case "html":
		return "text/html"
	case "multipart":
		return "multipart/mixed"
	}
	return kind
}

// nextParam cuts a parameter off. A value without quotes may have any character but a semicolon
// or space, and one whose quotes are open ends with the field.
func nextParam(field string) (name, value, rest string) {
	field = strings.TrimLeft(field, "; \t\r\n")
	end := strings.IndexAny(field, "=;")
	if end < 0 || field[end] == ';' {
		_, rest, _ = strings.Cut(field, ";")
		return "", "", rest
	}
	name = strings.ToLower(strings.TrimSpace(field[:end]))
	field = strings.TrimLeft(field[end+1:], " \t")
	if quoted, ok := strings.CutPrefix(field, `"`); ok {
		for i := 0; i < len(quoted); i++ {
			switch {
			case quoted[i] == '\\' && i+1 < len(quoted):
				i++
				value += quoted[i : i+1]
			case quoted[i] == '"':
				return token(name), value, quoted[i+1:]
			default:
				value += quoted[i : i+1]
			}
		}
		value, _, _ = strings.Cut(value, ";")
		return token(name), strings.TrimSpace(value), ""
	}
	value, rest, _ = strings.Cut(field, ";")
	return token(name), strings.TrimSpace(value), rest
}

func token(name string) string {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_*.") != "" {
		return ""
	}
	return name
}

// guessBoundary returns what the parts begin with: a line with two hyphens before a header.
func guessBoundary(body []byte) string {
	found := boundaryLine.FindSubmatch(body)
	if found == nil {
		return ""
	}
	return string(found[1])
}

var boundaryLine = regexp.MustCompile(`(?mi)^--([^\r\n]{1,200}?)[ \t]*\r?\n(?:content-[a-z-]+[ \t]*:|\r?\n)`)

// split returns the parts of a body. What follows the last mark counts if it is marked as well. A part
// that is itself cut by the same boundary ends with its own last mark.
func split(body []byte, boundary string) (parts [][]byte) {
	if boundary == "" {
		return nil
	}
	mark, in, start, inner := []byte("--"+boundary), false, 0, 0
	for at := 0; at < len(body) && len(parts) < maxParts; {
		end := len(body)
		if i := bytes.IndexByte(body[at:], '\n'); i >= 0 {
			end = at + i + 1
		}
		rest, ok := bytes.CutPrefix(body[at:end], mark)
		rest = bytes.TrimSpace(rest)
		last := bytes.Equal(rest, []byte("--"))
		switch {
		case !ok || !last && len(rest) > 0:
		case inner > 0 && last:
			inner--
		case inner > 0:
			inner += cutBy(body[end:], boundary)
		default:
			if in {
				parts = append(parts, lineless(body[start:at]))
			}
			if in, start = !last, end; in {
				inner = cutBy(body[end:], boundary)
			}
		}
		at = end
	}
	if in && len(parts) < maxParts { // the mail ends without the last mark
		parts = append(parts, body[start:])
	}
	return parts
}

// cutBy returns 1 if a part begins here that is cut by the same boundary as the one that it is in.
func cutBy(body []byte, boundary string) int {
	head := body[:min(len(body), 2000)]
	if i := emptyLine.FindIndex(head); i != nil {
		head = head[:i[0]]
	}
	found := nested.FindSubmatch(head)
	if found == nil {
		return 0
	}
	if _, params, _ := mediaType(strings.Join(strings.Fields(string(found[1])), " ")); params["boundary"] != boundary {
		return 0
	}
	return 1
}

var (
	emptyLine = regexp.MustCompile(`\n\r?\n`)
	nested    = regexp.MustCompile(`(?i)(?:^|\n)content-type:[ \t]*(multipart/[^\r\n]*(?:\r?\n[ \t][^\r\n]*)*)`)
)

// lineless leaves out the line end that belongs to the mark behind a part.
func lineless(part []byte) []byte {
	return bytes.TrimSuffix(bytes.TrimSuffix(part, []byte("\n")), []byte("\r"))
}

// decoded returns the body's bytes, and whether it could be decoded as it says.
func (p part) decoded() (data []byte, ok bool) {
	switch p.encoding() {
	case "base64":
		return fromBase64(p.body)
	case "quotedprintable":
		return fromQuoted(p.body)
	case "xuuencode", "uuencode", "xuue", "uue":
		if data, ok := fromUU(p.body); ok {
			return data, true
		}
	case "", "7bit", "8bit", "binary", "none":
		if strings.HasPrefix(p.kind, "text/") {
			return undeclared(p.body)
		}
		return p.body, true
	}
	return p.body, false
}

// encoding returns the transfer encoding without the spaces, marks and comments that programs add. Of several
// it is the last.
func (p part) encoding() (name string) {
	for _, name = range p.header.Values("Content-Transfer-Encoding") {
	}
	name = strings.Trim(strings.ToLower(name), "\"'; \t")
	if i := strings.IndexAny(name, "(,;"); i > 0 {
		name = name[:i]
	}
	return strings.NewReplacer(" ", "", "-", "").Replace(name)
}

// undeclared decodes a text that is encoded although no field says so.
func undeclared(body []byte) (data []byte, ok bool) {
	text := bytes.Join(bytes.Fields(body), nil)
	if lines := bytes.Fields(bytes.TrimSpace(body)); len(text) >= minCoded && len(lines[0]) >= min(len(text), 60) {
		data, err := base64.StdEncoding.DecodeString(string(text))
		if read, _ := charset.Decode(data, ""); err == nil && printed(read) {
			return data, false
		}
	}
	if codes := utf8Codes.FindAll(body, 3); len(codes) > 1 {
		if data, ok := fromQuoted(body); ok && utf8.Valid(data) {
			return data, false
		}
	}
	return body, true
}

// minCoded is how long a text is that is taken for Base64: a key or a hash alone is shorter.
const minCoded = 100

// utf8Codes are the codes of a letter with an accent or of one beyond Latin, in capitals, as quoted-printable.
var utf8Codes = regexp.MustCompile(`=[C-F][0-9A-F](=\r?\n)?=[89AB][0-9A-F]`)

// printed reports whether a text has no signs that nobody reads.
func printed(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool {
		return r == utf8.RuneError || r < ' ' && r != '\n' && r != '\r' && r != '\t' || r >= 0x7f && r < 0xa0
	})
}

// fromUU decodes what uuencode has written.
func fromUU(body []byte) (data []byte, ok bool) {
	in := false
	for line := range bytes.Lines(body) {
		line = bytes.TrimRight(line, "\r\n")
		switch {
		case !in:
			in = bytes.HasPrefix(line, []byte("begin "))
			continue
		case len(line) == 0 || line[0] == '`' || line[0] == ' ':
			continue
		case bytes.Equal(line, []byte("end")):
			return data, true
		}
		var bits []byte
		n := int(line[0]-' ') & 63
		for i := 1; i < len(line); i += 4 {
			var four [4]byte
			copy(four[:], line[i:min(i+4, len(line))])
			for j := range four {
				four[j] = (four[j] - ' ') & 63
			}
			bits = append(bits, four[0]<<2|four[1]>>4, four[1]<<4|four[2]>>2, four[2]<<6|four[3])
		}
		data = append(data, bits[:min(n, len(bits))]...)
	}
	return data, in
}

// fromBase64 leaves out what is no Base64. It ends where a gateway has written a footer. A body that
// is plain text in truth stays.
func fromBase64(body []byte) (data []byte, ok bool) {
	ok = true
	var packed []byte
	flush := func() {
		if len(packed)%4 == 1 {
			packed, ok = packed[:len(packed)-1], false
		}
		rest := make([]byte, base64.RawStdEncoding.DecodedLen(len(packed)))
		n, _ := base64.RawStdEncoding.Decode(rest, packed) // it has the letters of Base64 alone
		data, packed = append(data, rest[:n]...), packed[:0]
	}
	for line := range bytes.Lines(body) {
		line = bytes.TrimSpace(line)
		if bytes.ContainsAny(line, " \t") || bytes.HasPrefix(line, []byte("--")) {
			ok = false
			break
		}
		for _, c := range line {
			switch {
			case c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '+' || c == '/':
				packed = append(packed, c)
			case c == '-' || c == '_': // of addresses
				packed = append(packed, map[byte]byte{'-': '+', '_': '/'}[c])
			case c == '=':
				flush()
			default:
				ok = false
			}
		}
	}
	flush()
	if len(data) == 0 && len(bytes.TrimSpace(body)) > 0 {
		return body, false
	}
	return data, ok
}

// fromQuoted decodes quoted-printable; a sign that is no code stays.
func fromQuoted(body []byte) (data []byte, ok bool) {
	ok = true
	data = make([]byte, 0, len(body))
	for line := range bytes.Lines(body) {
		bare := bytes.TrimRight(line, " \t\r\n")
		end := line[len(bytes.TrimRight(line, "\r\n")):]
		if soft, is := bytes.CutSuffix(bare, []byte("=")); is {
			bare, end = soft, nil
		}
		for i := 0; i < len(bare); i++ {
			if bare[i] != '=' {
				data = append(data, bare[i])
				continue
			}
			if code, err := hex.DecodeString(string(bare[i+1 : min(i+3, len(bare))])); err == nil && len(code) == 1 {
				data = append(data, code[0])
				i += 2
			} else {
				data, ok = append(data, '='), false
			}
		}
		data = append(data, end...)
	}
	return data, ok
}

// words returns a field as text: its encoded words (RFC 2047), and bytes that somebody wrote as
// they are. Neighbours are decoded together, since programs cut them within a character.
func words(field, hint string) string {
	field = rawField(field, hint)
	var out strings.Builder
	at := 0
	var bytes []byte
	label := ""
	flush := func() {
		text, _ := charset.Decode(bytes, label)
		out.WriteString(text)
		bytes, label = nil, ""
	}
	for _, m := range encodedWord.FindAllStringSubmatchIndex(field, maxWords) {
		between := field[at:m[0]]
		name, _, _ := strings.Cut(strings.ToLower(field[m[2]:m[3]]), "*")
		raw := decodeWord(field[m[4]:m[5]], field[m[6]:m[7]])
		if joined := label != "" && strings.TrimSpace(between) == ""; !joined || name != label {
			flush()
			if !joined {
				out.WriteString(between)
			}
		}
		bytes, label, at = append(bytes, raw...), name, m[1]
	}
	flush()
	out.WriteString(field[at:])
	return out.String()
}

// rawField decodes the bytes that somebody wrote into a field as they are, in the charset of the text
// unless its signs are others than those of ASCII.
func rawField(field, hint string) string {
	const plain = "From: +0-"
	if text, _ := charset.Decode([]byte(plain), hint); text != plain {
		hint = ""
	}
	field, _ = charset.Decode([]byte(field), hint)
	return field
}

const maxWords = 500

var encodedWord = regexp.MustCompile(`=\?([^?\s]+)\?([bBqQ])\?([^?]*)\?=`)

func decodeWord(encoding, text string) []byte {
	if strings.EqualFold(encoding, "b") {
		data, _ := fromBase64([]byte(strings.Join(strings.Fields(text), "")))
		return data
	}
	data, _ := fromQuoted([]byte(strings.ReplaceAll(text, "_", "=20")))
	return data
}

// writer returns the address of a From, and how many there are: of several that are written as they
// should be, the one that sent the mail, or the first. A name may have anything in it; if that makes
// several addresses possible, there is none.
func writer(field, sender, hint string) (*mail.Address, int) {
	field = rawField(field, hint)
	lenient := &mime.WordDecoder{CharsetReader: charset.Reader}
	if list, err := (&mail.AddressParser{WordDecoder: lenient}).ParseList(field); err == nil {
		a := list[0]
		if sent, n := writer(sender, "", hint); n == 1 && len(list) > 1 {
			i := slices.IndexFunc(list, func(a *mail.Address) bool { return lower(a.Address) == lower(sent.Address) })
			a = list[max(i, 0)]
		}
		if !validAddress(a.Address) {
			return nil, 0
		}
		if quoted := a.Address[0] == '\'' && strings.HasSuffix(a.Address, "'"); !quoted &&
			!strings.Contains(a.Address, "=?") {
			a.Name = words(a.Name, "")
			return a, len(list)
		}
		field = words(field, hint) // the address was encoded, or has quotes
	}
	var found []*mail.Address
	add := func(name, address string) {
		address = strings.TrimPrefix(strings.TrimSpace(address), "mailto:")
		same := func(a *mail.Address) bool { return lower(a.Address) == lower(address) }
		if validAddress(address) && !slices.ContainsFunc(found, same) {
			found = append(found, &mail.Address{Name: name, Address: address})
		}
	}
	if angles := angled.FindAllStringSubmatchIndex(field, 10); len(angles) > 0 {
		for _, a := range angles {
			add(strings.Trim(words(field[:a[0]], ""), " \t\"',;:<>"), field[a[2]:a[3]])
		}
	} else {
		for _, word := range strings.FieldsFunc(field,
			func(r rune) bool { return strings.ContainsRune(" \t,;()\"'[]<>", r) }) {
			add("", word)
		}
	}
	if len(found) != 1 {
		return nil, 0
	}
	return found[0], 1
}

var angled = regexp.MustCompile(`<([^<>]*)>`)
