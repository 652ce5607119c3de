// Package email connects a mailbox: IMAP brings what people write, and answers leave by SMTP.
//
// The address in a mail's From proves nothing by itself. So a mail counts as its writer's only
// if the receiving server says, in its Authentication-Results, that the domain of the address has
// signed or sent it. All others are left unread, or come from the ID unproven/ADDRESS.
//
// A mail is marked as read when it has been handed over, and not before: what arrives while
// nobody looks, or while it cannot be stored, is handed over later. The mailbox is for the
// agent alone: mail that somebody else has read is not answered.
package email

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/mail"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-imap/v2"
	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/extension"
	"golang.org/x/time/rate"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/recent"
)

const (
	// maxMail is how many bytes of a mail are read: a file of 20 MB takes 28 in it. What
	// is cut off has no bytes.
	maxMail = 28 << 20
	// maxFile is how many bytes of files are sent with a mail; most servers take 25 MB in all.
	maxFile = 15 << 20
	// oldest is how far back unread mail is answered.
	oldest = 7 * 24 * time.Hour
	// remembered bounds each memory of mails and addresses.
	remembered = 2000
	// maxSending is how many mails leave at once. Others wait.
	maxSending = 4
	// step bounds each exchange with a server, and transfer one that carries a mail.
	step, transfer = time.Minute, 5 * time.Minute
	// longest is how many bytes an address may have: it is a part of IDs.
	longest = 180
)

// Config is what a channel needs to know.
type Config struct {
	// IMAP is where mail arrives: imaps://imap.example.org, with the mailbox as path if it is
	// not INBOX. With imap the connection is encrypted by STARTTLS, except to this machine.
	IMAP string
	// SMTP takes what is sent: smtps://smtp.example.org, or smtp with STARTTLS, except to
	// this machine. The ports are 993, 143, 465 and 587 unless the URLs name others.
	SMTP string
	// Address is the agent's own, also with a name: Helper <helper@example.org>.
	Address string
	// User and Password log in to both servers. Empty User means the address; empty Password
	// means that SMTP needs none.
	User, Password string
	// AuthServ is the name that the receiving server writes at the beginning of its
	// Authentication-Results: mx.example.org. Empty means that no mail is proven.
	AuthServ string
	// Unproven also takes mail that nothing proves. Its senders have the ID unproven/ADDRESS.
	Unproven bool
	// PerHour is how many mails of one address are taken in an hour that answer others; 0 means 20. Of
	// all mails it is five times as many. Those beyond it stay unread, so that two programs that answer
	// each other come to an end.
	PerHour int
	// Poll is how often the server is asked for mail that it has not announced; 0 means a
	// minute.
	Poll time.Duration
	// TLS is for servers with certificates of their own; nil trusts what the machine trusts.
	TLS *tls.Config
	// Version is the program's, which servers may want to know; empty means none.
	Version string
	// Dial makes connections; nil means that of the package net.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Log takes what operators should know; nil discards it.
	Log *slog.Logger
}

// Channel is a mailbox. It is safe for concurrent use.
type Channel struct {
	config    Config
	in, out   server
	mailbox   string
	self      *mail.Address
	markdown  goldmark.Markdown // as HTML
	log       *slog.Logger
	rates     *recent.Cache[string, *rate.Limiter]
	taken     *recent.Cache[string, struct{}] // IDs of mails that were handed over
	originals *recent.Cache[string, original] // what is answered, by ID
	echoes    *recent.Cache[string, echo]     // by address
	places    chan struct{}                   // one for each mail on its way
	mu        sync.Mutex
	validity  uint32   // of the mailbox's UIDs
	next      imap.UID // the first one that was not looked at
}

var (
	_ channel.Channel = (*Channel)(nil)
	_ channel.Prober  = (*Channel)(nil)
)

// server is where a server is, and how it is reached.
type server struct {
	name, address string
	tls           bool // from the first byte
	open          bool // not encrypted: it is this machine
}

// New checks a configuration and connects to nothing.
func New(c Config) (*Channel, error) {
	in, path, err := parseServer(c.IMAP, "imap", "143", "993")
	if err != nil {
		return nil, err
	}
	out, rest, err := parseServer(c.SMTP, "smtp", "587", "465")
	if err != nil {
		return nil, err
	}
	self, err := mail.ParseAddress(c.Address)
	switch {
	case err != nil || !validAddress(self.Address):
		return nil, fmt.Errorf("%q is no mail address: write helper@example.org, or \"Helper <helper@example.org>\"",
			c.Address)
	case rest != "":
		return nil, errors.New("the URL of the SMTP server has a path, which means nothing")
	case c.AuthServ == "" && !c.Unproven:
		return nil, errors.New("nothing proves who has written a mail: name the server that checks it (authserv_id: the first word of the Authentication-Results in a mail that has arrived), or say unproven: true")
	case strings.ContainsAny(c.User+c.Password, "\x00\r\n"):
		return nil, errors.New("the user or password of the mailbox has a line break in it")
	case c.PerHour < 0 || c.Poll < 0:
		return nil, errors.New("the number of mails an hour and the time between looks must not be negative")
	}
	c.User, c.PerHour, c.Poll = cmp.Or(c.User, self.Address), cmp.Or(c.PerHour, 20), cmp.Or(c.Poll, time.Minute)
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: step}).DialContext
	}
	return &Channel{
		config: c, in: in, out: out, mailbox: cmp.Or(path, "INBOX"), self: self, log: platform.Log(c.Log),
		markdown: markup.HTML(`rel="noreferrer"`, extension.Linkify),
		rates:    recent.New[string, *rate.Limiter](remembered), taken: recent.New[string, struct{}](remembered),
		originals: recent.New[string, original](remembered), echoes: recent.New[string,
			echo](remembered), places: make(chan struct{}, maxSending),
	}, nil
}

// parseServer reads the URL of a server, whose scheme says how it is encrypted.
func parseServer(text, scheme, port, securePort string) (server, string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != scheme && u.Scheme != scheme+"s" || u.Hostname() == "" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return server{}, "", fmt.Errorf("the URL of the %s server is %ss:// and its name, without a user or password",
			strings.ToUpper(scheme), scheme)
	}
	s := server{name: u.Hostname(), tls: u.Scheme != scheme}
	ip := net.ParseIP(s.name)
	s.open = !s.tls && (s.name == "localhost" || ip != nil && ip.IsLoopback())
	if s.tls {
		port = securePort
	}
	s.address = net.JoinHostPort(s.name, cmp.Or(u.Port(), port))
	return s, strings.Trim(u.Path, "/"), nil
}

// Traits implements [channel.Channel]. A mail server that gets a mail twice delivers it twice.
func (c *Channel) Traits() channel.Traits {
	return channel.Traits{Platform: "email", Direct: true, MaxFile: maxFile}
}

// Probe implements [channel.Prober]: it logs in to both servers.
func (c *Channel) Probe(ctx context.Context) (string, error) {
	s, err := c.connect(ctx)
	if err != nil {
		return "", err
	}
	s.close()
	o, err := c.dialSMTP(ctx)
	if err != nil {
		return "", err
	}
	o.quit()
	return c.self.Address + ", at " + c.in.name, nil
}

// dial connects to a server, encrypted if it is so from the first byte.
func (c *Channel) dial(ctx context.Context, s server) (net.Conn, error) {
	conn, err := c.config.Dial(ctx, "tcp", s.address)
	if err != nil || !s.tls {
		return conn, err
	}
	secure := tls.Client(conn, c.tls(s))
	if err := secure.HandshakeContext(ctx); err != nil {
		_ = conn.Close() // it is of no use
		return nil, err
	}
	return secure, nil
}

func (c *Channel) tls(s server) *tls.Config {
	config := c.config.TLS.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.ServerName = cmp.Or(config.ServerName, s.name)
	return config
}

// validAddress reports whether an address can be written as it is, in IDs and to servers.
func validAddress(a string) bool {
	local, domain, ok := strings.Cut(a, "@")
	return ok && local != "" && domain != "" && len(a) <= longest && !strings.ContainsFunc(a, func(r rune) bool {
		return r <= ' ' || r == 0x7f || r == 0xfffd || strings.ContainsRune(`<>"(),:;\[]/`, r)
	}) && !strings.Contains(domain, "@")
}

// unproven begins the IDs of people whose mail nothing proves.
const unproven = "unproven/"
