package email

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"mime"
	"regexp"
	"strings"
	"time"

	gomail "github.com/emersion/go-message/mail"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

// ours begins the Message-IDs of what the channel has sent.
const ours = "etui."

func (c *Channel) domain() string {
	_, domain, _ := strings.Cut(c.self.Address, "@")
	return strings.ToLower(domain)
}

// isOurs reports whether an ID is that of a mail of this account.
func (c *Channel) isOurs(id string) bool {
	return strings.HasPrefix(id, ours) && strings.HasSuffix(id, "@"+c.domain())
}

// messageID is the ID of a mail: the same when it is sent again. The key alone would not
// do, since a new store counts from the beginning, and readers drop a mail whose ID they have.
func (c *Channel) messageID(m channel.Outgoing) string {
	sum := sha256.New()
	for _, text := range []string{c.self.Address, m.To.Chat, m.To.Thread, m.To.Message, m.Key, m.Text} {
		fmt.Fprintf(sum, "%q\n", text)
	}
	return ours + hex.EncodeToString(sum.Sum(nil))[:32] + "@" + c.domain()
}

// compose writes a mail: the Markdown as plain text and as HTML, and the files.
func (c *Channel) compose(ctx context.Context, m channel.Outgoing, to string) ([]byte, error) {
	var h gomail.Header
	o := c.original(ctx, m.To.Message)
	h.SetDate(time.Now())
	h.SetAddressList("From", []*gomail.Address{{Name: c.self.Name, Address: c.self.Address}})
	h.SetAddressList("To", []*gomail.Address{{Address: to}})
	h.SetMessageID(c.messageID(m))
	// RFC 3834: no program answers this. What Exchange understands comes with it.
	h.Set("Auto-Submitted", "auto-replied")
	h.Set("X-Auto-Response-Suppress", "All")
	lang := phrase.English
	if chat.Chinese(m.Text) {
		lang = phrase.Chinese
	}
	h.SetSubject(reply(o.subject, phrase.In(lang, "Message from %s", cmp.Or(c.self.Name, c.self.Address))))
	references := o.references
	if len(references) == 0 && m.To.Thread != "" && m.To.Thread != o.messageID &&
		!strings.HasPrefix(m.To.Thread, "hash-") {
		references = []string{m.To.Thread}
	}
	if o.messageID != "" {
		h.SetMsgIDList("In-Reply-To", []string{o.messageID})
		references = append(references[:len(references):len(references)], o.messageID)
	}
	if len(references) > 0 {
		h.SetMsgIDList("References", references)
	}

	page, err := c.toHTML(m.Text)
	if err != nil {
		return nil, fmt.Errorf("writing the mail as HTML: %w", err)
	}
	if m.Plain {
		page = nil
	}
	var b bytes.Buffer
	if len(m.Files) == 0 {
		w, err := gomail.CreateInlineWriter(&b, h)
		if err == nil {
			err = alternatives(w, m.Text, page)
		}
		return b.Bytes(), err
	}
	w, err := gomail.CreateWriter(&b, h)
	if err != nil {
		return nil, err
	}
	inline, err := w.CreateInline()
	if err == nil {
		err = alternatives(inline, m.Text, page)
	}
	for _, f := range m.Files {
		if err != nil {
			return nil, err
		}
		var h gomail.AttachmentHeader
		kind, _, bad := mime.ParseMediaType(f.MediaType)
		if bad != nil || strings.HasPrefix(kind, "multipart/") || strings.HasPrefix(kind, "message/") {
			kind = "application/octet-stream"
		}
		h.SetContentType(kind, nil)
		h.SetFilename(cmp.Or(printable.Line(f.Name, 100), "file"))
		err = write(f.Data, func() (io.WriteCloser, error) { return w.CreateAttachment(h) })
	}
	if err == nil {
		err = w.Close()
	}
	return b.Bytes(), err
}

// alternatives writes the same text in two forms; without a page in one.
func alternatives(w *gomail.InlineWriter, plain string, page []byte) error {
	for _, part := range []struct {
		kind string
		data []byte
	}{{"text/plain", []byte(plain)}, {"text/html", page}} {
		if part.data == nil {
			continue
		}
		var h gomail.InlineHeader
		h.SetContentType(part.kind, map[string]string{"charset": "utf-8"})
		if err := write(part.data, func() (io.WriteCloser, error) { return w.CreatePart(h) }); err != nil {
			return err
		}
	}
	return w.Close()
}

func write(data []byte, create func() (io.WriteCloser, error)) error {
	w, err := create()
	if err != nil {
		return err
	}
	if _, err := w.Write(data); err != nil {
		return err
	}
	return w.Close()
}

// answered matches what programs put before the subject of an answer.
var answered = regexp.MustCompile(`(?i)^\s*((re|aw|sv|antw|odp|rif|ynt|回复|回覆|答复)(\[\d+\])?\s*[:：]\s*)+`)

// reply is the subject of an answer to a mail; otherwise is that to one without a subject.
func reply(subject, otherwise string) string {
	subject = strings.TrimSpace(answered.ReplaceAllString(subject, ""))
	if subject == "" {
		return otherwise
	}
	return "Re: " + subject
}

// toHTML turns Markdown into a page.
func (c *Channel) toHTML(markdown string) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"></head><body>\n")
	if err := c.markdown.Convert([]byte(printable.Text(markdown)), &b); err != nil {
		return nil, err
	}
	b.WriteString("</body></html>\n")
	return b.Bytes(), nil
}
