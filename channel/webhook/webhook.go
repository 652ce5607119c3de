// Package webhook connects a program of one's own: it posts what people write as JSON, and
// messages of the agent are posted to it. Both directions are signed as the Standard
// Webhooks specification says (version 1.0.0, github.com/standard-webhooks/standard-webhooks).
package webhook

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

const (
	maxFile = 20 << 20
	// maxBody bounds a delivery: base64 makes a file a third longer.
	maxBody = 32 << 20
	// remembered bounds the deliveries of which the channel knows that they were accepted.
	// The oldest is forgotten first; a repetition of it is handed over again, with the
	// same message ID.
	remembered = 10_000
	// sendTime bounds one request to the other program.
	sendTime = 30 * time.Second
)

// Config is what a channel needs to know.
type Config struct {
	// Secrets are what both sides know: whsec_ and base64 of 24 to 64 random bytes. At
	// least one is needed. A delivery may be signed with any of them, and what is sent is
	// signed with all: add the new one on both sides, then remove the old one.
	Secrets []string
	// URL is where messages of the agent are posted. Without one nothing can be sent.
	URL string
	// Client posts them; nil means one with Go's defaults. Redirects are not followed: one would
	// become a GET without the message, or carry it somewhere else.
	Client *http.Client
	// Log takes what operators should know; nil discards it.
	Log *slog.Logger
}

// Channel takes and makes signed requests. It is safe for concurrent use.
type Channel struct {
	keys   []key
	url    string
	client *http.Client
	log    *slog.Logger
	// done has the IDs of accepted deliveries.
	done *recent.Cache[string, struct{}]

	mu   sync.Mutex
	in   channel.Receiver    // nil while Run does not run
	open map[string]struct{} // deliveries that are being handed over; as many as the server has requests
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Webhook = (*Channel)(nil)
)

// New checks a configuration and connects to nothing.
func New(c Config) (*Channel, error) {
	if len(c.Secrets) == 0 {
		return nil, errors.New("a webhook needs a secret: " + makeSecret)
	}
	ch := &Channel{url: c.URL, client: platform.Direct(c.Client), log: c.Log, done: recent.New[string, struct{}](remembered), open: map[string]struct{}{}}
	for i, s := range c.Secrets {
		k, err := parseSecret(s)
		if err != nil {
			return nil, fmt.Errorf("secret %d of the webhook: %w", i+1, err)
		}
		ch.keys = append(ch.keys, k)
	}
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return nil, errors.New("the URL of the webhook is not one: it begins with https:// and a host")
		}
	}
	if ch.log == nil {
		ch.log = slog.New(slog.DiscardHandler)
	}
	return ch, nil
}

// Traits implements [channel.Channel]. Messages with the same key are to be shown once:
// the other program promises it.
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: "webhook", Local: true, MaxFile: maxFile, Buttons: true, Once: true, Pushed: true}
}

// Run lets deliveries in until ctx ends.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	c.receive(in)
	defer c.receive(nil)
	<-ctx.Done()
	return nil
}

func (c *Channel) receive(in channel.Receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.in = in
}
