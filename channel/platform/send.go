package platform

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
)

// maxSent is how many messages are remembered that were posted.
const maxSent = 4096

// Sent knows what was posted, until the program ends. It is safe for concurrent use.
type Sent struct {
	name string
	ids  *recent.Cache[string, string] // by chat, thread and key
}

// NewSent returns an empty one for the platform with this name.
func NewSent(name string) *Sent { return &Sent{name, recent.New[string, string](maxSent)} }

// Parts sends a message as several ones of the platform: the text with its buttons, and each
// file alone.
func (s *Sent) Parts(m channel.Outgoing, post func(part channel.Outgoing) (id string, err error)) (string, error) {
	var parts []channel.Outgoing
	if m.Text != "" || len(m.Buttons) > 0 {
		parts = append(parts, channel.Outgoing{Text: m.Text, Buttons: m.Buttons, Plain: m.Plain})
	}
	for _, f := range m.Files {
		parts = append(parts, channel.Outgoing{Files: []chat.File{f}})
	}
	return s.Each(m, parts, post)
}

// Each sends the parts of a message. Each part has a key of its own, and one that was posted is
// not posted again with the same key. Only the first part answers Address.Message, and its ID is
// returned.
func (s *Sent) Each(
	m channel.Outgoing, parts []channel.Outgoing, post func(part channel.Outgoing) (id string, err error),
) (first string, err error) {
	if len(parts) == 0 {
		return "", errors.New(s.name + ": the message is empty")
	}
	for i, part := range parts {
		part.To, part.Key = m.To, m.Key
		if i > 0 {
			part.To.Message = ""
			if m.Key != "" {
				part.Key = fmt.Sprintf("%s/%d", m.Key, i)
			}
		}
		id, err := s.once(part, post)
		if err != nil {
			return "", err
		}
		first = cmp.Or(first, id)
	}
	return first, nil
}

func (s *Sent) once(part channel.Outgoing, post func(part channel.Outgoing) (string, error)) (string, error) {
	key := part.To.Chat + "\x00" + part.To.Thread + "\x00" + part.Key
	if id, ok := s.ids.Get(key); ok && part.Key != "" {
		return id, nil
	}
	id, err := post(part)
	if err == nil && part.Key != "" {
		s.ids.Put(key, id)
	}
	return id, err
}

// Digest makes a key of n hexadecimal digits, 64 at most, of texts.
func Digest(n int, texts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(texts, "\x00")))
	return hex.EncodeToString(sum[:])[:n]
}

// Buttons returns the buttons that a platform shows, at most so many. A label is cut after so
// many characters, and a button that says more bytes is left out.
func Buttons(log *slog.Logger, list []channel.Button, most, label, says int) (shown []channel.Button) {
	for _, b := range list {
		b = channel.Button{Label: printable.Line(cmp.Or(b.Label, b.Text), label), Text: cmp.Or(b.Text, b.Label)}
		if len(b.Text) > says || b.Text == "" || len(shown) == most {
			log.Warn("a button is left out: it says too much, or there are too many", "bytes", len(b.Text), "buttons",
				len(list))
			continue
		}
		shown = append(shown, b)
	}
	return shown
}
