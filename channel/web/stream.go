package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"
)

// stream is a connection by server-sent events: the answer to a posted hello. The client posts
// what the person says. Its name is a part of addresses, which logs keep, so the name alone
// neither reads nor speaks: speaking takes the key, which stands in bodies only.
type stream struct {
	*talk
	key    string
	person person
}

func (c *Channel) stream(name string) *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[name]
}

// post takes a hello, or for a stream what the person says.
func (c *Channel) post(life context.Context, w http.ResponseWriter, r *http.Request) {
	name, most := r.URL.Query().Get("stream"), int64(maxSmall)
	s := c.stream(name)
	switch {
	case name != "" && s == nil:
		refuse(w, errStream)
		return
	case s != nil && !s.person.guest():
		most = maxLarge
	}
	ctx, done := context.WithTimeout(r.Context(), frameTime)
	defer done()
	body, err := c.frame(ctx, http.MaxBytesReader(w, r.Body, most))
	var large *http.MaxBytesError
	if errors.As(err, &large) {
		err = errLarge
	}
	var in request
	if err == nil {
		in, err = decode(body)
	}
	switch {
	case err != nil:
		refuse(w, err)
	case s == nil && in.Type == "hello":
		c.events(life, w, r, in)
	case s == nil && in.Type != "say":
		c.asked(ctx, w, r, in)
	case s == nil:
		refuse(w, errBad)
	case subtle.ConstantTimeCompare([]byte(in.Key), []byte(s.key)) != 1:
		refuse(w, errStream)
	case !c.pace(s.person.ID).Allow():
		refuse(w, errFast)
	default:
		said, status := s.say(ctx, s.person, in)
		answer(w, status, said)
	}
}

// events answers a hello with the events of the chat, until one side ends the connection.
func (c *Channel) events(life context.Context, w http.ResponseWriter, r *http.Request, hello request) {
	var guest *person
	if hello.Token == "" && c.config.Guests {
		p, err := c.guest(w, r, time.Now())
		if err != nil {
			refuse(w, err)
			return
		}
		guest = &p
	}
	p, err := c.who(hello, guest)
	var release func()
	if err == nil {
		release, err = c.admit(p)
	}
	if err != nil {
		refuse(w, err)
		return
	}
	defer release()
	p.Language = r.Header.Get("Accept-Language")
	s := &stream{talk: c.open(p.ID), key: rand.Text(), person: p}
	defer c.close(s.talk)
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	defer context.AfterFunc(life, func() { end(errStopping) })()
	defer time.AfterFunc(time.Until(p.until), func() { end(errExpired) }).Stop()
	now := newWindow(end)
	if err := s.enter(ctx, now, hello.Since); err != nil {
		c.log.WarnContext(ctx, "a chat could not be read", "chat", s.id, "error", err)
		refuse(w, errAgain)
		return
	}
	defer s.leave(now)
	name := rand.Text()
	c.mu.Lock()
	c.streams[name] = s
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.streams, name)
	}()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx
	connection := http.NewResponseController(w)
	send := func(e *event) error {
		_ = connection.SetWriteDeadline(time.Now().Add(frameTime)) // not every writer has one
		line := ": still here\n\n"
		if e != nil {
			line = "data: " + string(e.json()) + "\n\n"
			if e.Seq > 0 {
				line = "id: " + strconv.FormatInt(e.Seq, 10) + "\n" + line
			}
		}
		if _, err := io.WriteString(w, line); err != nil {
			return err
		}
		return connection.Flush()
	}
	welcome := event{Type: "welcome", User: p.ID, Stream: name, Key: s.key, Agents: c.config.Agents}
	_ = now.write(ctx, welcome, pinging/2, send)
	var why *refusal
	if errors.As(context.Cause(ctx), &why) && why != errSlow { // who would not read it
		last := failure("", why.code, why.text)
		_ = send(&last)
	}
}
