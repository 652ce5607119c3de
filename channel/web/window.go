package web

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/internal/panics"
)

const (
	// queued is how many events wait for a slow reader. When there are more, its connection
	// ends; what was missed is sent when it comes back.
	queued = 64
	// helloTime is how long a client may take to say who it is, and frameTime a frame or an
	// event to be sent.
	helloTime, frameTime = 10 * time.Second, 30 * time.Second
	// pinging is how often it is asked whether a client is still there.
	pinging = 30 * time.Second
)

// window is a connection to a chat: a tab, or an app.
type window struct {
	first []event // what it has missed
	queue chan event
	end   context.CancelCauseFunc
}

func newWindow(end context.CancelCauseFunc) *window {
	return &window{queue: make(chan event, queued), end: end}
}

// offer queues an event and never waits.
func (w *window) offer(e event) {
	select {
	case w.queue <- e:
	default:
		if e.Type != "typing" { // which is only a hint
			w.end(errSlow)
		}
	}
}

// slots counts connections.
type slots struct {
	all, guests int
	of          map[string]int // those of a person
	unknown     []*silent      // connections without a hello, the oldest first
}

// silent is a connection that waits for its hello.
type silent struct{ end context.CancelCauseFunc }

// await counts a connection that waits for its hello until release is called. When there are
// too many, the one that has waited for longest ends: a hello comes at once, and whoever says
// nothing must not keep the others out.
func (c *Channel) await(end context.CancelCauseFunc) (release func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, me := &c.slots, &silent{end}
	if s.unknown = append(s.unknown, me); len(s.unknown) > max(c.config.Connections/8, 1) {
		s.unknown[0].end(errBusy)
		s.unknown = slices.Delete(s.unknown, 0, 1)
	}
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		s.unknown = slices.DeleteFunc(s.unknown, func(other *silent) bool { return other == me })
	}
}

// admit counts a connection of a person until release is called, or says that there are too
// many.
func (c *Channel) admit(p person) (release func(), err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, most := &c.slots, c.config.Connections
	add := func(n int) {
		if p.guest() {
			s.guests += n
		}
		s.all += n
		if s.of[p.ID] += n; s.of[p.ID] == 0 {
			delete(s.of, p.ID)
		}
	}
	if s.all >= most || s.of[p.ID] >= perPerson || p.guest() && s.guests > most/2 {
		return nil, errBusy
	}
	add(1)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		add(-1)
	}, nil
}

// who returns who a hello or a question is from.
func (c *Channel) who(hello request, guest *person) (person, error) {
	switch {
	case hello.Token != "":
		return c.verify(hello.Token, time.Now())
	case guest != nil:
		return *guest, nil
	}
	return person{}, errGuest
}

// frame reads what a client sends. Few large ones are read at once.
func (c *Channel) frame(ctx context.Context, r io.Reader) ([]byte, error) {
	body, err := io.ReadAll(io.LimitReader(r, maxSmall+1))
	if err != nil || len(body) <= maxSmall {
		return body, err
	}
	select {
	case c.larges <- struct{}{}:
		defer func() { <-c.larges }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	rest, err := io.ReadAll(r)
	return append(body, rest...), err
}

// socket serves a WebSocket.
func (c *Channel) socket(life context.Context, w http.ResponseWriter, r *http.Request) {
	ctx, end := context.WithCancelCause(r.Context())
	defer end(nil)
	release := c.await(end)
	defer release()
	var guest *person
	if c.config.Guests && r.URL.Query().Has("guest") {
		p, err := c.guest(w, r, time.Now())
		if err != nil {
			refuse(w, err)
			return
		}
		guest = &p
	}
	// The origin was checked before, and more strictly.
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(maxSmall)
	defer context.AfterFunc(life, func() { end(errStopping) })()
	p, since, err := c.greeted(ctx, ws, guest)
	release()
	p.Language = r.Header.Get("Accept-Language")
	if err == nil {
		err = c.stay(ctx, end, ws, p, since)
	}
	goodbye(ws, err)
}

// goodbye says why a connection ends, if the client is to know.
func goodbye(ws *websocket.Conn, why error) {
	var r *refusal
	if !errors.As(why, &r) || r == errSlow { // who would not read it
		return
	}
	last, done := context.WithTimeout(context.Background(), time.Second)
	defer done()
	if ws.Write(last, websocket.MessageText, failure("", r.code, r.text).json()) == nil {
		_ = ws.Close(r.close, r.code) // the client may have gone
	}
}

// greeted waits for the hello. When ctx ends before it comes, the client learns why.
func (c *Channel) greeted(ctx context.Context, ws *websocket.Conn, guest *person) (p person, since int64, err error) {
	// A context that ends breaks the connection, so that nothing can be told any more.
	soon, done := context.WithTimeout(context.WithoutCancel(ctx), helloTime)
	defer done()
	defer context.AfterFunc(ctx, func() {
		defer panics.Log(c.log, "ending a connection without a hello")
		var why *refusal
		if errors.As(context.Cause(ctx), &why) { // a client that says nothing perhaps reads nothing, so nobody waits for it
			_ = ws.Write(soon, websocket.MessageText, failure("", why.code, why.text).json())
		}
		_ = ws.CloseNow()
	})()
	_, body, err := ws.Read(soon)
	if err != nil {
		return p, 0, err
	}
	hello, err := decode(body)
	if err == nil && hello.Type != "hello" {
		err = errBad
	}
	if err == nil {
		p, err = c.who(hello, guest)
	}
	return p, hello.Since, err
}

// stay serves a person until one side ends the connection, and returns why it has ended.
func (c *Channel) stay(ctx context.Context, end context.CancelCauseFunc, ws *websocket.Conn, p person,
	since int64) error {
	release, err := c.admit(p)
	if err != nil {
		return err
	}
	defer release()
	t := c.open(p.ID)
	defer c.close(t)
	w := newWindow(end)
	if err := t.enter(ctx, w, since); err != nil {
		c.log.WarnContext(ctx, "a chat could not be read", "chat", t.id, "error", err)
		return errAgain
	}
	defer t.leave(w)
	if !p.guest() {
		ws.SetReadLimit(maxLarge)
	}
	defer time.AfterFunc(time.Until(p.until), func() { end(errExpired) }).Stop()
	// A context that ends breaks the connection. So that the client can learn why, reading and
	// writing have one of their own.
	open := context.WithoutCancel(ctx)
	var parts panics.Group
	parts.Go(func() {
		defer end(nil)
		end(c.listen(ctx, open, t, w, ws, p))
	})
	parts.Go(func() {
		defer end(nil)
		end(w.write(ctx, event{Type: "welcome", User: p.ID, Agents: c.config.Agents}, pinging, func(e *event) error {
			within, done := context.WithTimeout(open, frameTime)
			defer done()
			if e == nil {
				return ws.Ping(within)
			}
			return ws.Write(within, websocket.MessageText, e.json())
		}))
	})
	<-ctx.Done()
	goodbye(ws, context.Cause(ctx))
	_ = ws.CloseNow()
	parts.Wait()
	return nil // the client knows
}

// listen takes what a person says until the connection ends.
func (c *Channel) listen(ctx, open context.Context, t *talk, w *window, ws *websocket.Conn, p person) error {
	pace := c.pace(p.ID)
	for {
		if err := pace.Wait(ctx); err != nil {
			return err
		}
		_, reader, err := ws.Reader(open)
		if err != nil {
			return err
		}
		late := time.AfterFunc(frameTime, func() { w.end(errSlow) })
		body, err := c.frame(ctx, reader)
		late.Stop()
		if err != nil {
			return err
		}
		r, err := decode(body)
		if err != nil || r.Type != "say" {
			return errBad
		}
		said, _ := t.say(ctx, p, r)
		w.offer(said)
	}
}

// write sends events until ctx ends or send fails: first the welcome, then what was missed,
// then what comes. After a pause without events it sends nil.
func (w *window) write(ctx context.Context, welcome event, pause time.Duration, send func(*event) error) error {
	welcome.Missed = len(w.first)
	if err := send(&welcome); err != nil {
		return err
	}
	for _, e := range w.first {
		if err := send(&e); err != nil {
			return err
		}
	}
	w.first = nil
	idle := time.NewTicker(pause)
	defer idle.Stop()
	for {
		select {
		case e := <-w.queue:
			if err := send(&e); err != nil {
				return err
			}
		case <-idle.C:
			if err := send(nil); err != nil {
				return err
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}
