package web

import (
	"context"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/etui-run/etui/channel"
)

// past is what a receiver knows of earlier messages.
type past interface {
	// File returns a file that was sent; its error wraps [channel.ErrGone].
	File(ctx context.Context, sha256 string) ([]byte, error)
	// Why returns as JSON which tools a message got; nil when that is unknown.
	Why(ctx context.Context, m channel.Incoming) (json.RawMessage, error)
}

// maxReading is how many files are read by clients at once; the next one comes later.
const maxReading = 8

// asked answers who asks for the file of a message of the agent, or which tools a message of theirs got.
// Whoever it is says so as in a hello, so that no address lets anybody read.
func (c *Channel) asked(ctx context.Context, w http.ResponseWriter, r *http.Request, in request) {
	var guest *person
	var err error
	if in.Token == "" && c.config.Guests {
		var p person
		p, err = c.guest(w, r, time.Now())
		guest = &p
	}
	var p person
	if err == nil {
		p, err = c.who(in, guest)
	}
	if err == nil && !c.pace("\x00"+p.ID).Allow() { // what people say has a pace of its own
		err = errFast
	}
	if err == nil {
		p.Language = r.Header.Get("Accept-Language")
		if in.Type == "why" {
			err = c.tellWhy(ctx, w, p, in.ID)
		} else {
			err = c.giveFile(ctx, w, p, in.ID)
		}
	}
	if err != nil {
		refuse(w, err)
	}
}

// find returns a message of a person's chat.
func (c *Channel) find(ctx context.Context, p person, which func(message) bool) (said message, err error) {
	t := c.open(p.ID)
	defer c.close(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.load(ctx); err != nil {
		return said, err
	}
	i := slices.IndexFunc(t.record.Messages, which)
	if i < 0 {
		return said, errGone
	}
	return t.record.Messages[i], nil
}

// tellWhy writes which tools the message with a client's ID got.
func (c *Channel) tellWhy(ctx context.Context, w http.ResponseWriter, p person, client string) error {
	said, err := c.find(ctx, p, func(m message) bool { return m.Mine && m.Client == client })
	if err != nil {
		return err
	}
	_, in := c.running()
	knows, ok := in.(past)
	if !ok {
		return errStopping
	}
	why, err := knows.Why(ctx, channel.Incoming{ID: client, From: p.Sender,
		At: channel.Address{Chat: p.ID, Message: client}, Text: said.Text, Time: said.Time, Agent: said.Agent})
	if err != nil {
		c.log.WarnContext(ctx, "nobody can say which tools a message got", "chat", p.ID, "error", err)
		return errAgain
	}
	if why == nil {
		return errGone
	}
	answer(w, http.StatusOK, event{Type: "why", ID: client, Why: why})
	return nil
}

// giveFile writes the file of a message of the agent.
func (c *Channel) giveFile(ctx context.Context, w http.ResponseWriter, p person, id string) error {
	said, err := c.find(ctx, p, func(m message) bool { return m.File != nil && m.name() == id })
	if err != nil {
		return err
	}
	select {
	case c.reading <- struct{}{}:
		defer func() { <-c.reading }()
	case <-ctx.Done():
		return errBusy
	}
	_, in := c.running()
	knows, ok := in.(past)
	if !ok {
		return errStopping
	}
	data, err := knows.File(ctx, said.File.SHA256)
	switch {
	case errors.Is(err, channel.ErrGone):
		return errGone
	case err != nil:
		c.log.WarnContext(ctx, "a file cannot be read", "chat", p.ID, "error", err)
		return errAgain
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(frameTime)) // not every writer has one
	w.Header().Set("Content-Type", "application/octet-stream")                    // no browser shows it as a page
	w.Header().Set("X-Content-Type-Options", "nosniff")
	name := map[string]string{"filename": said.File.Name}
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", name))
	_, _ = w.Write(data) // the client may have gone
	return nil
}
