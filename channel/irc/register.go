package irc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ergochat/irc-go/ircmsg"
	"github.com/ergochat/irc-go/ircutils"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/printable"
)

const (
	loginTime  = 30 * time.Second // until the server has said everything about itself
	loginLines = 2000             // that it may say until then
)

// wanted are the extensions of IRCv3 that the channel knows what to do with.
var wanted = [...]string{"account-notify", "account-tag", "batch", "draft/chathistory", "chathistory",
	"draft/event-playback", "echo-message", "extended-join", "message-tags", "multi-prefix", "server-time"}

// connect makes a connection and logs in.
func (c *Channel) connect(ctx context.Context) (*session, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, loginTime, errors.New("the IRC server does not answer"))
	defer cancel()
	conn, err := c.config.Dial(ctx, "tcp", c.address)
	if err != nil {
		return nil, fmt.Errorf("connecting to the IRC server: %w", err)
	}
	if c.secure {
		config := &tls.Config{MinVersion: tls.VersionTLS12}
		if c.config.TLS != nil {
			config = c.config.TLS.Clone()
		}
		if config.ServerName == "" {
			config.ServerName = c.host
		}
		secured := tls.Client(conn, config)
		if err := secured.HandshakeContext(ctx); err != nil {
			_ = conn.Close()
			return nil, fmt.Errorf("connecting to the IRC server with TLS: %w", err)
		}
		conn = secured
	}
	s := newSession(c, conn)
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = s.register()
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		_ = conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("logging in to the IRC server: %w", err)
	}
	return s, nil
}

// register says who we are, and reads until the server has said what it can do.
func (s *session) register() error {
	c := s.c
	if err := s.say("CAP", "LS", "302"); err != nil {
		return err
	}
	if c.config.ServerPassword != "" {
		if err := s.say("PASS", c.config.ServerPassword); err != nil {
			return err
		}
	}
	s.nick = c.config.Nick
	if err := errors.Join(s.say("NICK", s.nick), s.say("USER", username(s.nick), "0", "*", s.nick)); err != nil {
		return err
	}
	r := registration{session: s, offered: map[string]string{}}
	for range loginLines {
		m, err := s.next()
		if err != nil && r.said != nil {
			return r.said
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		done, err := r.answer(m)
		if done || err != nil {
			return err
		}
	}
	return errors.New("the server says too much before it lets us in")
}

// username is the part before the @ of our address: letters and digits, 9 at most.
func username(nick string) string {
	name := strings.Map(func(r rune) rune {
		if r < 0x80 && validNick(string(r)) && !strings.ContainsRune("[]{}\\|^`", r) {
			return r
		}
		return -1
	}, nick)
	if name == "" {
		return "etui"
	}
	return name[:min(len(name), 9)]
}

// registration is what is known while we log in.
type registration struct {
	*session
	offered  map[string]string
	tried    int   // nicks that others have
	loggedIn bool  // to the services
	said     error // ERROR, after which the server closes the connection
}

// answer answers a line of the server; done means that we are in.
func (r *registration) answer(m ircmsg.Message) (done bool, err error) {
	text := ""
	if n := len(m.Params); n > 0 {
		text = printable.Line(m.Params[n-1], 200)
	}
	switch m.Command {
	case "PING":
		return false, r.say("PONG", m.Params...)
	case "ERROR":
		r.said = fmt.Errorf("the server says: %s", text)
		if strings.Contains(strings.ToLower(text), "password") { // some send no number
			return false, fmt.Errorf("%w: %w", r.said, channel.ErrRefused)
		}
	case "CAP":
		return false, r.cap(m)
	case "AUTHENTICATE":
		for _, part := range ircutils.EncodeSASLResponse([]byte("\x00" + r.c.config.Account + "\x00" +
			r.c.config.Password)) {
			if err := r.say("AUTHENTICATE", part); err != nil {
				return false, err
			}
		}
	case "903": // RPL_SASLSUCCESS
		r.loggedIn = true
		return false, r.say("CAP", "END")
	case "902", "904", "905", "906", "908":
		return false, fmt.Errorf("the network does not accept the account or its password: %s: %w", text,
			channel.ErrRefused)
	case "464", "465": // ERR_PASSWDMISMATCH, ERR_YOUREBANNEDCREEP
		return false, fmt.Errorf("the server says: %s: %w", text, channel.ErrRefused)
	case "432": // ERR_ERRONEUSNICKNAME
		if r.tried == 0 {
			return false, fmt.Errorf("the server does not accept the nick %s: %s: %w", r.nick, text, channel.ErrRefused)
		}
		return false, r.another()
	case "433", "436", "437": // in use, collides, not to be had now
		return false, r.another()
	case "001": // RPL_WELCOME
		if r.c.config.Password != "" && !r.loggedIn {
			return false, fmt.Errorf("the server has no SASL to log in with: %w", channel.ErrRefused)
		}
		if len(m.Params) > 0 {
			r.nick = m.Params[0]
		}
	case "376", "422": // the end of the message of the day, or there is none
		return true, nil
	default:
		r.handle(m)
	}
	return false, nil
}

// another asks for a nick like ours.
func (r *registration) another() error {
	r.tried++
	switch nick := r.c.config.Nick; {
	case r.tried > 6:
		return fmt.Errorf("the nick %s and those like it are in use", nick)
	case r.tried > 2:
		r.nick = nick[:min(len(nick), 5)] + strconv.Itoa(1000+rand.IntN(9000))
	default:
		r.nick = nick + strings.Repeat("_", r.tried)
	}
	return r.say("NICK", r.nick)
}

// cap takes what the server offers and confirms.
func (r *registration) cap(m ircmsg.Message) error {
	if len(m.Params) < 3 {
		return nil
	}
	names := strings.Fields(m.Params[len(m.Params)-1])
	switch m.Params[1] {
	case "LS":
		for _, name := range names[:min(len(names), 200)] {
			name, value, _ := strings.Cut(name, "=")
			r.offered[name] = value
		}
		if m.Params[2] == "*" && len(m.Params) > 3 { // more follows
			return nil
		}
		want := slices.DeleteFunc(slices.Clone(wanted[:]),
			func(name string) bool { _, ok := r.offered[name]; return !ok })
		if r.c.config.Password != "" {
			if ways, ok := r.offered["sasl"]; !ok || ways != "" && !slices.Contains(strings.Split(ways, ","), "PLAIN") {
				return fmt.Errorf("the server has no SASL PLAIN to log in with: %w", channel.ErrRefused)
			}
			want = append(want, "sasl")
		}
		if len(want) == 0 {
			return r.say("CAP", "END")
		}
		return r.say("CAP", "REQ", strings.Join(want, " "))
	case "ACK":
		for _, name := range names {
			r.caps[name] = true
		}
		if r.caps["sasl"] {
			return r.say("AUTHENTICATE", "PLAIN")
		}
		return r.say("CAP", "END")
	case "NAK":
		if r.c.config.Password != "" {
			return errors.New("the server takes back what it offered: " +
				strings.Join(slices.Sorted(maps.Keys(r.offered)), " "))
		}
		return r.say("CAP", "END")
	}
	return nil
}
