package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"slices"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/panics"
)

// intents are what the Gateway is to deliver: messages in servers and direct ones, with
// their text. Interactions come anyway.
const intents = 1<<9 | 1<<12 | 1<<15

const (
	helloTime = 30 * time.Second // until a new connection says hello
	// minBeat and maxBeat bound the time between heartbeats that the Gateway may ask for.
	minBeat = 10 * time.Millisecond
	maxBeat = 10 * time.Minute
)

// Opcodes of the Gateway.
const (
	opDispatch       = 0
	opHeartbeat      = 1
	opIdentify       = 2
	opResume         = 6
	opReconnect      = 7
	opInvalidSession = 9
	opHello          = 10
	opAck            = 11
)

// resumable is a session of the Gateway that may go on with another connection. Everything
// up to seq is safe.
type resumable struct {
	id, url string
	seq     int64
}

// frame is a message of the Gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s"`
	Type string          `json:"t"`
}

// parseFrame reads a message of the Gateway.
func parseFrame(data []byte) (frame, error) {
	var f frame
	if err := json.Unmarshal(data, &f); err != nil {
		return frame{}, err
	}
	if f.Seq != nil && *f.Seq < 0 {
		return frame{}, errors.New("its number is negative")
	}
	return f, nil
}

// gateway returns the address for a new session. It is an error if Discord lets the bot
// begin none now.
func (c *Channel) gateway(ctx context.Context, begins bool) (string, error) {
	var answer struct {
		URL   string
		Limit struct {
			Remaining  int
			Total      int
			ResetAfter int64 `json:"reset_after"`
		} `json:"session_start_limit"`
	}
	if err := c.call(ctx, "GET", "gateway/bot", nil, nil, &answer); err != nil {
		return "", err
	}
	if l := answer.Limit; begins && l.Total > 0 && l.Remaining <= 0 {
		after := time.Duration(min(max(l.ResetAfter, 0), (24*time.Hour).Milliseconds())) * time.Millisecond
		return "", &channel.Limited{After: after,
			Err: fmt.Errorf("discord: the bot has begun its %d sessions of today", l.Total)}
	}
	return answer.URL, nil
}

// address checks where the Gateway is said to be, and adds the version.
func (c *Channel) address(at string) (string, error) {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "ws" && u.Scheme != "wss" {
		return "", errors.New("discord: the address of the Gateway is no WebSocket URL")
	}
	if !c.api.Trusts(u, "discord.gg", "discord.com") {
		return "", fmt.Errorf("discord: the Gateway is said to be at %s, which is not Discord", platform.Word(u.Host))
	}
	u.RawQuery = "v=10&encoding=json"
	if u.Path == "" {
		u.Path = "/"
	}
	return u.String(), nil
}

// connection is a WebSocket to the Gateway.
type connection struct {
	*session
	conn     *platform.Socket
	progress *platform.Progress
	acked    atomic.Bool // the last heartbeat was acknowledged
	held     atomic.Bool // the reader waits for messages to be handed over, and cannot see what is acknowledged
	asked    chan struct{}
}

// connect receives through one connection and returns how many events it brought.
func (s *session) connect(ctx context.Context) (events int, err error) {
	at := s.last.url
	if at == "" {
		if at, err = s.gateway(ctx, s.last.id == ""); err != nil {
			return 0, err
		}
	}
	address, err := s.address(at)
	if err != nil {
		s.last.url = ""
		return 0, err
	}
	conn, _, err := s.api.Dial(ctx, address)
	if err != nil {
		s.last.url = "" // the session may go on elsewhere
		return 0, err
	}
	s.log.DebugContext(ctx, "discord connection is open", "resumes", s.last.id != "")
	open, end := context.WithCancelCause(ctx)
	k := &connection{session: s, conn: conn, progress: platform.NewProgress(s.last.seq), asked: make(chan struct{}, 1)}
	// Without a frame that says why: after one, the session could not be resumed.
	defer conn.Close()
	events, err = k.receive(open, end)
	if cause := context.Cause(open); cause != nil && ctx.Err() == nil {
		err = cause
	}
	end(nil)
	k.beats.Wait()
	if s.last.id != "" {
		s.last.seq = k.progress.Safe()
	}
	return events, err
}

// receive reads until the connection ends.
func (k *connection) receive(ctx context.Context, end context.CancelCauseFunc) (events int, err error) {
	greeting, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	hello, err := k.read(greeting)
	if err != nil {
		return 0, err
	}
	var greets struct {
		Interval int64 `json:"heartbeat_interval"`
	}
	if hello.Op != opHello || json.Unmarshal(hello.Data, &greets) != nil || greets.Interval <= 0 {
		return 0, errors.New("discord: the Gateway does not say hello")
	}
	every := min(max(time.Duration(min(greets.Interval, maxBeat.Milliseconds()))*time.Millisecond, minBeat), maxBeat)
	k.acked.Store(true)
	k.beats.Go(func() {
		defer panics.Log(k.log, "keeping the connection to Discord")
		k.beat(ctx, end, every)
	})
	if err := k.begin(ctx); err != nil {
		return 0, err
	}
	for {
		f, err := k.read(ctx)
		if err != nil {
			return events, err
		}
		switch f.Op {
		case opDispatch:
			if f.Type != "READY" && f.Type != "RESUMED" {
				events++
			}
			if err := k.dispatch(ctx, end, f); err != nil {
				return events, err
			}
		case opHeartbeat:
			select {
			case k.asked <- struct{}{}:
			default: // one is due already
			}
		case opAck:
			k.acked.Store(true)
		case opReconnect:
			return events, platform.ErrRenew
		case opInvalidSession:
			goesOn := false
			if err := json.Unmarshal(f.Data, &goesOn); err != nil || !goesOn {
				k.forget()
			}
			return events, platform.ErrRenew
		}
	}
}

// forget gives the session up: the next connection begins a new one.
func (k *connection) forget() {
	if k.last.id != "" {
		k.log.Warn("the Discord session cannot be resumed: what was written meanwhile is lost")
	}
	k.last = resumable{}
}

// read reads a message. What the Gateway says when it closes the connection becomes an
// error.
func (k *connection) read(ctx context.Context) (frame, error) {
	data, _, err := k.conn.Read(ctx)
	if err != nil {
		return frame{}, k.closed(err)
	}
	f, err := parseFrame(data)
	if err != nil {
		k.log.WarnContext(ctx, "discord sent a message that is not as expected, and is left out", "bytes", len(data),
			"error", err)
		return frame{Op: -1}, nil
	}
	return f, nil
}

// closed says what the end of a connection means.
func (k *connection) closed(err error) error {
	var end websocket.CloseError
	if !errors.As(err, &end) {
		return err
	}
	says := fmt.Errorf("discord: the Gateway has closed the connection: %d %s", end.Code, platform.Word(end.Reason))
	refuses := func(why string) error { return fmt.Errorf("%w: %s: %w", says, why, channel.ErrRefused) }
	switch end.Code {
	case 4004:
		k.forget()
		return refuses("it does not accept the token; make a new one in the Developer Portal, on the application's page Bot, behind Reset Token")
	case 4014:
		return fmt.Errorf("%w (%w)", errIntent, says)
	case 4010, 4012, 4013:
		return refuses("this version of etui does not fit")
	case 4011:
		return refuses("the bot is in too many servers for one connection")
	case 4003, 4007, 4009:
		k.forget()
	}
	return fmt.Errorf("%w: %w", platform.ErrRenew, says)
}

func (k *connection) write(ctx context.Context, op int, data any) error {
	return k.conn.Write(ctx, map[string]any{"op": op, "d": data})
}

// begin resumes the session, or begins a new one.
func (k *connection) begin(ctx context.Context) error {
	if k.last.id != "" {
		return k.write(ctx, opResume, map[string]any{"token": k.token, "session_id": k.last.id, "seq": k.last.seq})
	}
	if err := platform.Sleep(ctx, k.between-time.Since(k.identified)); err != nil {
		return err
	}
	k.identified = time.Now()
	return k.write(ctx, opIdentify, map[string]any{
		"token": k.token, "intents": intents,
		"properties": map[string]string{"os": "linux", "browser": "etui", "device": "etui"},
	})
}

// beat sends heartbeats until ctx ends. If one is not acknowledged before the next, the
// connection is dead.
func (k *connection) beat(ctx context.Context, end context.CancelCauseFunc, every time.Duration) {
	timer := time.NewTimer(time.Duration(rand.Float64() * float64(every))) //nolint:gosec // so that not all bots beat at once
	defer timer.Stop()
	for {
		due := true
		select {
		case <-timer.C:
		case <-k.asked:
			due = false
		case <-ctx.Done():
			return
		}
		if due {
			if !k.acked.Swap(false) && !k.held.Load() {
				end(fmt.Errorf("%w: heartbeats are not acknowledged", platform.ErrRenew))
				return
			}
			timer.Reset(every)
		}
		// Discord wants the number of the last event. This is the last one that is safe, so
		// that it cannot forget what may have to come again.
		var seq any
		if n := k.progress.Safe(); n > 0 {
			seq = n
		}
		if err := k.write(ctx, opHeartbeat, seq); err != nil {
			end(err)
			return
		}
	}
}

// dispatch takes an event. One that cannot be read is logged and left out: it would come
// again for ever.
func (k *connection) dispatch(ctx context.Context, end context.CancelCauseFunc, f frame) error {
	var seq int64
	if f.Seq != nil {
		seq = *f.Seq
	}
	done := k.progress.Begin(seq)
	switch f.Type {
	case "READY":
		var ready struct {
			Session string `json:"session_id"`
			URL     string `json:"resume_gateway_url"`
			User    user
			App     struct{ ID string } `json:"application"`
		}
		if err := json.Unmarshal(f.Data, &ready); err != nil || ready.Session == "" || !snowflake(ready.User.ID) ||
			!snowflake(ready.App.ID) {
			return errors.New("discord: the Gateway's READY names no session, user and application")
		}
		k.last = resumable{id: ready.Session, url: ready.URL}
		k.self.Store(&account{ready.App.ID, ready.User.ID, platform.Word(ready.User.Username)})
	case "MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE":
		a, err := k.arrival(f.Type, f.Data)
		if err != nil {
			k.log.WarnContext(ctx, "discord sent an event that etui cannot read", "type", f.Type, "error", err)
		}
		if a == nil {
			break
		}
		k.held.Store(true)
		defer k.held.Store(false)
		return k.Start(ctx, platform.Job{
			Chat:  a.channel,
			Early: func(ctx context.Context) { k.acknowledge(ctx, a) }, // within three seconds
			Take:  func(ctx context.Context) error { return k.take(ctx, a) },
			Done: func(err error) {
				if err == nil {
					done()
					return
				}
				end(fmt.Errorf("discord: a message was not taken and shall come again: %w", err))
			},
		})
	}
	done()
	return nil
}

// kinds are the events that are read.
var kinds = []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "INTERACTION_CREATE"}

// arrival reads an event; nil if there is nothing to hand over.
func (c *Channel) arrival(kind string, data []byte) (*arrival, error) {
	self := c.self.Load()
	if self == nil || !slices.Contains(kinds, kind) {
		return nil, nil
	}
	if kind != "INTERACTION_CREATE" {
		a, err := c.readMessage(self, data)
		if kind == "MESSAGE_UPDATE" && a != nil {
			if a.Edited = true; a.edit == "" {
				return nil, nil // nobody has: Discord has loaded the page of a link
			}
		}
		return a, err
	}
	return c.readInteraction(self, data)
}
