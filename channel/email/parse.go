package email

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"mime"
	"net/mail"
	"path"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/emersion/go-message"
	"golang.org/x/net/html"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/charset"
	"github.com/etui-run/etui/internal/htmltext"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/rtf"
)

// The bounds of what is read of a mail. What is beyond them is left out.
const (
	maxHeader   = 256 << 10
	maxText     = 256 << 10
	maxHTML     = 512 << 10 // in all parts: to convert it takes a second
	maxDepth    = 10
	maxParts    = 100
	maxFiles    = 20
	maxReceived = 20 << 20 // bytes of one file
)

// head is what the header of a mail says.
type head struct {
	id         string // for the host; see idOf
	messageID  string // as it is, without <>; empty if there is none
	references []string
	subject    string
	from       *mail.Address // its address in lower case
	shared     bool          // several have written it, so that nothing proves that this one has
	results    []string      // the Authentication-Results
	automatic  string        // why no answer is wanted; empty if one is
}

// readHead reads the header of a mail. It returns an error if it names no writer.
func readHead(raw []byte) (head, error) {
	p := readPart(blankless(raw))
	h, hint := p.header, p.params["charset"]
	var m head
	from, writers := writer(strings.Join(h.Values("From"), ", "), h.Get("Sender"), hint)
	if writers == 0 {
		return m, errors.New("its From is not one mail address that can be answered")
	}
	m.from, m.shared = from, writers > 1
	m.from.Address = lower(m.from.Address)
	m.from.Name = printable.Line(m.from.Name, 100)
	m.results = h.Values("Authentication-Results")
	m.subject = printable.Line(words(h.Get("Subject"), hint), 200)
	if ids := messageIDs(h.Get("Message-Id")); len(ids) == 1 {
		m.messageID = ids[0]
	}
	m.id = idOf(m.messageID, h)
	m.references = messageIDs(h.Get("References"))
	if n := len(m.references); n > 20 { // the first one names the thread
		m.references = append(m.references[:1:1], m.references[n-19:]...)
	}
	for _, id := range messageIDs(h.Get("In-Reply-To")) {
		if len(m.references) < 21 && !slices.Contains(m.references, id) {
			m.references = append(m.references, id)
		}
	}
	m.automatic = automatic(h, m.from.Address, m.subject)
	return m, nil
}

// blankless cuts empty lines before the header off.
func blankless(raw []byte) []byte { return bytes.TrimLeft(raw, "\r\n") }

// lower makes the letters of ASCII small, and no others: the sign for Kelvin is no k, nor whoever has it
// in an address somebody else.
func lower(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}, s)
}

// maxID is how many bytes an ID may have for the host.
const maxID = 150

// idOf is the ID of a mail: its Message-ID, or a hash of it if it is too long, or of the
// fields that every server leaves as they are if there is none.
func idOf(messageID string, h message.Header) string {
	if messageID != "" && len(messageID) <= maxID {
		return messageID
	}
	sum := sha256.New()
	for _, text := range []string{messageID, h.Get("From"), h.Get("To"), h.Get("Date"), h.Get("Subject")} {
		fmt.Fprintf(sum, "%q\n", text)
	}
	return "hash-" + hex.EncodeToString(sum.Sum(nil))[:40]
}

// threadOf names the thread of a mail by its first one.
func (m head) threadOf() string {
	root := m.id
	if len(m.references) > 0 {
		root = m.references[0]
	}
	if len(root) > maxID {
		sum := sha256.Sum256([]byte(root))
		return "hash-" + hex.EncodeToString(sum[:])[:40]
	}
	return root
}

// messageIDs returns the IDs in a field, without <>.
func messageIDs(field string) (ids []string) {
	for range 200 {
		_, rest, ok := strings.Cut(field, "<")
		if !ok {
			break
		}
		id, next, ok := strings.Cut(rest, ">")
		if !ok {
			break
		}
		field = next
		id = strings.Map(func(r rune) rune {
			if r == ' ' || r == '\t' || r == '\r' || r == '\n' { // it was folded
				return -1
			}
			return r
		}, id)
		if id != "" && len(id) <= 500 &&
			!strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// body is what a mail says, and what it brings.
type body struct {
	text     string
	attached string // the mails that it brings along, as text
	files    []chat.File
	inside   []piece  // the texts of Outlook's own files, which often have the text once more
	mended   []string // what was broken
	begun    bool     // a text was read
	parts    int
	html     int // bytes that were converted
}

// readBody reads the text and the files of a mail. Of a mail that is cut, the last file has no
// bytes.
func readBody(raw []byte, cut bool) body {
	var b body
	b.text = join(b.walk(readPart(blankless(raw)), 0))
	switch inside := join(b.inside); {
	case b.text == "" && inside == "" && len(b.inside) > len(b.files):
		b.text = outlooks
	case b.text == "" || replaced(inside, b.text):
		b.text = strings.TrimSpace(b.text + "\n\n" + inside)
	}
	for _, text := range []*string{&b.text, &b.attached} {
		if len(*text) > maxText {
			*text = strings.ToValidUTF8((*text)[:maxText], "") +
				"\n\n[The rest of the mail was left out: it is too long.]"
		}
	}
	if n := len(b.files); cut && n > 0 {
		b.files[n-1].Data = nil
	}
	return b
}

func join(texts []piece) string {
	var all []string
	for _, t := range texts {
		if s := strings.TrimFunc(t.text, unseen); s != "" {
			all = append(all, s)
		}
	}
	return strings.Join(all, "\n\n")
}

// unseen reports whether a character shows nothing: a page often begins with many of them.
func unseen(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) || r == '\u034f' }

// piece is a text of a mail.
type piece struct {
	text string
	html bool
}

// walk returns the texts of a part, and collects files. Of alternatives it returns the plain
// one, if that has the text.
func (b *body) walk(p part, depth int) (texts []piece) {
	if b.parts++; b.parts > maxParts || depth > maxDepth {
		return nil
	}
	b.mended = append(b.mended, p.mended...)
	if strings.HasPrefix(p.kind, "multipart/") {
		parts := split(p.body, p.params["boundary"])
		if parts == nil {
			p.kind, p.params = "text/plain", map[string]string{} // it is one part in truth
			return b.walk(part{header: p.header, kind: p.kind, params: p.params, body: p.body}, depth+1)
		}
		var chosen []piece
		for _, raw := range parts {
			found := b.walk(readPart(raw), depth+1)
			if p.kind != "multipart/alternative" {
				texts = append(texts, found...)
			} else if len(found) > 0 && (chosen == nil || better(found, chosen)) {
				chosen = found
			}
		}
		return append(texts, chosen...)
	}
	data, ok := p.decoded()
	if !ok {
		b.mended = append(b.mended, "its transfer encoding")
	}
	disposition, params, _ := mediaType(p.header.Get("Content-Disposition"))
	name := words(cmp.Or(params["filename"], params["name"], p.params["name"]), p.params["charset"])
	plain := p.kind == "text/plain" || p.kind == "text/html" // a text, whose name does not make it a file
	switch {
	case p.kind == "message/rfc822" || p.kind == "message/global":
		b.mail(data, name, depth)
	case slices.Contains(tnefKinds, p.kind) || bytes.HasPrefix(data, []byte(tnefBegin)) || lower(name) == "winmail.dat":
		b.inside = append(b.inside, b.winmail(data, p.kind, name, depth))
	case slices.Contains(signatureKinds, p.kind):
	case slices.Contains(sealedKinds, p.kind) || strings.HasSuffix(lower(name), ".p7m"):
		if inside := unsealed(data); len(inside) > 0 {
			return b.walk(readPart(inside), depth+1)
		}
		b.file(data, p.kind, name)
		return []piece{{text: unreadable}}
	case readable(p.kind, depth) && (name == "" || plain && !b.begun) &&
		(disposition != "attachment" || plain && depth == 0):
		text := b.read(data, p.kind == "text/html" || p.kind == "application/xhtml+xml", p.params["charset"])
		if strings.EqualFold(p.params["format"], "flowed") && !text.html {
			text.text = unflowed(text.text, strings.EqualFold(p.params["delsp"], "yes"))
		}
		b.begun = b.begun || strings.TrimFunc(text.text, unseen) != ""
		return []piece{text}
	default:
		b.file(data, p.kind, name)
		if p.kind == "application/pgp-encrypted" {
			return []piece{{text: unreadable}}
		}
	}
	return nil
}

// unreadable stands for what only a key opens.
const unreadable = "[The mail, or a part of it, is encrypted or sealed, and cannot be read here.]"

// outlooks stands for a file of Outlook that is broken, or has neither text nor files.
const outlooks = "[The mail has a part that only Outlook reads, and that cannot be read here.]"

// winmail reads a file that Outlook has made of a mail: it returns the text, and collects the files.
func (b *body) winmail(data []byte, kind, name string, depth int) piece {
	t := readTNEF(data)
	if t == nil || depth > maxDepth {
		b.file(data, kind, name)
		return piece{text: outlooks}
	}
	for _, f := range t.files {
		if slices.Contains(tnefKinds, f.kind) {
			b.attach(f.name, "\n"+b.winmail(f.data, f.kind, f.name, depth+1).text)
			continue
		}
		b.file(f.data, cmp.Or(f.kind, "application/octet-stream"), f.name)
	}
	switch {
	case strings.TrimFunc(t.plain, unseen) != "":
		return b.read([]byte(t.plain), false, "utf-8")
	case t.html != "":
		return b.read([]byte(t.html), true, t.label)
	}
	return piece{text: rtf.Text(t.rtf)}
}

// readable reports whether a part of a kind is meant to be read with the others, or is all of a mail.
func readable(kind string, depth int) bool {
	return depth == 0 && strings.HasPrefix(kind, "text/") ||
		slices.Contains([]string{"text/plain", "text/html", "text/markdown", "text/x-markdown", "text/enriched",
			"text/rtf", "application/xhtml+xml"}, kind)
}

// mail reads a mail that is attached.
func (b *body) mail(raw []byte, name string, depth int) {
	p := readPart(raw)
	text := ""
	for _, field := range []string{"From", "To", "Date", "Subject"} {
		if value := printable.Line(words(p.header.Get(field), p.params["charset"]), 300); value != "" {
			text += field + ": " + value + "\n"
		}
	}
	b.attach(name, text+"\n"+join(b.walk(p, depth+1)))
}

// attach adds a mail that is attached.
func (b *body) attach(name, text string) {
	name = printable.Line(cmp.Or(name, "no name"), 100)
	b.attached = strings.TrimSpace(b.attached + "\n\n[Attached mail: " + name + "]\n" + text)
}

// better reports whether an alternative is to be taken instead of another one: the plain text is,
// unless it only says that there is another one.
func better(a, than []piece) bool {
	text, other := join(a), join(than)
	switch {
	case text == "" || other == "":
		return text != ""
	case than[0].html != a[0].html && than[0].html:
		return !replaced(text, other)
	case a[0].html != than[0].html:
		return replaced(other, text)
	}
	return false
}

// replaced reports whether a page says something else than the plain text beside it: few of the
// plain words are there.
func replaced(plain, page string) bool {
	in := map[string]bool{}
	for _, w := range wordsOf(page) {
		in[w] = true
	}
	found, all := 0, 0
	for _, w := range wordsOf(plain) {
		if all++; in[w] {
			found++
		}
	}
	return found*2 < all
}

var aWord = regexp.MustCompile(`\p{Han}|[\p{L}\p{N}]+`)

func wordsOf(text string) []string {
	return aWord.FindAllString(strings.ToLower(text[:min(len(text), 2000)]), -1)
}

func (b *body) read(data []byte, isHTML bool, label string) piece {
	most := maxText + 1
	decode := charset.Decode
	start := strings.ToLower(string(bytes.TrimSpace(data[:min(len(data), 200)])))
	isHTML = isHTML || strings.HasPrefix(start, "<!doctype html") || strings.HasPrefix(start, "<html")
	if isHTML {
		most, decode = max(0, maxHTML-b.html), charset.DecodeHTML
	} else {
		data = b.unencoded(data)
	}
	text, sure := decode(data[:min(len(data), most)], label)
	if !sure && len(data) <= most {
		b.mended = append(b.mended, "its charset")
	}
	if isHTML {
		b.html += min(len(data), most)
		return piece{toMarkdown(text), true}
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if strings.HasPrefix(text, `{\rtf`) {
		return piece{text: rtf.Text(text)}
	}
	if strings.Contains(text, "-----BEGIN PGP MESSAGE-----") {
		text += "\n\n" + unreadable
	}
	return piece{text: text}
}

// unencoded takes the files out of a text that old programs have written into it.
func (b *body) unencoded(text []byte) []byte {
	if !bytes.Contains(text, []byte("begin ")) {
		return text
	}
	return uuencoded.ReplaceAllFunc(text, func(file []byte) []byte {
		data, ok := fromUU(file)
		if !ok {
			return file
		}
		b.file(data, "application/octet-stream", string(uuencoded.FindSubmatch(file)[1]))
		return nil
	})
}

var uuencoded = regexp.MustCompile("(?m)^begin [0-7]{3,4} (\\S[^\r\n]*)\r?\n(?:[ -`]{1,62}\r?\n)+end\r?$")

// unflowed joins the lines of paragraphs (RFC 3676): one that ends with a space goes on in the next, if
// that is quoted as deeply. With delsp the space was added, too, as between Chinese characters.
func unflowed(text string, delsp bool) string {
	var out []string
	flows, depth := false, 0
	for line := range strings.SplitSeq(text, "\n") {
		said := strings.TrimLeft(line, ">")
		deep := len(line) - len(said)
		said = strings.TrimPrefix(said, " ") // it was put before a line that begins like a quote
		signature := said == "-- "
		if flows && deep == depth && !signature && said != "" {
			out[len(out)-1] += said
		} else {
			if deep > 0 {
				said = strings.Repeat(">", deep) + " " + said
			}
			out = append(out, said)
		}
		last := &out[len(out)-1]
		if flows, depth = strings.HasSuffix(*last, " ") && !signature && len(said) > 0, deep; flows && delsp {
			*last = strings.TrimSuffix(*last, " ")
		}
	}
	return strings.Join(out, "\n")
}

// file collects a file.
func (b *body) file(data []byte, kind, name string) {
	if len(b.files) >= maxFiles {
		return
	}
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	f := chat.File{Name: printable.Line(name, 100), MediaType: kind, Size: len(data)}
	if name == "." {
		f.Name = "file"
		if kind == "text/plain" {
			f.Name += ".txt"
		} else if extensions, _ := mime.ExtensionsByType(kind); len(extensions) > 0 {
			f.Name += extensions[0]
		}
	}
	if len(data) <= maxReceived {
		f.Data = data
	}
	b.files = append(b.files, f)
}

// toMarkdown turns HTML into Markdown. Pictures leave their description: they are not
// fetched. If it cannot be read, nothing is left.
func toMarkdown(text string) (markdown string) {
	defer func() {
		if p := recover(); p != nil { // the parsers read what strangers wrote
			_ = panics.Report(nil, "reading a mail", p) // it is logged
			markdown = ""
		}
	}()
	doc, err := htmltext.Parse(text)
	if err != nil {
		return ""
	}
	var hidden []*html.Node // what the person who sent or read it has not seen
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && slices.ContainsFunc(n.Attr, hides) {
			hidden = append(hidden, n)
		}
		if n.Type == html.ElementNode && n.Data == "img" {
			alt := ""
			for _, a := range n.Attr {
				if a.Key == "alt" {
					alt = a.Val
				}
			}
			n.Type, n.Data, n.DataAtom, n.Attr = html.TextNode, alt, 0, nil
		}
	}
	for _, n := range hidden {
		n.Parent.RemoveChild(n)
	}
	markdown, err = htmltext.Markdown(doc, "")
	if err != nil {
		return ""
	}
	return markdown
}

// hides reports whether an attribute hides its element.
func hides(a html.Attribute) bool {
	style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
	return a.Key == "hidden" || a.Key == "style" &&
		(strings.Contains(style, "display:none") || strings.Contains(style, "visibility:hidden"))
}
