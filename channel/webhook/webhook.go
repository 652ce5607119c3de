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
	"sync/atomic"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

const (
	maxFile = 20 << 20
	// maxBody bounds a delivery: base64 makes a file a third longer.
	maxBody = 32 << 20
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
	keys []key
	to   *url.URL // nil if nothing can be sent
	api  *platform.Client
	log  *slog.Logger
	seen *platform.Seen                  // by the IDs of deliveries
	open atomic.Pointer[platform.Intake] // while Run runs
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
	api, err := platform.New(platform.Config{
		Name: "webhook", Usual: "https://localhost", Client: c.Client,
		Limit: maxAnswer, Refusal: refusal, Refusals: refusals,
	})
	if err != nil {
		return nil, err
	}
	ch := &Channel{api: api, log: platform.Log(c.Log), seen: platform.NewSeen()}
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
		ch.to = u
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
	intake := platform.NewIntake("the webhook", c.log, in, c.seen)
	c.open.Store(intake)
	defer intake.Wait()
	defer c.open.CompareAndSwap(intake, nil)
	_ = intake.Serve(ctx) // it ends with ctx
	return nil
}
