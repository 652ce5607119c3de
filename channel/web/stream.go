package web

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// streamTime is how long a stream lives that nobody fetches: before the first time, and
// between two.
const streamTime = 15 * time.Second

// stream is a connection by server-sent events: the client posts a hello, fetches the events
// and posts what the person says. Only the client knows its name and its key. The name is a
// part of addresses, which logs keep, so it takes the key to speak.
type stream struct {
	*talk
	name    string
	key     string
	person  person
	since   int64
	release func()

	mu     sync.Mutex
	window *window // nil while nobody fetches it
	unread *time.Timer
	life   *time.Timer
}

// end ends a stream and takes back what it holds. The caller has taken it out of the map.
func (s *stream) end() {
	s.mu.Lock()
	w := s.window
	s.unread.Stop()
	s.life.Stop()
	s.mu.Unlock()
	if w != nil {
		w.end(errStopping)
	}
	s.release()
	s.close(s.talk)
}

// drop ends a stream if it is still there.
func (c *Channel) drop(name string) {
	c.mu.Lock()
	s := c.streams[name]
	delete(c.streams, name)
	c.mu.Unlock()
	if s != nil {
		s.end()
	}
}

func (c *Channel) stream(name string) *stream {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.streams[name]
}

// post takes a hello, or for a stream what the person says.
func (c *Channel) post(w http.ResponseWriter, r *http.Request) {
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
	case s == nil:
		c.greet(w, r, in)
	case subtle.ConstantTimeCompare([]byte(in.Key), []byte(s.key)) != 1:
		refuse(w, errStream)
	case !c.pace(s.person.ID).Allow():
		refuse(w, errFast)
	default:
		said, status := s.say(ctx, s.person, in)
		answer(w, status, said)
	}
}

// greet begins a stream.
func (c *Channel) greet(w http.ResponseWriter, r *http.Request, hello request) {
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
	s := &stream{talk: c.open(p.ID), name: rand.Text(), key: rand.Text(), person: p, since: hello.Since, release: release}
	s.unread = time.AfterFunc(streamTime, func() { c.drop(s.name) })
	s.life = time.AfterFunc(time.Until(p.until), func() { c.drop(s.name) })
	c.mu.Lock()
	running := c.in != nil
	if running {
		c.streams[s.name] = s
	}
	c.mu.Unlock()
	if !running {
		s.end()
		refuse(w, errStopping)
		return
	}
	answer(w, http.StatusOK, event{Type: "welcome", User: p.ID, Stream: s.name, Key: s.key})
}

// events sends the events of a stream. Fetched again, it goes on after Last-Event-ID; who
// fetched it before gets no more.
func (c *Channel) events(life context.Context, w http.ResponseWriter, r *http.Request) {
	s := c.stream(r.URL.Query().Get("stream"))
	if s == nil {
		refuse(w, errStream)
		return
	}
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	defer context.AfterFunc(life, func() { end(errStopping) })()
	since := s.since
	if seen, err := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64); err == nil && seen > 0 {
		since = seen
	}
	now := newWindow(end)
	if err := s.enter(ctx, now, since); err != nil {
		c.log.WarnContext(ctx, "a chat could not be read", "chat", s.id, "error", err)
		refuse(w, errAgain)
		return
	}
	defer s.leave(now)
	s.fetched(now)
	defer s.left(now)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no") // nginx
	connection := http.NewResponseController(w)
	_ = now.write(ctx, s.person.ID, pinging/2, func(e *event) error {
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
	})
}

// fetched notes who gets the events.
func (s *stream) fetched(now *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.window != nil {
		s.window.end(errStream)
	}
	s.window = now
	s.unread.Stop()
}

// left notes that nobody does any more.
func (s *stream) left(now *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.window == now {
		s.window = nil
		s.unread.Reset(streamTime)
	}
}
