package irc_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ergochat/irc-go/ircfmt"
	"github.com/ergochat/irc-go/ircmsg"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/irc"
	"github.com/etui-run/etui/internal/leftout"
)

// patience bounds each wait; it is far longer than any of them takes.
const patience = 30 * time.Second

// ngircd starts Debian's IRC server on a socket of ours, and returns its address.
func ngircd(t *testing.T, password string) string {
	t.Helper()
	program := "/usr/sbin/ngircd"
	if _, err := os.Stat(program); err != nil {
		if program, err = exec.LookPath("ngircd"); err != nil {
			leftout.Without(t, "the IRC server ngircd")
		}
	}
	config := filepath.Join(t.TempDir(), "ngircd.conf")
	text := "[Global]\nName=irc.test\nInfo=test\nListen=127.0.0.1\nServerUID=65534\nServerGID=65534\n" +
		"[Options]\nIdent=no\nPAM=no\nDNS=no\n[Limits]\nMaxConnectionsIP=0\nMaxPenaltyTime=0\nMaxNickLength=30\n[Channel]\nName=#test\n"
	if err := os.WriteFile(config, []byte(strings.Replace(text, "Listen", "Password="+password+"\nListen", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	socket, err := listener.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	cmd := exec.Command("/bin/sh", "-c", `LISTEN_PID=$$ LISTEN_FDS=1 exec "$0" -n -f "$1"`, program, config) // it takes a socket as systemd gives it
	var said strings.Builder
	cmd.ExtraFiles, cmd.Stdout, cmd.Stderr = []*os.File{socket}, &said, &said
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	began, ended := make(chan error), make(chan struct{})
	go func() {
		defer close(ended)
		runtime.LockOSThread() // the server ends with the thread that started it
		err := cmd.Start()
		began <- err
		if err == nil {
			_ = cmd.Wait()
		}
	}()
	if err := <-began; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		if t.Failed() {
			t.Log(said.String())
		}
	})
	return listener.Addr().String()
}

// person is somebody at the server.
type person struct {
	nick string
	conn net.Conn

	mu    sync.Mutex
	lines []ircmsg.Message
	more  chan struct{} // closed when a line arrives
	pings int
}

// arrive connects a person, who joins #test.
func arrive(t *testing.T, address, nick string, commands ...string) *person {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	p := &person{nick: nick, conn: conn, more: make(chan struct{})}
	go func() {
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			m, err := ircmsg.ParseLine(lines.Text())
			if err != nil {
				continue
			}
			if m.Command == "PING" {
				fmt.Fprintf(conn, "PONG :%s\r\n", m.Params[0])
			}
			p.mu.Lock()
			p.lines = append(p.lines, m)
			close(p.more)
			p.more = make(chan struct{})
			p.mu.Unlock()
		}
	}()
	p.say("NICK "+nick, "USER "+nick+" 0 * "+nick)
	p.wait(t, "the welcome", func(m ircmsg.Message) bool { return m.Command == "376" || m.Command == "422" })
	p.say(append([]string{"JOIN #test"}, commands...)...)
	p.sync(t)
	return p
}

func (p *person) say(lines ...string) {
	for _, line := range lines {
		fmt.Fprintf(p.conn, "%s\r\n", line)
	}
}

// wait returns the first line that is wanted, of those that came and will come.
func (p *person) wait(t *testing.T, what string, wanted func(ircmsg.Message) bool) ircmsg.Message {
	t.Helper()
	late := time.After(patience)
	for {
		p.mu.Lock()
		i, more := slices.IndexFunc(p.lines, wanted), p.more
		p.mu.Unlock()
		if i >= 0 {
			return p.lines[i]
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("%s waits for %s", p.nick, what)
		}
	}
}

// sync returns when the server has done what was said, and what it said has arrived.
func (p *person) sync(t *testing.T) {
	t.Helper()
	p.pings++
	token := fmt.Sprintf("%s-%d", p.nick, p.pings)
	p.say("PING " + token)
	p.wait(t, "a PONG", func(m ircmsg.Message) bool { return m.Command == "PONG" && slices.Contains(m.Params, token) })
}

// see returns when somebody is at the server, or in a room. It forgets all lines but what was said.
func (p *person) see(t *testing.T, nick, room string) { t.Helper(); p.seeing(t, nick, room, true) }

// miss returns when nobody at the server has a nick.
func (p *person) miss(t *testing.T, nick string) { t.Helper(); p.seeing(t, nick, "", false) }

func (p *person) seeing(t *testing.T, nick, room string, want bool) {
	t.Helper()
	for late := time.Now().Add(patience); time.Now().Before(late); <-time.After(2 * time.Millisecond) {
		p.mu.Lock()
		p.lines = slices.DeleteFunc(p.lines, func(m ircmsg.Message) bool { return m.Command != "PRIVMSG" })
		p.mu.Unlock()
		p.say("ISON "+nick, "NAMES "+room)
		p.sync(t)
		p.mu.Lock()
		here := slices.ContainsFunc(p.lines, func(m ircmsg.Message) bool {
			return (m.Command == "303" && room == "" || m.Command == "353" && room != "") && slices.Contains(strings.FieldsFunc(m.Params[len(m.Params)-1], func(r rune) bool { return strings.ContainsRune(" ~&@%+", r) }), nick)
		})
		p.mu.Unlock()
		if here == want {
			return
		}
	}
	t.Fatalf("%s does not see what becomes of %s", p.nick, nick)
}

// heard returns what a nick has said to a target.
func (p *person) heard(t *testing.T, nick, target string) []string {
	t.Helper()
	p.sync(t)
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []string
	for _, m := range p.lines {
		if m.Command == "PRIVMSG" && m.Nick() == nick && m.Params[0] == target {
			out = append(out, m.Params[1])
		}
	}
	return out
}

// platform is a server with ann, and a way to it that can be cut.
type platform struct {
	front   net.Listener
	real    string
	ann     *person
	mu      sync.Mutex
	to      string // where connections lead; empty cuts them
	open    []net.Conn
	arrived chan struct{}
}

func start(t *testing.T) *platform {
	front, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { front.Close() })
	p := &platform{front: front, real: ngircd(t, ""), arrived: make(chan struct{}, 100)}
	p.to = p.real
	go func() {
		for {
			conn, err := front.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			to := p.to
			p.open = append(p.open, conn)
			p.mu.Unlock()
			go func() {
				defer conn.Close()
				if to == "" {
					return
				}
				server, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer server.Close()
				p.arrived <- struct{}{}
				go func() { _, _ = io.Copy(server, conn); server.Close() }()
				_, _ = io.Copy(conn, server)
			}()
		}
	}()
	p.ann = arrive(t, p.real, "Ann")
	return p
}

func (p *platform) Channel(t *testing.T) channel.Channel {
	p.ann.miss(t, "etui") // an earlier one has left
	return p.channel(t, irc.Config{})
}

func (p *platform) channel(t *testing.T, c irc.Config) *irc.Channel {
	c.URL, c.Nick, c.Rooms, c.Pace = "irc://"+p.front.Addr().String(), "etui", []string{"#Test"}, time.Millisecond
	ch, err := irc.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return ch
}

func (p *platform) Names() (person, group string) { return "nick/ann", "#test" }

func (p *platform) Say(t *testing.T, m channel.Incoming) string {
	target, text := "etui", m.Text
	if m.Group {
		target = "#test"
		p.ann.see(t, "etui", "#test")
	} else {
		p.ann.see(t, "etui", "")
	}
	if m.Mentioned {
		text = "Etui: " + text
	}
	p.ann.say("PRIVMSG " + target + " :" + text)
	return ""
}

func (p *platform) Seen(t *testing.T, _ string) []string {
	said := p.ann.heard(t, "etui", "Ann")
	for i := range said {
		said[i] = ircfmt.Strip(said[i])
	}
	return said
}

func (p *platform) Fail(t *testing.T, how channeltest.Failure) {
	switch how {
	case channeltest.Away:
		p.lead("")
	case channeltest.Gone:
		p.lead(p.real)
		p.ann.say("QUIT")
		p.ann.conn.Close()
	case channeltest.Refused:
		p.lead(ngircd(t, "secret"))
		<-p.arrived // so the channel knows that it lost its connection
	}
}

// lead lets new connections lead to a server, and cuts the others.
func (p *platform) lead(to string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.to = to
	for _, c := range p.open {
		c.Close()
	}
	p.open = nil
	for len(p.arrived) > 0 {
		<-p.arrived
	}
}

func (p *platform) Cut(t *testing.T) {
	p.ann.see(t, "etui", "#test")
	p.lead(p.real)
	p.ann.wait(t, "the end of the connection", func(m ircmsg.Message) bool { return m.Command == "QUIT" && m.Nick() == "etui" })
}

// Redelivers implements [channeltest.Redelivering]: what cannot be stored is tried again.
func (p *platform) Redelivers() {}

// Steady implements [channeltest.Steady].
func (p *platform) Steady() {}

func TestConformance(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return start(t) })
}

// receiver takes messages.
type receiver chan channel.Incoming

func (r receiver) Receive(_ context.Context, m channel.Incoming) error {
	r <- m
	return nil
}

func (r receiver) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-r:
		return m
	case <-time.After(patience):
		t.Fatal("the message did not arrive")
		panic("unreachable")
	}
}

// runs runs a channel until the test ends.
func runs(t *testing.T, c *irc.Channel) receiver {
	in := make(receiver, 100)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Run(ctx, in) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, io.EOF) {
			t.Errorf("Run: %v", err)
		}
	})
	return in
}

// TestPrograms: a real server says who is a program, so that two that answer everything do not answer
// each other.
func TestPrograms(t *testing.T) {
	t.Parallel()
	p := start(t)
	in := runs(t, p.channel(t, irc.Config{}))
	p.ann.see(t, "etui", "#test")
	robot := arrive(t, p.real, "robot", "MODE robot +B", "WHOIS etui")
	robot.wait(t, "that etui is a program", func(m ircmsg.Message) bool { return m.Command == "335" && m.Params[1] == "etui" })
	for _, say := range []struct {
		person *person
		target string
		bot    bool
	}{{robot, "#test", true}, {robot, "#test", true}, {robot, "etui", true}, {p.ann, "#test", false}, {p.ann, "etui", false}} {
		say.person.say("PRIVMSG " + say.target + " :hello")
		if m := in.next(t); m.From.Bot != say.bot || m.Text != "hello" {
			t.Errorf("%+v: %+v", say, m)
		}
	}
}

// TestRoom: in a room of a real server the channel follows who is who, and is heard in whole.
func TestRoom(t *testing.T) {
	t.Parallel()
	p := start(t) // ann is there first, but #test belongs to nobody
	bob := arrive(t, p.real, "bob", "JOIN #own", "MODE #own +m", "JOIN #full", "MODE #full +l 1")
	c, err := irc.New(irc.Config{URL: "irc://" + p.real, Nick: "Ann", Rooms: []string{"#test", "#own", "#full"}, Pace: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	in := runs(t, c)
	bob.see(t, "Ann_", "#own")                                                                                                              // the nick is in use
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "bob"}, Text: "hello"}); !errors.Is(err, channel.ErrGone) { // it waits for the connection
		t.Errorf("bob is not logged in: %v", err)
	}
	if who, err := c.Probe(t.Context()); err != nil || who != "Ann_, at 127.0.0.1" {
		t.Errorf("%q, %v", who, err)
	}
	bob.say("PRIVMSG #own :ann_, \x02look\x02 at \x0304this\x03", "PRIVMSG #own :what does Ann_ say?", "PRIVMSG #own :Ann_x", "PRIVMSG Ann_ :\x01VERSION\x01", "PRIVMSG #own :\x01ACTION waves to Ann_\x01")
	for _, want := range []string{"look at this true", "what does Ann_ say? true", "Ann_x false", "*waves to Ann_* true"} {
		m := in.next(t)
		if got := fmt.Sprint(m.Text, " ", m.Mentioned); got != want || m.At.Chat != "#own" || !slices.Equal(m.From.Roles, []string{"administrator", "member", "operator"}) {
			t.Errorf("%s: %+v", got, m)
		}
	}
	bob.say("MODE #own -o+v bob bob", "PRIVMSG #own :less")
	if m := in.next(t); !slices.Equal(m.From.Roles, []string{"member", "voice"}) || m.From.Handle != "bob" {
		t.Errorf("%+v", m)
	}
	// Nobody may write there any more but those with a voice.
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "#own"}, Text: "hello"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("in a moderated room: %v", err)
	}
	// A room that it could not join is waited for.
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "#full"}, Text: "hello"}); err == nil || errors.Is(err, channel.ErrGone) {
		t.Errorf("in a room that is full: %v", err)
	}
	for _, chat := range []string{"", "nick/", "nick/a,b", "#a,#b", "$*", "a b", "nick/a\r\nQUIT", "#a\nQUIT", "bob", "irc.test", "nick/nobody"} {
		if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: chat}, Text: "hello"}); !errors.Is(err, channel.ErrGone) {
			t.Errorf("to %q: %v", chat, err)
		}
	}
	text := strings.Repeat("字", 400) + "\n\n- **one " + strings.Repeat("word ", 150) + "end**\n- two\x01\x03 &#1;&#10;x"
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "#test"}, Text: text}); err != nil {
		t.Fatal(err)
	}
	said := bob.heard(t, "Ann_", "#test")
	if got := strings.Join(said[:3], ""); got != strings.Repeat("字", 400) {
		t.Errorf("Chinese arrives as %q", said[:3])
	}
	if got, want := strings.Join(said[3:], " "), "• \x02one "+strings.Repeat("word ", 150)+"end\x02 • two  x"; strings.ReplaceAll(got, "d \x02word", "d word") != want {
		t.Errorf("the list arrives as %q", said[3:])
	}
	p.ann.say("QUIT") // the nick is free
	bob.see(t, "Ann", "#own")
	bob.say("PRIVMSG Ann :/help", "KICK #own Ann")
	if m := in.next(t); m.Text != "/help" || m.At.Chat != "nick/bob" || m.Group {
		t.Errorf("%+v", m)
	}
}
