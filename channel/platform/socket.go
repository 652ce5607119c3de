package platform

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/internal/panics"
)

const (
	writeTime = 10 * time.Second
	pingEvery = 30 * time.Second
	pingTime  = 10 * time.Second // until a ping is answered; then the connection counts as lost
	// maxRenewals is how often a connection is renewed in a row that has brought nothing, or has
	// lasted less than steady; then the caller waits before the next one.
	maxRenewals = 3
	steady      = 10 * time.Second
)

// ErrRenew ends a connection in whose place a new one comes at once.
var ErrRenew = errors.New("the platform asks for a new connection")

// Renewing receives through one connection after the other, until ctx ends or one ends with
// another error than [ErrRenew]. Connect returns how many events a connection has brought.
func Renewing(ctx context.Context, connect func(ctx context.Context) (events int, err error)) error {
	for renewals := 0; ; renewals++ {
		begun := time.Now()
		events, err := connect(ctx)
		if events > 0 && time.Since(begun) >= steady {
			renewals = 0
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, ErrRenew) || renewals >= maxRenewals {
			return err
		}
	}
}

// Socket is a WebSocket to a platform. One goroutine reads, and any may write.
type Socket struct {
	name string
	conn *websocket.Conn
}

// Dial opens a WebSocket. Its address may be a secret. The headers are those of the
// platform's answer; nil if there was none.
func (c *Client) Dial(ctx context.Context, address string) (*Socket, http.Header, error) {
	ctx, cancel := context.WithTimeout(ctx, CallTime)
	defer cancel()
	conn, res, err := websocket.Dial(ctx, address, &websocket.DialOptions{HTTPClient: c.http})
	var head http.Header
	if res != nil {
		head = res.Header
		if res.Body != nil {
			_ = res.Body.Close()
		}
	}
	if err != nil {
		return nil, head, fmt.Errorf("%s: opening the WebSocket: %w", c.config.Name, Plain(err))
	}
	conn.SetReadLimit(c.config.Limit)
	return &Socket{c.config.Name, conn}, head, nil
}

// Read returns the next message.
func (s *Socket) Read(ctx context.Context) (data []byte, binary bool, err error) {
	kind, data, err := s.conn.Read(ctx)
	if err != nil {
		return nil, false, fmt.Errorf("%s: the WebSocket has ended: %w", s.name, Plain(err))
	}
	return data, kind == websocket.MessageBinary, nil
}

// Write sends a []byte as a binary message, and every other value as JSON.
func (s *Socket) Write(ctx context.Context, message any) error {
	ctx, cancel := context.WithTimeout(ctx, writeTime)
	defer cancel()
	data, binary := message.([]byte)
	kind := websocket.MessageBinary
	var err error
	if !binary {
		kind = websocket.MessageText
		data, err = json.Marshal(message)
	}
	if err == nil {
		err = s.conn.Write(ctx, kind, data)
	}
	if err != nil {
		return fmt.Errorf("%s: writing to the WebSocket: %w", s.name, Plain(err))
	}
	return nil
}

// Close ends the connection at once, without a frame that says why.
func (s *Socket) Close() { _ = s.conn.CloseNow() }

// Watch pings the platform, and closes a connection that is dead. The library answers pings
// itself. End closes the connection.
func (s *Socket) Watch(ctx context.Context, log *slog.Logger) (end func()) {
	ctx, stop := context.WithCancel(ctx)
	var pings sync.WaitGroup
	pings.Go(func() {
		defer panics.Log(log, "pinging "+s.name)
		s.ping(ctx)
	})
	return func() {
		s.Close()
		stop()
		pings.Wait()
	}
}

func (s *Socket) ping(ctx context.Context) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			asked, cancel := context.WithTimeout(ctx, pingTime)
			err := s.conn.Ping(asked)
			cancel()
			if err != nil {
				s.Close() // the reader reports it
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
