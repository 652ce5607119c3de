package irc_test

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ergochat/irc-go/ircreader"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/irc"
)

// server speaks IRC with the extensions that ngircd does not have, as ircv3.net describes them
// in 2026: capability-negotiation 302, sasl 3.1, message-tags, account-tag, account-notify,
// extended-join, multi-prefix, echo-message, server-time, batch, draft/chathistory, typing and
// draft/reply. A test says its part line by line.
type server struct {
	t        *testing.T
	caps     string
	password string // of the account; empty means no login
	support  string
	conns    chan *conn
}

type conn struct {
	net.Conn
	*server
	reader *ircreader.Reader
	nick   string
}

// dial is a way to the server without a network.
func (s *server) dial(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	s.conns <- &conn{Conn: far, server: s, reader: ircreader.NewIRCReader(far)}
	return near, nil
}

func (s *server) channel(c irc.Config) *irc.Channel {
	if c.URL == "" {
		c.URL = "irc://localhost"
	}
	c.Nick, c.Dial = "etui", s.dial
	ch, err := irc.New(c)
	if err != nil {
		s.t.Fatal(err)
	}
	return ch
}

func newServer(t *testing.T) *server {
	return &server{t: t, caps: "message-tags account-tag account-notify extended-join echo-message server-time batch draft/chathistory draft/event-playback multi-prefix sts=port=1", support: "CASEMAPPING=ascii", conns: make(chan *conn, 10)}
}

// get reads lines until one begins as is wanted; PINGs are answered.
func (c *conn) get(prefix string) string {
	c.t.Helper()
	for {
		line, err := c.reader.ReadLine()
		if err != nil {
			c.t.Errorf("the channel ended the connection instead of %q: %v", prefix, err)
			return ""
		}
		text := string(line)
		if token, ok := strings.CutPrefix(text, "PING "); ok {
			c.say(":irc.test PONG irc.test " + token)
		}
		if strings.HasPrefix(text, prefix) {
			return text
		}
	}
}

func (c *conn) say(lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(c, "%s\r\n", line)
	}
}

// accept takes the next connection and logs it in.
func (s *server) accept(rooms ...string) *conn {
	s.t.Helper()
	c := <-s.conns
	c.login()
	for _, room := range rooms {
		c.get("JOIN " + room)
		c.say(":etui!~e@host JOIN " + room + " * :etui")
	}
	c.get("PING ")
	return c
}

func (c *conn) login() {
	c.t.Helper()
	c.get("CAP LS 302")
	c.nick = strings.TrimPrefix(c.get("NICK "), "NICK ")
	c.get("USER etui 0 * etui")
	half := strings.Index(c.caps, " ")
	c.say("CAP * LS * :"+c.caps[:half], ":irc.test CAP * LS :"+c.caps[half+1:])
	req := c.get("CAP REQ ")
	c.say(":irc.test CAP * ACK " + strings.TrimPrefix(req, "CAP REQ "))
	if c.password != "" {
		c.get("AUTHENTICATE PLAIN")
		c.say("AUTHENTICATE +")
		if got, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(c.get("AUTHENTICATE "), "AUTHENTICATE ")); string(got) != "\x00bot\x00"+c.password {
			c.say(":irc.test 904 * :SASL authentication failed")
			return
		}
		c.say(":irc.test 900 * * bot :You are now logged in", ":irc.test 903 * :SASL authentication successful")
	}
	c.get("CAP END")
	c.say(":irc.test 001 "+c.nick+" :Welcome", ":irc.test 005 "+c.nick+" CHANTYPES=# PREFIX=(qaohv)~&@%+ CHANMODES=beI,k,l,imnst "+c.support+" :are supported by this server", ":irc.test 422 "+c.nick+" :no MOTD")
}

// in runs a test in a bubble, where waiting takes no time.
func in(t *testing.T, test func(t *testing.T, s *server)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { test(t, newServer(t)) })
}

// sent sends a message, and returns what became of it.
func sent(t *testing.T, c *irc.Channel, chat, text string) chan string {
	out := make(chan string, 1)
	go func() {
		id, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: chat, Message: "theirs"}, Text: text})
		switch {
		case errors.Is(err, channel.ErrGone):
			id = "gone"
		case errors.Is(err, channel.ErrRefused):
			id = "refused"
		case err != nil:
			id = err.Error()
		}
		out <- id
	}()
	return out
}

// TestAccounts: who is logged in has the account as ID, whatever the nick, and gets direct
// messages as long as the nick is logged in.
func TestAccounts(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		s.password = "pässword"
		s.caps += " sasl=EXTERNAL,PLAIN"
		c := s.channel(irc.Config{Rooms: []string{"#etui key"}, Account: "bot", Password: s.password})
		in := runs(t, c)
		conn := s.accept("#etui key")
		conn.say(":irc.test 353 etui = #etui :~&@ann!a@h %+bob etui", "@account=Ann;msgid=m1;time=2026-01-02T03:04:05.678Z :ann|away!a@host PRIVMSG etui :hello", ":ann!a@host PRIVMSG etui :hello", "@account=x/y :ann!a@host PRIVMSG etui :hello",
			"@account=Ann :ann!a@h PRIVMSG #ETUI :etui, one", "@bot :Bob!a@h PRIVMSG #etui :two", ":eve!a@h PRIVMSG #etui :@etui three")
		for _, want := range []string{
			"m1 ann ann 2026 []", " nick/ann nick/ann 1 []", " nick/ann nick/ann 1 []", " ann #etui 1 [administrator founder member operator owner protected]", " nick/bob #etui 1 [halfop member moderator voice]", " nick/eve #etui 1 []",
		} {
			m := in.next(t)
			if got := fmt.Sprint(m.At.Message, " ", m.From.ID, " ", m.At.Chat, " ", m.Time.Year(), " ", m.From.Roles); got != want || m.From.Bot != (m.From.Handle == "Bob") || m.Mentioned != (m.Text == "one" || m.Text == "three") {
				t.Errorf("got  %s\nwant %s: %+v", got, want, m)
			}
		}
		answer := sent(t, c, "ann", "**hi**")
		conn.get("WHOIS ann|away")
		conn.say(":irc.test 311 etui ann|away a host * :Ann", ":irc.test 330 etui ann|away Ann :is logged in as")
		if line := conn.get("@"); line != "@+draft/reply=theirs PRIVMSG ann|away \x02hi\x02" {
			t.Errorf("%q", line)
		}
		conn.say("@msgid=m2 :etui!~e@host PRIVMSG ann|away :\x02hi\x02")
		conn.get("PING ")
		if id := <-answer; id != "m2" {
			t.Errorf("the ID is %s", id)
		}
		answer = sent(t, c, "ann", "a secret") // somebody else has taken the nick
		conn.get("WHOIS ann|away")
		conn.say(":irc.test 311 etui ann|away a host * :Eve", ":irc.test 330 etui ann|away eve :is logged in as")
		conn.get("PING ")
		if id := <-answer; id != "gone" {
			t.Errorf("a message to somebody who is not there: %s", id)
		}
		conn.say("@+draft/reply=m2;account=ann :ann!a@h PRIVMSG #etui :an answer", "@+draft/reply=m1 :ann!a@h PRIVMSG #etui :to others")
		if a, b := in.next(t), in.next(t); !a.Mentioned || b.Mentioned {
			t.Errorf("%+v\n%+v", a, b)
		}
		if err := c.Typing(t.Context(), channel.Address{Chat: "ann"}); err != nil { // messages go first
			t.Error(err)
		}
		time.Sleep(5 * time.Second) // of the bubble
		go func() { _ = c.Typing(t.Context(), channel.Address{Chat: "ann"}) }()
		if line := conn.get("@"); line != "@+typing=active TAGMSG ann|away" {
			t.Errorf("%q", line)
		}
	})
}

// TestLookUp: without account-tag the server is asked, and its answer counts for the address
// that wrote, as long as it is seen.
func TestLookUp(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		s.caps = "multi-prefix extended-join"
		c := s.channel(irc.Config{Rooms: []string{"#etui"}, Pace: time.Millisecond})
		in := runs(t, c)
		conn := s.accept("#etui")
		from := func(source, target, asks, address, want string) {
			t.Helper()
			conn.say(":" + source + " PRIVMSG " + target + " :hi")
			if asks != "" {
				conn.get("WHOIS " + asks)
				conn.say(":irc.test 311 etui "+asks+" "+address+" * :x", ":irc.test 330 etui "+asks+" ann :is logged in as", ":irc.test 318 etui "+asks+" :End")
				conn.get("PING ")
			}
			if m := in.next(t); m.From.ID != want {
				t.Errorf("%s is %s, want %s", source, m.From.ID, want)
			}
		}
		from("Ann!a@h", "etui", "Ann", "a h", "ann")
		from("Ann!a@h", "etui", "Ann", "eve elsewhere", "nick/ann")
		conn.say(":ann!a@h JOIN #etui ann :Ann")
		from("ann!a@h", "#etui", "", "", "ann")
		conn.say(":ann!a@h NICK away")
		from("away!a@h", "#etui", "", "", "ann")
		conn.say(":away!a@h PART #etui")
		from("away!a@h", "#etui", "away", "a h", "ann")
		conn.say(":bob!b@h JOIN #etui * :Bob")
		from("bob!b@h", "#etui", "", "", "nick/bob")
		from("bob!b@h", "#etui", "", "", "nick/bob")
		for range 6 { // minutes of the bubble, in which bob may have logged in
			conn.get("PING")
		}
		from("bob!b@h", "#etui", "bob", "b h", "ann")
	})
}

// TestAway: after an absence a room's history is handed over, once, and nothing that
// nobody asked for.
func TestAway(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		c := s.channel(irc.Config{Rooms: []string{"#etui"}, Pace: time.Millisecond})
		in := make(receiver, 100)
		ended := make(chan error)
		run := func(ctx context.Context) { ended <- c.Run(ctx, in) }
		go run(t.Context())
		conn := s.accept("#etui")
		conn.say(":irc.test BATCH +0 chathistory #etui", "@batch=0;msgid=m0;time=2026-01-02T03:04:04.000Z :ann!a@h PRIVMSG #etui :before we came", ":irc.test BATCH -0",
			"@msgid=m1;time=2026-01-02T03:04:05.678Z :ann!a@h PRIVMSG #etui :one")
		in.next(t)
		conn.Close()
		if err := <-ended; err == nil {
			t.Error("a lost connection is no error")
		}
		ctx, stop := context.WithCancel(t.Context())
		go run(ctx)
		conn = s.accept("#etui")
		if line := conn.get("CHATHISTORY"); line != "CHATHISTORY AFTER #etui timestamp=2026-01-02T03:04:05.678Z 100" {
			t.Errorf("%q", line)
		}
		conn.say(":irc.test BATCH +1 chathistory #etui", "@batch=1;msgid=m1;time=2026-01-02T03:04:05.678Z :ann!a@h PRIVMSG #etui :one",
			"@batch=1;msgid=m2;account=ann;time=2026-01-02T03:05:05.678Z :ann!a@h PRIVMSG #etui :etui: two", "@batch=1;msgid=m3 :etui!a@h PRIVMSG #etui :mine", "@batch=1 :etui!a@h PART #etui", "@batch=1 :ann!a@h NICK :etui", ":irc.test BATCH -1")
		conn.get("PING ")
		conn.say("@msgid=m4 :ann!a@h PRIVMSG #etui :three")
		if a, b := in.next(t), in.next(t); a.Text != "two" || a.From.ID != "ann" || !a.Mentioned || b.Text != "three" {
			t.Errorf("%+v\n%+v", a, b)
		}
		stop()
		conn.get("QUIT")
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if len(in) > 0 {
			t.Errorf("and %+v", <-in)
		}
	})
}

// TestLogin: who cannot log in does not go on without.
func TestLogin(t *testing.T) {
	for name, c := range map[string]struct {
		talk func(c *conn)
		want string // of Run's error
	}{
		"wrong password":    {func(c *conn) { c.password = "another"; c.login() }, "does not accept the account"},
		"no SASL":           {func(c *conn) { c.get("USER"); c.say(":irc.test CAP * LS :batch") }, "no SASL PLAIN"},
		"another mechanism": {func(c *conn) { c.get("USER"); c.say(":irc.test CAP * LS :sasl=EXTERNAL") }, "no SASL PLAIN"},
		"no extensions":     {func(c *conn) { c.get("USER"); c.say(":irc.test 421 * CAP :Unknown", ":irc.test 001 etui :Welcome") }, "no SASL to log in with"},
		"banned":            {func(c *conn) { c.get("USER"); c.say(":irc.test 465 * :You are banned") }, "You are banned"},
		"a bad nick":        {func(c *conn) { c.get("USER"); c.say(":irc.test 432 * etui :Erroneous") }, "does not accept the nick"},
	} {
		t.Run(name, func(t *testing.T) {
			in(t, func(t *testing.T, s *server) {
				s.caps += " sasl"
				channel := s.channel(irc.Config{Account: "bot", Password: "pass"})
				ended := make(chan error)
				go func() { ended <- channel.Run(t.Context(), nil) }()
				conn := <-s.conns
				go func() { _, _ = conn.Read(nil) }()
				c.talk(conn)
				err := <-ended
				if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "pass ") {
					t.Errorf("%v, want %q", err, c.want)
				}
				if got := <-sent(t, channel, "#etui", "hi"); got != "refused" {
					t.Errorf("and Send: %s", got)
				}
			})
		})
	}
}

// TestSilence: a server that says nothing is given up, while logging in and later.
func TestSilence(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		c := s.channel(irc.Config{})
		ended := make(chan error)
		run := func() { ended <- c.Run(t.Context(), nil) }
		listen := func(conn *conn) {
			for {
				if _, err := conn.reader.ReadLine(); err != nil {
					return
				}
			}
		}
		began := time.Now()
		go run()
		go listen(<-s.conns)
		if err := <-ended; err == nil || !strings.Contains(err.Error(), "does not answer") || time.Since(began) != 30*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		go run()
		conn := s.accept()
		began = time.Now()
		go listen(conn)
		if err := <-ended; err == nil || time.Since(began) != 2*time.Minute {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if got := <-sent(t, c, "#etui", "hi"); got != "there is no connection to IRC" {
			t.Errorf("Send: %s", got)
		}
	})
}

// TestPace: four lines are sent at once, and the next when the server has read them, one a
// second. What it refuses has a meaning.
func TestPace(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		c := s.channel(irc.Config{})
		_ = runs(t, c)
		conn := s.accept()
		began := time.Now()
		answer := sent(t, c, "#etui", "1\n2\n3\n4\n5\n6")
		for i, after := range []time.Duration{0, 0, 0, 0, time.Second, 2 * time.Second} {
			want := fmt.Sprintf("PRIVMSG #etui %d", i+1)
			if i == 0 {
				want = "@+draft/reply=theirs " + want
			}
			conn.get(want)
			if got := time.Since(began); got != after {
				t.Errorf("line %d comes after %s, want %s", i+1, got, after)
			}
		}
		conn.get("PING")
		if id := <-answer; !strings.HasPrefix(id, "irc-") {
			t.Errorf("the ID is %s", id)
		}
		for line, want := range map[string]string{
			":irc.test 439 etui #etui :Target change too fast":  "the platform asks to wait for 1m0s: the server says: Target change too fast",
			":irc.test 477 etui #etui :You need to log in":      "gone",
			":irc.test 499 etui #etui :Something else":          "the server says: Something else",
			":irc.test 301 etui #etui :I am away":               "irc-",
			":irc.test 401 etui #other :No such nick":           "irc-",
			"@msgid=x :etui!a@h PRIVMSG #other :another answer": "irc-",
		} {
			answer := sent(t, c, "#etui", "hi")
			conn.get("@")
			conn.say(line)
			conn.get("PING")
			if got := <-answer; !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q", line, got)
			}
		}
	})
}

// TestTLS: a certificate that nobody vouches for is refused.
func TestTLS(t *testing.T) {
	web := httptest.NewTLSServer(nil) // for its certificate
	defer web.Close()
	s := newServer(t)
	for name, c := range map[string]irc.Config{"its own": {URL: "ircs://example.com", TLS: &tls.Config{RootCAs: web.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs}}, "a strange one": {URL: "ircs://example.com"}} {
		ch := s.channel(c)
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- ch.Run(ctx, nil) }()
		plain := <-s.conns
		secured := tls.Server(plain, web.TLS)
		conn := &conn{Conn: secured, server: s, reader: ircreader.NewIRCReader(secured)}
		if name == "its own" {
			conn.login()
			conn.get("PING")
			stop()
			conn.get("QUIT")
			secured.Close()
		} else {
			_ = secured.Handshake()
		}
		if err := <-ended; (err == nil) != (name == "its own") {
			t.Errorf("%s: %v", name, err)
		}
		stop()
		plain.Close()
	}
}

func TestConfig(t *testing.T) {
	for want, c := range map[string]irc.Config{
		"URL of an IRC server": {URL: "https://irc.example.com", Nick: "etui"},
		"nick \"a b\"":         {URL: "ircs://irc.example.com", Nick: "a b"},
		"over TLS only":        {URL: "irc://irc.example.com", Nick: "etui", Password: "secret"},
		"line break":           {URL: "ircs://irc.example.com", Nick: "etui", Password: "secret\r\nJOIN #a"},
		"room \"#a,#b\"":       {URL: "ircs://irc.example.com", Nick: "etui", Rooms: []string{"#a,#b"}},
		"room \"bob\"":         {URL: "ircs://irc.example.com", Nick: "etui", Rooms: []string{"bob"}},
		"room \"#a\"":          {URL: "ircs://irc.example.com", Nick: "etui", Rooms: []string{"#a k\r\nQUIT"}},
		"50 rooms":             {URL: "ircs://irc.example.com", Nick: "etui", Rooms: slices.Repeat([]string{"#a"}, 51)},
	} {
		if _, err := irc.New(c); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestBotMode: the server learns that the account is a program's, so that other programs leave
// its messages alone.
func TestBotMode(t *testing.T) {
	in(t, func(t *testing.T, s *server) {
		s.support += " BOT=B"
		_ = runs(t, s.channel(irc.Config{}))
		conn := <-s.conns
		conn.login()
		if line := conn.get(""); !strings.HasPrefix(line, "MODE ") {
			t.Errorf("after the login comes %q", line)
		} else if line != "MODE etui +B" {
			t.Errorf("%q", line)
		}
		conn.get("PING ")
	})
}
