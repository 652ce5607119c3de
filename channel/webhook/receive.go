package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
)

const (
	maxName  = 256 // bytes of an ID or a name
	maxFiles = 16
	maxRoles = 32
)

// delivery is the body of a request: a message that a person has written.
type delivery struct {
	ID        string    `json:"id"`
	Chat      string    `json:"chat"`
	Thread    string    `json:"thread"`
	Group     bool      `json:"group"`
	Mentioned bool      `json:"mentioned"`
	User      string    `json:"user"`
	Name      string    `json:"name"`
	Language  string    `json:"language"`
	Roles     []string  `json:"roles"`
	Text      string    `json:"text"`
	Files     []file    `json:"files"`
	Time      time.Time `json:"time"`
}

// file is a file in both directions.
type file struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
}

// ServeHTTP takes a delivery. It answers 200 when the message is safe, also if it was
// before; 401 if the signature or its age is wrong; 400 if the body is not a message; and
// 503 if the delivery should be repeated.
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, ok := platform.Posted(w, r, maxBody)
	if !ok {
		return
	}
	in := c.open.Load()
	if in == nil {
		platform.Refuse(w, http.StatusServiceUnavailable)
		return
	}
	status := http.StatusUnauthorized
	id, err := c.verify(r.Header, body)
	var m channel.Incoming
	if err == nil {
		status = http.StatusBadRequest
		m, err = decode(id, body)
	}
	if err != nil {
		c.log.DebugContext(r.Context(), "a delivery was not taken", "status", status, "error", err)
		http.Error(w, err.Error(), status)
		return
	}
	in.Deliver(w, r, m.At.Chat, func(ctx context.Context) error { return in.Hand(ctx, id, &m, false, nil) })
}

// decode turns a body into a message. A message without an ID has that of its delivery.
func decode(id string, body []byte) (m channel.Incoming, err error) {
	var d delivery
	if err := jsonv2.Unmarshal(body, &d, jsonv2.RejectUnknownMembers(true)); err != nil {
		return m, errors.New("the body is not a message: it is one JSON object with id, chat, thread, group, mentioned, user, name, roles, text, files and time, and no other fields")
	}
	if d.ID == "" {
		d.ID = id
	}
	if d.Chat == "" && !d.Group {
		d.Chat = d.User
	}
	switch {
	case d.User == "":
		return m, errors.New("user is missing: the lasting ID of who wrote the message")
	case d.Chat == "":
		return m, errors.New("chat is missing: a message of a group needs it")
	case d.Text == "" && len(d.Files) == 0:
		return m, errors.New("the message has neither text nor files")
	case len(d.Files) > maxFiles:
		return m, fmt.Errorf("a message has at most %d files", maxFiles)
	case len(d.Roles) > maxRoles:
		return m, fmt.Errorf("a message has at most %d roles", maxRoles)
	}
	for name, value := range map[string]string{"id": d.ID, "chat": d.Chat, "thread": d.Thread, "user": d.User} {
		if value != "" && !platform.Tidy(value, maxName) {
			return m, fmt.Errorf("%s is longer than %d bytes, or has characters that cannot be printed", name, maxName)
		}
	}
	m = channel.Incoming{
		ID:    d.ID,
		From:  channel.Sender{ID: d.User, Name: printable.Line(d.Name, maxName), Language: phrase.Match(d.Language)},
		At:    channel.Address{Chat: d.Chat, Thread: d.Thread, Message: d.ID},
		Group: d.Group, Mentioned: d.Mentioned, Text: d.Text, Time: d.Time,
	}
	for _, role := range d.Roles {
		m.From.Roles = append(m.From.Roles, printable.Line(role, maxName))
	}
	for _, f := range d.Files {
		if len(f.Data) > maxFile {
			f.Data = nil
		}
		m.Files = append(m.Files, chat.File{Name: printable.Line(f.Name, maxName),
			MediaType: printable.Line(f.MediaType, maxName), Data: f.Data})
	}
	return m, nil
}
