package email

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/mail"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/emersion/go-message"
	"golang.org/x/net/html"
	"golang.org/x/text/encoding/htmlindex"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/htmltext"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
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
	results    []string      // the Authentication-Results
	automatic  string        // why no answer is wanted; empty if one is
}

// readHead reads the header of a mail. It returns an error if it cannot be read, or does not
// name one writer.
func readHead(raw []byte) (head, error) {
	e, err := read(raw)
	if err != nil {
		return head{}, err
	}
	return headOf(e.Header)
}

// read reads a mail, with charsets still to be decoded.
func read(raw []byte) (*message.Entity, error) {
	e, err := message.ReadWithOptions(bytes.NewReader(raw), &message.ReadOptions{MaxHeaderBytes: maxHeader})
	if e == nil {
		return nil, fmt.Errorf("it is no mail: %w", err)
	}
	return e, nil
}

func headOf(h message.Header) (head, error) {
	var m head
	froms := h.Values("From")
	if len(froms) != 1 {
		return m, fmt.Errorf("it has %d From fields instead of one", len(froms))
	}
	list, err := (&mail.AddressParser{WordDecoder: words()}).ParseList(froms[0])
	if err != nil || len(list) != 1 || !validAddress(list[0].Address) {
		return m, errors.New("its From is not one mail address that can be answered")
	}
	m.from = list[0]
	m.from.Address = lower(m.from.Address)
	m.from.Name = printable.Line(m.from.Name, 100)
	m.results = h.Values("Authentication-Results")
	m.subject = printable.Line(decoded(h.Get("Subject")), 200)
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
		if id != "" && len(id) <= 500 && !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '<' }) {
			ids = append(ids, id)
		}
	}
	return ids
}

// body collects what a mail has beside its text.
type body struct {
	files []chat.File
	parts int
	html  int64 // bytes that were converted
}

// readBody reads the text and the files of a mail. It keeps what comes before something that
// cannot be read.
func readBody(raw []byte) (text string, files []chat.File, err error) {
	e, err := read(raw)
	if err != nil {
		return "", nil, err
	}
	var b body
	texts := b.walk(e, charsetOf(e), 0)
	var all []string
	for _, t := range texts {
		if s := strings.TrimSpace(t.text); s != "" {
			all = append(all, s)
		}
	}
	text = strings.Join(all, "\n\n")
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "\n\n[The rest of the mail was left out: it is too long.]"
	}
	return text, b.files, nil
}

// piece is a text of a mail.
type piece struct {
	text string
	html bool
}

// walk returns the texts of a part, and collects files. Of alternatives it returns the plain
// one, if that has a text.
func (b *body) walk(e *message.Entity, charset string, depth int) (texts []piece) {
	if b.parts++; b.parts > maxParts || depth > maxDepth {
		return nil
	}
	kind, params, err := e.Header.ContentType()
	if err != nil || kind == "" {
		kind = "text/plain"
	}
	kind = strings.ToLower(kind)
	parts := e.MultipartReader()
	if parts == nil {
		disposition, dispositionParams, _ := e.Header.ContentDisposition()
		name := decoded(cmp.Or(dispositionParams["filename"], params["name"]))
		if (kind == "text/plain" || kind == "text/html") && !strings.EqualFold(disposition, "attachment") && name == "" {
			return []piece{b.readText(e.Body, kind == "text/html", charset)}
		}
		b.file(e.Body, kind, name)
		return nil
	}
	var chosen []piece
	for b.parts < maxParts {
		part, err := parts.NextPart()
		if part == nil || err != nil && !message.IsUnknownCharset(err) && !message.IsUnknownEncoding(err) {
			break // the end, or what cannot be read
		}
		found := b.walk(part, charsetOf(part), depth+1)
		if kind != "multipart/alternative" {
			texts = append(texts, found...)
			continue
		}
		if len(found) > 0 && (chosen == nil || better(found, chosen)) {
			chosen = found
		}
	}
	return append(texts, chosen...)
}

// better reports whether an alternative is to be taken instead of another one.
func better(a, than []piece) bool {
	says := func(list []piece) bool {
		return slices.ContainsFunc(list, func(p piece) bool { return strings.TrimSpace(p.text) != "" })
	}
	return says(a) && (!says(than) || than[0].html && !a[0].html)
}

// charsetOf returns the charset that go-message has left to us; empty if it has decoded the
// text. Its own table would be set for the whole process, and reads gb2312 as HZ.
func charsetOf(e *message.Entity) string {
	kind, params, _ := e.Header.ContentType()
	charset := strings.ToLower(params["charset"])
	if !strings.HasPrefix(strings.ToLower(kind), "text/") || charset == "utf-8" || charset == "us-ascii" || message.CharsetReader != nil {
		return ""
	}
	return charset
}

func (b *body) readText(r io.Reader, isHTML bool, charset string) piece {
	if d := decoder(charset); d != nil {
		r = d(r)
	}
	limit := int64(maxText + 1)
	if isHTML {
		limit = maxHTML - b.html
	}
	raw, _ := io.ReadAll(io.LimitReader(r, limit)) // what comes before an error counts
	text := strings.ToValidUTF8(string(raw), "\uFFFD")
	if isHTML {
		b.html += int64(len(raw))
		return piece{toMarkdown(text), true}
	}
	return piece{strings.ReplaceAll(text, "\r\n", "\n"), false}
}

// decoder returns what decodes a charset, by the names that browsers know; nil means that it
// is UTF-8, or unknown.
func decoder(charset string) func(io.Reader) io.Reader {
	if charset == "" {
		return nil
	}
	e, err := htmlindex.Get(charset)
	if err != nil {
		return nil
	}
	return func(r io.Reader) io.Reader { return e.NewDecoder().Reader(r) }
}

func words() *mime.WordDecoder {
	return &mime.WordDecoder{CharsetReader: func(charset string, r io.Reader) (io.Reader, error) {
		d := decoder(charset)
		if d == nil {
			return nil, fmt.Errorf("the charset %q is unknown", charset)
		}
		return d(r), nil
	}}
}

// decoded returns a field with its encoded words as text.
func decoded(field string) string {
	text, err := words().DecodeHeader(field)
	if err != nil {
		text = field
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// file collects a file: with its bytes if it is a picture, a PDF or a text, and whole.
func (b *body) file(r io.Reader, kind, name string) {
	if len(b.files) >= maxFiles {
		return
	}
	f := chat.File{Name: printable.Line(path.Base(strings.ReplaceAll(name, `\`, "/")), 100), MediaType: kind}
	if name == "" {
		f.Name = "file"
		if extensions, _ := mime.ExtensionsByType(kind); len(extensions) > 0 {
			f.Name += extensions[0]
		}
	}
	data, err := io.ReadAll(io.LimitReader(r, maxReceived+1))
	if kind == "application/octet-stream" && err == nil {
		if is, _, _ := strings.Cut(http.DetectContentType(data), ";"); is == chat.PDF || strings.HasPrefix(is, "image/") {
			f.MediaType = is
		}
	}
	known := strings.HasPrefix(f.MediaType, "image/") || strings.HasPrefix(f.MediaType, "text/") && utf8.Valid(data) || f.MediaType == chat.PDF
	if err == nil && known && len(data) <= maxReceived {
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
	for n := range doc.Descendants() {
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
	markdown, err = htmltext.Markdown(doc, "")
	if err != nil {
		return ""
	}
	return markdown
}
