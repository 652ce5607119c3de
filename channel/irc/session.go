package irc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ergochat/irc-go/ircfmt"
	"github.com/ergochat/irc-go/ircmsg"
	"github.com/ergochat/irc-go/ircreader"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
)

const (
	maxLine   = 16 << 10         // bytes of a line with its tags; after a longer one the connection ends
	writeTime = 10 * time.Second // for one line
	pongTime  = time.Minute      // in which the server has read our lines; it may slow us down
	keepalive = time.Minute      // between two questions whether the server is there
	// waiting bounds the messages that arrived and are not handed over yet. One more is lost,
	// which the log says.
	waiting = 256
	history = 100 // messages of a room that are asked for after an absence
)

var errLost = errors.New("the connection to IRC was lost")

// session is one connection. One goroutine reads, one hands messages over, one asks
// whether the server is there.
type session struct {
	c       *Channel
	conn    net.Conn
	reader  *ircreader.Reader
	caps    map[string]bool // constant after register
	turn    chan struct{}   // has a place for who uses exchange
	ended   chan struct{}   // closed when nothing is read any more
	over    bool            // ended; guarded by the channel's mu
	jobs    chan func(ctx context.Context, in channel.Receiver)
	writing sync.Mutex

	mu      sync.Mutex
	nick    string
	support map[string]string // ISUPPORT
	people  crowd
	joined  map[string]bool
	batches map[string]bool // whether each is of a room's history
	asked   map[string]bool // rooms whose history is on its way
	each    func(m ircmsg.Message)
	token   string // of the PING that waits
	pong    chan struct{}
	pings   int
}

func newSession(c *Channel, conn net.Conn) *session {
	var reader ircreader.Reader
	reader.Initialize(conn, 1024, maxLine)
	return &session{
		c: c, conn: conn, reader: &reader, caps: map[string]bool{}, turn: make(chan struct{}, 1),
		ended: make(chan struct{}),
		jobs:  make(chan func(context.Context, channel.Receiver), waiting), support: map[string]string{},
		people: crowd{}, joined: map[string]bool{},
		batches: map[string]bool{}, asked: map[string]bool{},
	}
}

// run serves a connection until it or ctx ends.
func (s *session) run(ctx context.Context, in channel.Receiver) error {
	connected, end := context.WithCancel(ctx)
	var parts panics.Group
	part := func(f func()) { parts.Go(func() { defer end(); f() }) }
	part(func() { <-connected.Done(); s.quit() })
	part(func() { s.deliver(ctx, in) })
	part(func() { s.keep(connected) })
	err := s.read()
	s.c.lost(s, err)
	close(s.ended)
	end()
	parts.Wait()
	return err
}

func (s *session) read() error {
	for {
		m, err := s.next()
		if err != nil {
			return fmt.Errorf("%w: %w", errLost, err)
		}
		if m.Command == "PING" {
			err = s.say("PONG", m.Params...)
		} else {
			s.handle(m)
		}
		if err != nil {
			return err
		}
	}
}

// next reads a line, and skips those that are not the protocol's.
func (s *session) next() (ircmsg.Message, error) {
	for {
		line, err := s.reader.ReadLine()
		if err != nil {
			return ircmsg.Message{}, err
		}
		if m, err := ircmsg.ParseLine(string(line)); err == nil {
			return m, nil
		}
	}
}

// say writes a line at once.
func (s *session) say(command string, params ...string) error {
	m := ircmsg.MakeMessage(nil, "", command, params...)
	return s.write(m)
}

func (s *session) write(m ircmsg.Message) error {
	line, err := m.LineBytesStrict(true, 512)
	if err != nil {
		return fmt.Errorf("a line for IRC is not one: %w", err) // without the line: it may be the password
	}
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return fmt.Errorf("%w: %w", errLost, err)
	}
	if _, err := s.conn.Write(line); err != nil {
		_ = s.conn.Close()
		return fmt.Errorf("%w: %w", errLost, err)
	}
	return nil
}

// quit ends the connection politely, within a second.
func (s *session) quit() {
	deadline := time.Now().Add(time.Second)
	_ = s.conn.SetWriteDeadline(deadline) // also of a line that is being written; it may be closed
	s.writing.Lock()
	defer s.writing.Unlock()
	_ = s.conn.SetWriteDeadline(deadline)
	_, _ = s.conn.Write([]byte("QUIT\r\n"))
	_ = s.conn.Close()
}

// exchange sends lines at their pace, and returns when the server has read them; each sees
// all that the server says meanwhile. Exchanges wait for one another.
func (s *session) exchange(ctx context.Context, lines []ircmsg.Message, each func(m ircmsg.Message)) error {
	select {
	case s.turn <- struct{}{}:
	case <-s.ended:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-s.turn }()
	s.setEach(each)
	defer s.setEach(nil)
	for first := true; first || len(lines) > 0; first = false {
		n := min(len(lines), burst)
		for _, line := range lines[:n] {
			if err := s.c.pace.Wait(ctx); err != nil {
				return err
			}
			if err := s.write(line); err != nil {
				return err
			}
		}
		if err := s.fence(ctx); err != nil {
			return err
		}
		lines = lines[n:]
	}
	return nil
}

func (s *session) setEach(each func(m ircmsg.Message)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.each = each
}

// fence waits until the server has read all lines: it answers PING in its turn. A server
// that does not is gone.
func (s *session) fence(ctx context.Context) error {
	s.mu.Lock()
	s.pings++
	token, pong := "etui-"+strconv.Itoa(s.pings), make(chan struct{})
	s.token, s.pong = token, pong
	s.mu.Unlock()
	if err := s.say("PING", token); err != nil {
		return err
	}
	late := time.NewTimer(pongTime)
	defer late.Stop()
	select {
	case <-pong:
		return nil
	case <-s.ended:
		return errLost
	case <-ctx.Done():
		return ctx.Err()
	case <-late.C:
		_ = s.conn.Close()
		return fmt.Errorf("%w: the server does not answer", errLost)
	}
}

// keep joins rooms, lets messages be sent, and then asks now and then whether the server
// is there. It joins again what it was thrown out of, and takes its nick back.
func (s *session) keep(ctx context.Context) {
	ticker := time.NewTicker(keepalive)
	defer ticker.Stop()
	for first := true; ; first = false {
		var lines []ircmsg.Message
		s.mu.Lock()
		if mode := s.botMode(); first && mode != "" { // other programs leave us alone then
			lines = append(lines, ircmsg.MakeMessage(nil, "", "MODE", s.nick, "+"+mode))
		}
		if s.fold(s.nick) != s.fold(s.c.config.Nick) {
			lines = append(lines, ircmsg.MakeMessage(nil, "", "NICK", s.c.config.Nick))
		}
		for _, r := range s.c.rooms {
			if !s.joined[s.fold(r.name)] {
				params := []string{r.name, r.key}
				if r.key == "" {
					params = params[:1]
				}
				lines = append(lines, ircmsg.MakeMessage(nil, "", "JOIN", params...))
			}
		}
		s.mu.Unlock()
		err := s.exchange(ctx, lines, func(m ircmsg.Message) {
			if len(m.Params) > 2 && failed(m) && s.configured(m.Params[1]) {
				s.c.log.Warn("a room on IRC cannot be joined", "room", m.Params[1], "reason",
					printable.Line(m.Params[len(m.Params)-1], 200))
			}
		})
		if err != nil {
			return
		}
		if first {
			s.c.found(s)
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// failed reports whether a line is the number of an error.
func failed(m ircmsg.Message) bool {
	return len(m.Command) == 3 && (m.Command[0] == '4' || m.Command[0] == '5')
}

// configured reports whether a room is one to join.
func (s *session) configured(name string) bool {
	return slices.ContainsFunc(s.c.rooms, func(r room) bool { return s.fold(r.name) == s.fold(name) })
}

// deliver hands messages over in their order, also those that are left when the connection
// has ended.
func (s *session) deliver(ctx context.Context, in channel.Receiver) {
	for {
		select {
		case job := <-s.jobs:
			job(ctx, in)
			continue
		case <-ctx.Done():
			return
		case <-s.ended:
		}
		select {
		case job := <-s.jobs:
			job(ctx, in)
		default:
			return
		}
	}
}

// do puts a job behind the others.
func (s *session) do(job func(ctx context.Context, in channel.Receiver)) {
	select {
	case s.jobs <- job:
	default:
		s.c.log.Warn("a message on IRC is lost: too many arrive at once", "waiting", waiting)
	}
}

func (s *session) name() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.nick
}

// handle does what a line says.
func (s *session) handle(m ircmsg.Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.each != nil {
		s.each(m)
	}
	p := append(slices.Clone(m.Params), "", "", "", "") // a parameter that is missing is empty
	_, ref := m.GetTag("batch")
	past := ref != "" && s.batches[ref]
	if past && m.Command != "PRIVMSG" {
		return // who came and went; without draft/event-playback some servers tell it as messages
	}
	who := s.fold(m.Nick())
	self := who == s.fold(s.nick)
	switch m.Command {
	case "PONG":
		if s.pong != nil && m.Params != nil && m.Params[len(m.Params)-1] == s.token {
			close(s.pong)
			s.pong = nil
		}
	case "005":
		for _, token := range m.Params[min(1, len(m.Params)):] {
			if name, value, _ := strings.Cut(token, "="); len(s.support) < 200 {
				s.support[name] = value
			}
		}
	case "PRIVMSG":
		s.privmsg(m, past)
	case "NICK":
		s.people.rename(who, s.fold(p[0]))
		if self {
			s.nick = p[0]
		} else {
			s.regain(who)
		}
	case "JOIN":
		room := s.fold(p[0])
		if self {
			s.joined[room] = true
			s.people.empty(room)
			s.askHistory(room)
			return
		}
		s.people.join(who, room, "")
		if s.caps["extended-join"] {
			s.login(who, p[1])
		}
	case "PART", "KICK":
		room := s.fold(p[0])
		if m.Command == "KICK" {
			who = s.fold(p[1])
		}
		if who == s.fold(s.nick) {
			delete(s.joined, room)
			s.people.empty(room)
			return
		}
		s.people.leave(who, room)
	case "QUIT":
		delete(s.people, who)
		s.regain(who)
	case "ACCOUNT":
		s.login(who, p[0])
	case "353": // RPL_NAMREPLY
		for name := range strings.FieldsSeq(p[3]) {
			nick := strings.TrimLeft(name, s.prefixes(false))
			prefixes := name[:len(name)-len(nick)]
			nick, _, _ = strings.Cut(nick, "!")
			s.people.join(s.fold(nick), s.fold(p[2]), s.modes(prefixes))
		}
	case "MODE":
		s.mode(s.fold(p[0]), m.Params[min(1, len(m.Params)):])
	case "BATCH":
		ref := strings.TrimLeft(p[0], "+-")
		if strings.HasPrefix(p[0], "-") {
			delete(s.batches, ref)
		} else if len(s.batches) < 100 {
			s.batches[ref] = p[1] == "chathistory" || p[1] == "znc.in/playback"
		}
	}
}

// regain takes our nick when somebody has left it.
func (s *session) regain(left string) {
	if left == s.fold(s.c.config.Nick) && left != s.fold(s.nick) {
		_ = s.say("NICK", s.c.config.Nick) // a write that fails ends the connection
	}
}

// askHistory asks for what was said in a room since something was heard of it.
func (s *session) askHistory(room string) {
	s.c.mu.Lock()
	since := s.c.seen[room]
	s.c.mu.Unlock()
	if since.IsZero() || !s.caps["batch"] || !s.caps["server-time"] || !s.caps["message-tags"] ||
		!s.caps["draft/chathistory"] && !s.caps["chathistory"] {
		return
	}
	s.asked[room] = true
	s.do(func(ctx context.Context, _ channel.Receiver) {
		line := ircmsg.MakeMessage(nil, "", "CHATHISTORY", "AFTER", room, "timestamp="+since.UTC().Format(timestamp),
			strconv.Itoa(history))
		if err := s.exchange(ctx, []ircmsg.Message{line}, nil); err != nil {
			s.c.log.WarnContext(ctx, "the history of a room on IRC did not arrive", "room", room, "error", err)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.asked, room)
	})
}

// timestamp is how IRCv3 writes times.
const timestamp = "2006-01-02T15:04:05.000Z"

// privmsg takes a message of a person, said now or in the past.
func (s *session) privmsg(m ircmsg.Message, past bool) {
	from, err := m.NUH()
	if err != nil || from.User == "" || len(m.Params) < 2 || s.fold(from.Name) == s.fold(s.nick) {
		return // of the server or of ourselves
	}
	target, text := s.fold(m.Params[0]), m.Params[1]
	group := s.isRoom(target)
	if !group && target != s.fold(s.nick) {
		return // to some of a room, or to all of a server
	}
	if past && (!group || !s.asked[target]) {
		return // nobody asked for it
	}
	if action, ok := strings.CutPrefix(text, "\x01ACTION "); ok {
		text = "*" + strings.TrimSuffix(action, "\x01") + "*"
	}
	if strings.HasPrefix(text, "\x01") {
		return // CTCP, which asks programs for things
	}
	in := channel.Incoming{
		From:  channel.Sender{Handle: from.Name, Name: from.Name, Bot: m.HasTag("bot")},
		Group: group,
		Text:  strings.TrimSpace(printable.Text(ircfmt.Strip(text))),
	}
	_, in.ID = m.GetTag("msgid")
	if len(in.ID) > 256 {
		in.ID = ""
	}
	if _, at := m.GetTag("time"); at != "" {
		in.Time, _ = time.Parse(timestamp, at) // zero if it is none
	}
	in.At.Message = in.ID
	if in.ID == "" {
		in.ID = unique()
	}
	if group {
		in.At.Chat = target
		in.Mentioned, in.Text = s.mention(in.Text)
		for _, tag := range []string{"+draft/reply", "+reply"} {
			if _, id := m.GetTag(tag); id != "" && !in.Mentioned {
				_, in.Mentioned = s.c.mine.Get(id)
			}
		}
		in.From.Roles = s.people.roles(s.fold(from.Name), target)
	}
	if in.Text == "" && !in.Mentioned {
		return
	}
	_, account := m.GetTag("account")
	known := s.caps["account-tag"] || past
	if someone := s.people[s.fold(from.Name)]; !known && someone != nil && time.Now().Before(someone.until) {
		account, known = someone.account, true
		in.From.Bot = in.From.Bot || someone.bot
	}
	s.do(func(ctx context.Context, to channel.Receiver) {
		if !known {
			bot := false
			account, bot = s.lookUp(ctx, from)
			in.From.Bot = in.From.Bot || bot
		}
		s.hand(ctx, to, in, account)
	})
}

// hand hands a message over, again and again for half a minute if it cannot be stored:
// IRC would not send it a second time.
func (s *session) hand(ctx context.Context, to channel.Receiver, in channel.Incoming, account string) {
	s.mu.Lock()
	in.From.ID = s.identity(account, in.From.Handle)
	s.mu.Unlock()
	if !in.Group {
		in.At.Chat = in.From.ID
		if account != "" {
			s.c.nicks.Put(in.From.ID, in.From.Handle)
		}
	}
	if _, twice := s.c.taken.Get(in.ID); twice {
		return
	}
	for pause := 100 * time.Millisecond; ; pause *= 4 {
		err := to.Receive(ctx, in)
		if err == nil {
			break
		}
		if pause > 30*time.Second || ctx.Err() != nil {
			s.c.log.ErrorContext(ctx, "a message on IRC is lost: it could not be stored", "error", err)
			return
		}
		sleep.For(ctx, pause)
	}
	s.c.taken.Put(in.ID, struct{}{})
	s.mu.Lock()
	defer s.mu.Unlock()
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if in.Group && in.Time.After(s.c.seen[in.At.Chat]) && s.configured(in.At.Chat) {
		s.c.seen[in.At.Chat] = in.Time
	}
}

// mention reports whether a text names us, and takes the name from its beginning.
func (s *session) mention(text string) (bool, string) {
	low, nick := s.fold(text), s.fold(s.nick)
	start, at := strings.CutPrefix(low, "@")
	if rest, ok := strings.CutPrefix(start, nick); ok &&
		(rest == "" || strings.ContainsAny(rest[:1], ":,") || at && rest[0] == ' ') {
		return true, strings.TrimLeft(text[len(text)-len(rest):], ":, ")
	}
	for at := 0; ; {
		i := strings.Index(low[at:], nick)
		if i < 0 {
			return false, text
		}
		before, after := low[:at+i], low[at+i+len(nick):]
		if !endsWithNick(before) && !beginsWithNick(after) {
			return true, text
		}
		at += i + len(nick)
	}
}
