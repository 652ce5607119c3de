// Package irc connects an account on an IRC network: channels and direct messages, over TLS,
// logged in with SASL, with the extensions of IRCv3 that the server has.
//
// IRC delivers a message once, and only to who is connected. So the channel hands a message
// over several times if it has to, and asks the server for what was said in its rooms
// while it was away, where the server keeps that.
//
// A person who is logged in to the network's services has the account as ID: ann. A nick alone
// proves nothing: its ID is nick/ann, and both are lower-case. Direct messages to an account
// go to its nick after the server has said that the nick is still logged in to it.
package irc

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

const (
	maxRooms = 50
	burst    = 4    // lines that are sent at once, and that the server has not read yet
	maxText  = 2000 // bytes of a message; see cost
	// connecting is how long Send waits for a connection.
	connecting = 10 * time.Second
	remembered = 1000 // messages and accounts of which the channel knows where they came from
)

// Config is what a channel needs to know.
type Config struct {
	// URL is the server: ircs://irc.libera.chat, with port 6697 unless it names one. With irc
	// the connection is open to everyone on its way; its port is 6667.
	URL string
	// Nick is the name in rooms. If somebody has it, the channel takes one like it until
	// it is free.
	Nick string
	// Account and Password log in to the network's services; empty Account means Nick, and
	// empty Password no login. A password is sent over TLS, or to this machine, only.
	Account, Password string
	// ServerPassword is what some private servers ask for; empty means none.
	ServerPassword string
	// Rooms are the channels to join, 50 at most: "#etui", or "#etui key".
	Rooms []string
	// Pace is the time between lines after the first 4; 0 means a second.
	Pace time.Duration
	// TLS is for servers with certificates of their own; nil trusts what the machine trusts.
	TLS *tls.Config
	// Dial makes connections; nil means that of the package net.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log takes what operators should know; nil discards it.
	Log *slog.Logger
}

// Channel is an account on a network. It is safe for concurrent use.
type Channel struct {
	config  Config
	host    string
	address string
	secure  bool
	rooms   []room
	log     *slog.Logger
	pace    *rate.Limiter
	nicks   *recent.Cache[string, string]   // of accounts that wrote to us
	mine    *recent.Cache[string, struct{}] // IDs of messages that were sent
	taken   *recent.Cache[string, struct{}] // IDs of messages that were handed over

	mu       sync.Mutex
	session  *session             // nil while there is no connection
	attempts int                  // to connect that failed
	err      error                // why the last one failed
	changed  chan struct{}        // closed when any of these changes
	seen     map[string]time.Time // when something was last said in a room, by the server's clock
}

type room struct{ name, key string }

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Typer   = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
)

// New checks a configuration and connects to nothing.
func New(c Config) (*Channel, error) {
	u, err := url.Parse(c.URL)
	if err != nil || u.Scheme != "ircs" && u.Scheme != "irc" || u.Hostname() == "" || u.User != nil ||
		strings.Trim(u.Path, "/") != "" {
		return nil, errors.New("the URL of an IRC server is ircs:// and its name, with a port if it is not 6697")
	}
	ch := &Channel{
		config: c, host: u.Hostname(), secure: u.Scheme == "ircs", log: platform.Log(c.Log),
		changed: make(chan struct{}), seen: map[string]time.Time{},
	}
	ch.address = net.JoinHostPort(ch.host, cmp.Or(u.Port(), map[bool]string{true: "6697", false: "6667"}[ch.secure]))
	if !validNick(c.Nick) {
		return nil, fmt.Errorf("nick %q is none: it has letters, digits and any of -_[]{}\\|^`, begins with no digit, and has 30 bytes at most", c.Nick)
	}
	if ip := net.ParseIP(ch.host); c.Password+c.ServerPassword != "" && !ch.secure && ch.host != "localhost" &&
		(ip == nil || !ip.IsLoopback()) {
		return nil, errors.New("a password is sent over TLS only: begin the URL of the IRC server with ircs://")
	}
	if strings.ContainsAny(c.Account+c.Password+c.ServerPassword, "\x00\r\n") {
		return nil, errors.New("the account or password for IRC has a line break in it")
	}
	if len(c.Rooms) > maxRooms {
		return nil, fmt.Errorf("an IRC account joins %d rooms at most, not %d", maxRooms, len(c.Rooms))
	}
	for _, r := range c.Rooms {
		name, key, _ := strings.Cut(strings.TrimSpace(r), " ")
		if name == "" || !strings.ContainsAny(name[:1], "#&+!") || !validRoom(name) ||
			strings.ContainsAny(key, " ,\x00\r\n:") {
			return nil, fmt.Errorf("room %q is none: write \"#name\", or \"#name key\"", name)
		}
		ch.rooms = append(ch.rooms, room{name, key})
	}
	ch.config.Account = cmp.Or(c.Account, c.Nick)
	if c.Dial == nil {
		ch.config.Dial = (&net.Dialer{}).DialContext
	}
	ch.pace = rate.NewLimiter(rate.Every(cmp.Or(c.Pace, time.Second)), burst)
	ch.nicks, ch.mine, ch.taken = recent.New[string, string](remembered), recent.New[string, struct{}](remembered),
		recent.New[string, struct{}](remembered)
	return ch, nil
}

// Traits implements [channel.Channel].
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: "irc", Local: true, MaxText: maxText, Length: cost, MaxCode: 12}
}

// cost measures a text by how long it takes to send: in bytes, but a short line takes as
// long as one of 100. So a message has 20 lines at most.
func cost(text string) int {
	n := 0
	for line := range strings.Lines(text) {
		n += max(len(line), 100)
	}
	return n
}

// Run connects and hands over what people write, until ctx ends or the connection does.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s, err := c.connect(ctx)
	if err == nil {
		err = s.run(ctx, in)
	} else {
		c.lost(nil, err)
	}
	if ctx.Err() == nil {
		return err
	}
	return nil
}

// found makes a session known to Send.
func (c *Channel) found(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s.over {
		return
	}
	c.session, c.err = s, nil
	close(c.changed)
	c.changed = make(chan struct{})
}

// lost makes Send wait for another session.
func (c *Channel) lost(s *session, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if s != nil {
		s.over = true
	}
	c.session, c.err = nil, err
	c.attempts++
	close(c.changed)
	c.changed = make(chan struct{})
}

// connected waits for a session: until one is there or an attempt to connect has failed.
func (c *Channel) connected(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, connecting, errors.New("there is no connection to IRC"))
	defer cancel()
	for first := -1; ; {
		c.mu.Lock()
		s, attempts, err, changed := c.session, c.attempts, c.err, c.changed
		c.mu.Unlock()
		if first < 0 {
			first = attempts
		}
		if s != nil {
			return s, nil
		}
		if attempts > first || errors.Is(err, channel.ErrRefused) {
			return nil, err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// Send sends a message as lines, and returns when the server has read them.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	s, err := c.connected(ctx)
	if err != nil {
		return "", err
	}
	id, err := s.send(ctx, m)
	if err != nil {
		return "", err
	}
	if id == "" {
		id = unique()
	} else {
		c.mine.Put(id, struct{}{})
	}
	return id, nil
}

// unique makes an ID for a message to which the server gave none.
func unique() string { return "irc-" + rand.Text() }

// Typing implements [channel.Typer], where the server passes it on. It takes no place
// from messages.
func (c *Channel) Typing(_ context.Context, to channel.Address) error {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	return s.typing(to)
}

// Probe implements [channel.Prober]. Without a connection it makes one for the moment.
func (c *Channel) Probe(ctx context.Context) (string, error) {
	c.mu.Lock()
	s := c.session
	c.mu.Unlock()
	if s == nil {
		var err error
		if s, err = c.connect(ctx); err != nil {
			return "", err
		}
		defer s.quit()
	} else if err := s.exchange(ctx, nil, nil); err != nil {
		return "", err
	}
	account := s.name()
	if c.config.Password != "" {
		account += ", logged in as " + c.config.Account
	}
	return account + ", at " + c.host, nil
}
