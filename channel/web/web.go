// Package web is a chat for web pages and apps. They connect to the gateway itself: by
// WebSocket, or by server-sent events and POST where a network lets no WebSocket through.
// docs/channels/web.md has the protocol.
//
// A person is whoever a token of the site's backend names, or a guest with a random cookie.
// Everybody has one chat, in as many windows as they like. What was said is stored, so that
// a message for somebody who is away arrives when they come back.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/internal/origin"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/store"
)

const (
	// maxText is how long one message of the agent is, in characters.
	maxText = 16_000
	// minSecret is how short a secret may be: RFC 7518 wants as much as the hash has.
	minSecret = 32
	// connections is how many there are at once by default, perPerson of one person.
	// Beyond that, the next one is refused.
	connections, perPerson = 1000, 8
	// tidying is how often chats of long ago are looked for.
	tidying = time.Hour
)

// Config is what a channel needs to know.
type Config struct {
	// Name is the account's: chats are stored under it.
	Name string
	// Secrets sign the tokens of the site's backend: any of them counts. Each has at least 32
	// bytes. None means that there are no tokens.
	Secrets []string
	// Guests lets people in without a token.
	Guests bool
	// Origins are the sites whose pages may connect, as in https://shop.example.com. None
	// means that only programs that are no browsers can.
	Origins []string
	// Page serves a ready chat page to browsers that open the channel's address. It may connect
	// like the page of a site in Origins, and these may frame it.
	Page bool
	// Calls says who is shown the calls of tools, with their arguments and results: [CallsPeople], which
	// is the default, [CallsAll] or [CallsNone].
	Calls string
	// Agents are those among which people choose; none leaves it to the account's bindings.
	Agents []string
	// Connections is how many there are at once; 0 means 1000. Guests have at most half of
	// them. Beside them, an eighth wait for those who have not said who they are; of more, the one
	// that has waited for longest ends.
	Connections int
	// Records keeps the chats; nil keeps them in memory.
	Records store.Records
	// Log takes what operators should know; nil discards it.
	Log *slog.Logger
}

// Channel is a chat on web pages. It is safe for concurrent use.
type Channel struct {
	config  Config
	log     *slog.Logger
	paces   *recent.Cache[string, *rate.Limiter] // of people
	newborn *rate.Limiter                        // of guests without a cookie
	larges  chan struct{}                        // has an element for each large frame that is read
	reading chan struct{}                        // has an element for each file that a client reads

	mu      sync.Mutex
	in      channel.Receiver // nil while Run does not run
	life    context.Context  //nolint:containedctx // of Run
	chats   map[string]*talk // those in use
	streams map[string]*stream
	slots   slots
}

var (
	_ channel.Channel  = (*Channel)(nil)
	_ channel.Editor   = (*Channel)(nil)
	_ channel.Typer    = (*Channel)(nil)
	_ channel.Webhook  = (*Channel)(nil)
	_ channel.Origins  = (*Channel)(nil)
	_ channel.Unfolder = (*Channel)(nil)
)

// New checks a configuration and connects to nothing.
func New(c Config) (*Channel, error) {
	if len(c.Secrets) == 0 && !c.Guests {
		return nil, errors.New("nobody could connect: set secret, with which your backend signs tokens, or guests: true")
	}
	if c.Guests && len(c.Origins) == 0 && !c.Page {
		return nil, errors.New("guests come from pages: list the sites in origins, as in https://shop.example.com, or set page: true for the ready one")
	}
	if c.Calls = cmp.Or(c.Calls, CallsPeople); !slices.Contains([]string{CallsPeople, CallsAll, CallsNone}, c.Calls) {
		return nil, fmt.Errorf("calls is people, all or none, not %q", c.Calls)
	}
	for i, s := range c.Secrets {
		if len(s) < minSecret {
			return nil, fmt.Errorf("secret %d has fewer than %d bytes; make one with: openssl rand -base64 32", i+1,
				minSecret)
		}
	}
	for _, o := range c.Origins {
		if err := origin.Check(o); err != nil {
			return nil, err
		}
	}
	c.Connections, c.Records = cmp.Or(c.Connections, connections), cmp.Or[store.Records](c.Records, &store.Memory{})
	return &Channel{
		config: c, log: platform.Log(c.Log), paces: recent.New[string, *rate.Limiter](remembered),
		newborn: rate.NewLimiter(10, 100), larges: make(chan struct{}, maxLarges),
		reading: make(chan struct{}, maxReading),
		chats:   map[string]*talk{}, streams: map[string]*stream{}, slots: slots{of: map[string]int{}},
	}, nil
}

// AllowsOrigin implements [channel.Origins].
func (c *Channel) AllowsOrigin(origin string) bool {
	return slices.Contains(c.config.Origins, origin)
}

// Traits implements [channel.Channel].
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: "web", Local: true, MaxText: maxText, MaxFile: maxFile, Buttons: true, Direct: true,
		Once: true}
}

// Run lets people connect until ctx ends, and forgets chats of long ago.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	c.mu.Lock()
	c.in, c.life = in, ctx
	c.mu.Unlock()
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.in, c.life = nil, nil
	}()
	again := time.NewTicker(tidying)
	defer again.Stop()
	for {
		if err := c.tidy(ctx, time.Now()); err != nil && ctx.Err() == nil {
			c.log.WarnContext(ctx, "chats of long ago could not be removed", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-again.C:
		}
	}
}

// running returns what Run was given; nil if it does not run.
func (c *Channel) running() (context.Context, channel.Receiver) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.life, c.in
}

// Send stores a message and shows it in the windows that are open. When it returns nil, the
// person sees the message now or later. The chat of a guest whose cookie has ended is gone.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	if !platform.Tidy(m.To.Chat, maxName) {
		return "", fmt.Errorf("%q is no chat: %w", m.To.Chat, channel.ErrGone)
	}
	t := c.open(m.To.Chat)
	defer c.close(t)
	first := ""
	for i, part := range parts(m) {
		id, err := t.add(ctx, part)
		if err != nil {
			return "", err
		}
		if i == 0 {
			first = id
		}
	}
	return first, nil
}

// parts returns a message with its text, and one for each file.
func parts(m channel.Outgoing) (list []message) {
	if m.Text != "" || len(m.Files) == 0 {
		said := message{Text: m.Text, ReplyTo: m.To.Message, Key: m.Key}
		for _, b := range m.Buttons {
			said.Buttons = append(said.Buttons, button(b))
		}
		list = append(list, said)
	}
	for i, f := range m.Files {
		said := message{Key: m.Key, File: &given{printable.Line(f.Name, maxName), f.MediaType, f.Size, f.SHA256}}
		if len(list) > 0 && m.Key != "" {
			said.Key = fmt.Sprintf("%s/%d", m.Key, i)
		}
		list = append(list, said)
	}
	return list
}

// add adds a message of the agent, once for each key.
func (t *talk) add(ctx context.Context, said message) (id string, err error) {
	return id, t.change(ctx, func(r *record) (*message, error) {
		if said.Key != "" {
			if i := slices.IndexFunc(r.Messages, func(old message) bool { return old.Key == said.Key }); i >= 0 {
				id = r.Messages[i].name()
				return nil, nil
			}
		}
		if t.deserted(r) {
			return nil, channel.ErrGone
		}
		said.ID, said.Time = t.next(), time.Now().UTC()
		said.Seq = said.ID
		r.Messages = append(r.Messages, said)
		id = said.name()
		return &said, nil
	})
}

// Edit implements [channel.Editor].
func (c *Channel) Edit(ctx context.Context, to channel.Address, id, text string) error {
	t := c.open(to.Chat)
	defer c.close(t)
	return t.change(ctx, func(r *record) (*message, error) {
		i := slices.IndexFunc(r.Messages, func(old message) bool { return old.name() == id && !old.Mine })
		if i < 0 {
			return nil, fmt.Errorf("there is no message %q any more", id)
		}
		r.Messages[i].Text, r.Messages[i].Seq = text, t.next()
		said := r.Messages[i]
		return &said, nil
	})
}

// Typing implements [channel.Typer]. Those who are away do not learn of it.
func (c *Channel) Typing(_ context.Context, to channel.Address) error {
	t := c.open(to.Chat)
	defer c.close(t)
	t.mu.Lock()
	defer t.mu.Unlock()
	for w := range t.windows {
		w.offer(event{Type: "typing"})
	}
	return nil
}

// name is the ID of a message, for clients and the host.
func (m *message) name() string { return strconv.FormatInt(m.ID, 10) }

// ServeHTTP connects a page or an app.
func (c *Channel) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	origin := r.Header.Get("Origin")
	site := r.Header.Get("Sec-Fetch-Site")
	if c.wantsPage(r) && origin == "" { // its policy says which sites may frame it
		console.ChannelChat(w, r, c.config.Origins)
		return
	}
	w.Header().Add("Vary", "Origin")
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case len(r.Header.Values("Origin")) > 1, origin != "" && !c.AllowsOrigin(origin) &&
		!c.own(origin, r), origin == "" && site != "" && site != "same-origin" && site != "none":
		c.log.DebugContext(r.Context(), "a page of another site was refused", "origin", origin)
		refuse(w, errOrigin)
		return
	case origin != "":
		w.Header().Set("Access-Control-Allow-Origin", origin)
		w.Header().Set("Access-Control-Allow-Credentials", "true")
		w.Header().Set("Access-Control-Expose-Headers", "Retry-After")
	}
	life, in := c.running()
	switch {
	case in == nil:
		refuse(w, errStopping)
	case strings.EqualFold(r.Header.Get("Upgrade"), "websocket"):
		c.socket(life, w, r)
	case r.Method == http.MethodPost:
		c.post(life, w, r)
	default:
		w.Header().Set("Upgrade", "websocket")
		refuse(w, errWay)
	}
}
