package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/panics"
)

const (
	helloTime = 30 * time.Second // until a new connection says hello
	pingEvery = 30 * time.Second
	pingTime  = 10 * time.Second // until a ping is answered; then the connection counts as lost
	// maxRenewals is how often a connection is renewed in a row that has brought nothing, or has
	// lasted less than steady; then Run returns, and its caller waits before the next one.
	maxRenewals = 3
	steady      = 10 * time.Second
)

// errRenew ends a connection that Slack wants to be renewed.
var errRenew = errors.New("slack: the connection ends; Slack asks for a new one")

// sockets receives through Socket Mode. Slack renews connections every few hours: that is
// no error.
func (s *session) sockets(ctx context.Context) error {
	for renewals := 0; ; renewals++ {
		begun := time.Now()
		events, err := s.socket(ctx)
		if events > 0 && time.Since(begun) >= steady {
			renewals = 0
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if !errors.Is(err, errRenew) || renewals >= maxRenewals {
			return err
		}
	}
}

// socketURL asks for the address of a new connection. It is a ticket: it belongs into no
// log.
func (c *Channel) socketURL(ctx context.Context) (string, error) {
	var answer struct{ URL string }
	if err := c.call(ctx, c.config.AppToken, "apps.connections.open", nil, &answer); err != nil {
		return "", err
	}
	u, err := url.Parse(answer.URL)
	if err != nil || !strings.HasPrefix(u.Scheme, "ws") {
		return "", errors.New("slack: apps.connections.open gives no WebSocket URL")
	}
	u.Scheme = strings.Replace(u.Scheme, "ws", "http", 1)
	if !c.trusted(u) {
		return "", fmt.Errorf("slack: apps.connections.open leads to %s, which is not Slack", word(u.Host))
	}
	return answer.URL, nil
}

// envelope is a message of Socket Mode.
type envelope struct {
	Type    string
	ID      string `json:"envelope_id"`
	Reason  string
	Payload json.RawMessage
}

// socket receives through one connection and returns how many events it brought.
func (s *session) socket(ctx context.Context) (events int, err error) {
	address, err := s.socketURL(ctx)
	if err != nil {
		return 0, err
	}
	dialing, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	conn, res, err := websocket.Dial(dialing, address, &websocket.DialOptions{HTTPClient: s.client})
	if res != nil && res.Body != nil {
		defer res.Body.Close()
	}
	if err != nil {
		return 0, fmt.Errorf("slack: opening the WebSocket: %w", plain(err))
	}
	conn.SetReadLimit(maxBody)
	open, end := context.WithCancel(ctx)
	defer s.log.DebugContext(ctx, "slack connection ends")
	pings := make(chan struct{})
	defer func() { <-pings }()
	defer end()
	defer func() { _ = conn.CloseNow() }()
	go func() {
		defer panics.Log(s.log, "pinging Slack")
		defer close(pings)
		s.ping(open, conn)
	}()

	greeting, cancelGreeting := context.WithTimeout(open, helloTime)
	defer cancelGreeting()
	for wait := greeting; ; wait = open {
		_, data, err := conn.Read(wait)
		if err != nil {
			return events, fmt.Errorf("slack: the WebSocket has ended: %w", plain(err))
		}
		var e envelope
		if err := json.Unmarshal(data, &e); err != nil {
			s.log.WarnContext(ctx, "slack sent an envelope that is not JSON", "bytes", len(data))
			continue
		}
		switch e.Type {
		case "hello":
			s.log.DebugContext(ctx, "slack connection is open")
			continue
		case "disconnect":
			if e.Reason == "link_disabled" {
				return events, fmt.Errorf("slack: Socket Mode was turned off in the app's settings: %w", channel.ErrRefused)
			}
			return events, errRenew // what is not acknowledged yet arrives again, and is known by then
		}
		if e.ID == "" {
			continue
		}
		events++
		a, err := s.read(e.Type, e.Payload)
		if err != nil {
			s.log.WarnContext(ctx, "slack sent an event that etui cannot read", "type", word(e.Type), "error", err)
		}
		if a == nil {
			s.acknowledge(ctx, conn, e.ID)
			continue
		}
		err = s.start(ctx, a, func(err error) {
			if err != nil {
				s.log.WarnContext(ctx, "a slack message was not taken; Slack sends it again", "error", err)
				return
			}
			s.acknowledge(ctx, conn, e.ID)
		})
		if err != nil {
			return events, err
		}
	}
}

// acknowledge tells Slack that an envelope is safe. If that fails, Slack sends it again.
func (s *session) acknowledge(ctx context.Context, conn *websocket.Conn, id string) {
	ctx, cancel := context.WithTimeout(ctx, pingTime)
	defer cancel()
	text, err := json.Marshal(map[string]string{"envelope_id": id})
	if err == nil {
		err = conn.Write(ctx, websocket.MessageText, text)
	}
	if err != nil {
		s.log.DebugContext(ctx, "slack gets no acknowledgement", "error", plain(err))
	}
}

// ping closes a connection that is dead. The library answers Slack's own pings.
func (s *session) ping(ctx context.Context, conn *websocket.Conn) {
	tick := time.NewTicker(pingEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			asked, cancel := context.WithTimeout(ctx, pingTime)
			err := conn.Ping(asked)
			cancel()
			if err != nil {
				_ = conn.CloseNow() // the reader reports it
				return
			}
		case <-ctx.Done():
			return
		}
	}
}
