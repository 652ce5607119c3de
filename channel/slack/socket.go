package slack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// helloTime is how long a new connection may take to say hello.
const helloTime = 30 * time.Second

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
	if !c.trusted(u) {
		return "", fmt.Errorf("slack: apps.connections.open leads to %s, which is not Slack", platform.Word(u.Host))
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
	conn, _, err := s.api.Dial(ctx, address)
	if err != nil {
		return 0, err
	}
	defer s.log.DebugContext(ctx, "slack connection ends")
	defer conn.Watch(ctx, s.log)()
	greeting, cancelGreeting := context.WithTimeout(ctx, helloTime)
	defer cancelGreeting()
	for wait := greeting; ; wait = ctx {
		data, _, err := conn.Read(wait)
		if err != nil {
			return events, err
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
				return events, fmt.Errorf("slack: Socket Mode was turned off in the app's settings: %w",
					channel.ErrRefused)
			}
			return events, platform.ErrRenew // Slack renews connections every few hours; what is not acknowledged yet arrives again, and is known by then
		}
		if e.ID == "" {
			continue
		}
		events++
		a, err := s.read(e.Type, e.Payload)
		if err != nil {
			s.log.WarnContext(ctx, "slack sent an event that etui cannot read", "type", platform.Word(e.Type), "error",
				err)
		}
		if a == nil {
			s.acknowledge(ctx, conn, e.ID)
			continue
		}
		err = s.Start(ctx, platform.Job{
			Chat: a.At.Chat,
			Take: func(ctx context.Context) error { return s.take(ctx, a) },
			Done: func(err error) {
				if err == nil {
					s.acknowledge(ctx, conn, e.ID)
				}
			},
		})
		if err != nil {
			return events, err
		}
	}
}

// acknowledge tells Slack that an envelope is safe. If that fails, Slack sends it again.
func (s *session) acknowledge(ctx context.Context, conn *platform.Socket, id string) {
	if err := conn.Write(ctx, map[string]string{"envelope_id": id}); err != nil {
		s.log.DebugContext(ctx, "slack gets no acknowledgement", "error", err)
	}
}
