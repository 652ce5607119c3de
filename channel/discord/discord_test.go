package discord_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/discord"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

func TestChannel(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newServer(t) })
}

// got collects what arrives.
type got chan channel.Incoming

func (g got) Receive(ctx context.Context, m channel.Incoming) error {
	select {
	case g <- m:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (g got) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-g:
		return m
	case <-time.After(30 * time.Second):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

// run runs a channel until the test ends, and returns what its Run has returned.
func run(t *testing.T, c channel.Channel, in channel.Receiver) <-chan error {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() {
		defer close(done)
		ended <- c.Run(ctx, in)
	}()
	t.Cleanup(func() {
		stop()
		<-done
	})
	return ended
}

var (
	ann    = channel.Sender{ID: "4711", Handle: "ann", Name: "Ann"}
	direct = channel.Incoming{From: ann, Text: "hello"}
	group  = channel.Incoming{From: ann, Text: "hello", Group: true}
	named  = channel.Incoming{From: ann, Text: "hello", Group: true, Mentioned: true}
)

func TestNew(t *testing.T) {
	for _, c := range []struct {
		config discord.Config
		want   string
	}{
		{discord.Config{Token: "x"}, "page Bot"},
		{discord.Config{Token: "a.b c.d"}, "page Bot"},
		{discord.Config{Token: token, URL: "http://discord.com/api"}, "https"},
		{discord.Config{Token: token, URL: "https://a:b@discord.com/api"}, "https"},
		{discord.Config{Token: "Bot " + token}, ""},
	} {
		if _, err := discord.New(c.config); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %v", c.config, err)
		}
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.adapter(t, s.config())
	if who, err := c.Probe(t.Context()); err != nil || who != "etui (900)" {
		t.Errorf("%q, %v", who, err)
	}
	s.set(func() {
		s.answers["GET applications/@me"] = answer{status: 200, body: object{"id": app, "flags": 0, "bot": self()}}
	})
	if _, err := c.Probe(t.Context()); !errors.Is(err, channel.ErrRefused) || !strings.Contains(err.Error(), "MESSAGE CONTENT INTENT") {
		t.Errorf("without the intent: %v", err)
	}
	config := s.config()
	config.Token = "a.b.another-secret"
	if _, err := s.adapter(t, config).Probe(t.Context()); !errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(), "secret") {
		t.Errorf("with another token: %v", err)
	}
}

func TestIdentify(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.interval = 40
	run(t, s.adapter(t, s.config()), make(got, 8))
	s.await("heartbeats", func() bool { return s.beats > 2 })
	defer s.Hold()()
	if d := s.identify[0]; d["intents"] != float64(1<<9|1<<12|1<<15) || d["properties"].(object)["browser"] != "etui" {
		t.Errorf("identified with %v", d)
	}
}

// TestRefused: what nobody but the operator can set right.
func TestRefused(t *testing.T) {
	t.Parallel()
	for code, want := range map[websocket.StatusCode]string{4004: "token", 4011: "too many servers", 4013: "version", 4014: "MESSAGE CONTENT INTENT"} {
		s := newServer(t)
		s.refuse = code
		err := <-run(t, s.adapter(t, s.config()), make(got, 8))
		if !errors.Is(err, channel.ErrRefused) || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret-part") {
			t.Errorf("%d: %v", code, err)
		}
	}
}

func TestSessionLimit(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.remaining = 0
	err := <-run(t, s.adapter(t, s.config()), make(got, 8))
	var limited *channel.Limited
	if !errors.As(err, &limited) || limited.After != 4*time.Hour || len(s.identify) != 0 {
		t.Errorf("%v", err)
	}
}

// TestElsewhere: the token goes to Discord only.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	for _, url := range []string{"wss://gateway.discord.gg.evil.example/", "wss://evil.example", "ws://gateway.discord.gg/", "https://discord.gg", "wss://u:p@gateway.discord.gg"} {
		s := newServer(t)
		s.answers["GET gateway/bot"] = answer{status: 200, body: object{"url": url}}
		if err := <-run(t, s.adapter(t, s.config()), make(got, 8)); err == nil || errors.Is(err, channel.ErrRefused) {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestResume: a session goes on after each way in which a connection ends.
func TestResume(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *server){
		"asked":  func(s *server) { s.send(object{"op": 7, "d": nil}) },
		"closed": func(s *server) { s.closeAll(4000) },
		"may":    func(s *server) { s.send(object{"op": 9, "d": true}) },
		"zombie": func(s *server) { s.set(func() { s.deaf = true }) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			if name == "zombie" {
				s.interval = 200
			}
			in := make(got, 8)
			run(t, s.adapter(t, s.config()), in)
			s.Say(t, direct)
			in.next(t)
			end(s)
			s.await("a resumption", func() bool { return len(s.resumes) > 0 })
			s.set(func() { s.deaf = false })
			s.Say(t, channel.Incoming{From: ann, Text: "after"})
			if m := in.next(t); m.Text != "after" {
				t.Errorf("got %+v", m)
			}
			defer s.Hold()()
			if r := s.resumes[0]; r["session_id"] != s.newest.id || r["seq"].(float64) < 1 || r["seq"].(float64) > 2 || len(s.identify) != 1 { // 1 if the connection ended sooner than the message was known to be safe
				t.Errorf("%v, %d sessions", r, len(s.identify))
			}
		})
	}
}

// TestStorm: a Gateway that ends every connection is not asked forever, also if each brings
// something: the host waits before it runs the channel again.
func TestStorm(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	ended := make(chan error, 1)
	c := s.adapter(t, s.config())
	go func() { ended <- c.Run(t.Context(), in) }()
	for n := range 4 {
		s.await("a connection", func() bool { return len(s.identify) == 1 && len(s.resumes) == n })
		s.Say(t, direct)
		in.next(t)
		s.closeAll(4000)
	}
	select {
	case err := <-ended:
		if err == nil || t.Context().Err() != nil {
			t.Errorf("Run: %v", err)
		}
	case <-time.After(30 * time.Second):
		t.Error("connections are renewed forever")
	}
}

// TestNewSession: a session that Discord has given up is replaced.
func TestNewSession(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(s *server){
		"invalid": func(s *server) { s.send(object{"op": 9, "d": false}) },
		"timeout": func(s *server) { s.closeAll(4009) },
		"unknown": func(s *server) {
			s.set(func() { clear(s.sessions) })
			s.Cut(s.t)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newServer(t)
			in := make(got, 8)
			c := s.adapter(t, s.config())
			go func() { // as a host
				for t.Context().Err() == nil {
					_ = c.Run(t.Context(), in)
				}
			}()
			s.Say(t, direct)
			in.next(t)
			end(s)
			s.await("a new session", func() bool { return len(s.identify) > 1 })
			s.Say(t, channel.Incoming{From: ann, Text: "after"})
			if m := in.next(t); m.Text != "after" {
				t.Errorf("got %+v", m)
			}
		})
	}
}

// TestBeatOnDemand: the Gateway may ask for a heartbeat.
func TestBeatOnDemand(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), in)
	s.Say(t, direct)
	in.next(t)
	s.send(object{"op": 1, "d": nil})
	s.await("a heartbeat", func() bool { return s.beats == 1 })
}

// TestMalformed: what is not as expected is left out.
func TestMalformed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), in)
	for _, d := range []any{nil, 7, "x", []int{1}, object{"id": 5}, object{"id": "../../x", "channel_id": "1", "author": object{"id": "2"}}, object{"type": 0, "author": object{"id": "2"}, "content": "x"}} {
		s.Dispatch("MESSAGE_CREATE", d)
		s.Dispatch("INTERACTION_CREATE", d)
	}
	s.Dispatch("GUILD_CREATE", object{"id": guild})
	s.say(direct, object{"type": 7})                                               // somebody joined
	s.say(direct, object{"author": self()})                                        // its own
	s.say(group, object{"content": "", "embeds": []object{{"title": "an embed"}}}) // the bot may not read the text
	s.Say(t, channel.Incoming{From: ann, Text: "after"})
	if m := in.next(t); m.Text != "after" {
		t.Errorf("got %+v", m)
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.files["a.txt"], s.files["big"] = []byte("A"), make([]byte, 21<<20) // more than is read
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), in)
	reply := func(author object) object {
		return object{"type": 19, "message_reference": object{"type": 0, "message_id": "5"}, "referenced_message": object{"id": "5", "content": "an\nold one", "author": author}}
	}
	for name, c := range map[string]struct {
		say    channel.Incoming
		change object
		check  func(m channel.Incoming) bool
	}{
		"direct": {direct, nil, func(m channel.Incoming) bool {
			return m.At.Chat == dm && m.At.Thread == "" && m.From.Name == "Ann" && m.From.Handle == "ann" && m.Time.Year() == 2026 && m.From.Roles == nil
		}},
		"webhook": {group, object{"webhook_id": "5"}, func(m channel.Incoming) bool { return m.From.Bot }},
		"bot":     {group, object{"author": object{"id": "5", "username": "x", "bot": true}}, func(m channel.Incoming) bool { return m.From.Bot }},
		"mention": {named, nil, func(m channel.Incoming) bool {
			return m.Mentioned && m.Text == "hello" && slices.Equal(m.From.Roles, []string{"member"})
		}},
		"own role": {group, object{"content": "<@&902> hi", "mention_roles": []string{ownRole}}, func(m channel.Incoming) bool { return m.Mentioned && m.Text == "hi" }},
		"a role":   {group, object{"content": "<@&61> hi", "mention_roles": []string{"61"}}, func(m channel.Incoming) bool { return !m.Mentioned }},
		"everyone": {group, object{"content": "@everyone hi", "mention_everyone": true}, func(m channel.Incoming) bool { return !m.Mentioned && m.Text == "@everyone hi" }},
		"reply":    {group, reply(self()), func(m channel.Incoming) bool { return m.Mentioned && m.Text == "hello" }},
		"another":  {group, reply(object{"id": "6"}), func(m channel.Incoming) bool { return !m.Mentioned && m.Text == "> an\n> old one\n\nhello" }},
		"marks": {direct, object{"content": "<@6> <@!6> <#7> <:wave:8> <a:wave:8> <t:0:R> </ask:9> <b> <@10>", "mentions": []object{{"id": "6", "username": "bob", "member": object{"nick": "Bobby"}}}}, func(m channel.Incoming) bool {
			return m.Text == "@Bobby @Bobby #7 :wave: :wave: 1970-01-01T00:00:00Z /ask <b> @10"
		}},
		"sticker": {direct, object{"content": "", "sticker_items": []object{{"id": "1", "name": "Wave", "format_type": 1}}}, func(m channel.Incoming) bool { return m.Text == "(a sticker: Wave)" }},
		"of an unknown kind": {direct, object{"content": "", "activity": object{"type": 1}}, func(m channel.Incoming) bool {
			return m.Text == "(a message of a kind that cannot be read)"
		}},
		"forward of an unknown kind": {direct, object{"content": "", "message_reference": object{"type": 1},
			"message_snapshots": []object{{"message": object{"content": "", "components": []object{{"type": 17}}}}}},
			func(m channel.Incoming) bool {
				return m.Text == "Forwarded:\n> (a message of a kind that cannot be read)"
			}},
		"forward": {direct, object{"content": "", "message_reference": object{"type": 1}, "message_snapshots": []object{{"message": object{"content": "/new\nx"}}}}, func(m channel.Incoming) bool { return m.Text == "Forwarded:\n> /new\n> x" }},
		"files": {direct, object{"content": "", "attachments": []object{
			{"id": "1", "filename": "a.txt", "content_type": "text/plain; charset=utf-8", "size": 1, "url": s.URL + "/attachments/a.txt?ex=1"},
			{"id": "2", "filename": "evil", "size": 1, "url": "http://169.254.169.254/x"}, {"id": "3", "filename": "evil2", "size": 1, "url": "https://cdn.discordapp.com.evil.example/x"},
			{"id": "4", "filename": "big", "size": 5, "url": s.URL + "/attachments/big"},
		}}, func(m channel.Incoming) bool {
			return len(m.Files) == 4 && string(m.Files[0].Data) == "A" && m.Files[0].MediaType == "text/plain" && m.Files[1].Data == nil && m.Files[2].Data == nil && m.Files[3].Data == nil
		}},
		"thread": {named, object{"channel_id": post, "channel_type": 11}, func(m channel.Incoming) bool { return m.At.Chat == forum && m.At.Thread == post && m.Group }},
		"owner": {channel.Incoming{From: channel.Sender{ID: "1"}, Text: "x", Group: true}, nil, func(m channel.Incoming) bool {
			return slices.Equal(m.From.Roles, []string{"owner", "administrator", "moderator", "member"})
		}},
		"admin": {group, object{"member": object{"roles": []string{"61"}}}, func(m channel.Incoming) bool {
			return slices.Equal(m.From.Roles, []string{"administrator", "moderator", "member", "role:61"})
		}},
		"manages": {group, object{"member": object{"roles": []string{"63", "99"}, "nick": "Annie"}}, func(m channel.Incoming) bool {
			return m.From.Name == "Annie" && slices.Equal(m.From.Roles, []string{"moderator", "member", "role:63"})
		}},
		"name only": {group, object{"member": object{"roles": []string{"62"}}}, func(m channel.Incoming) bool { return slices.Equal(m.From.Roles, []string{"member", "role:62"}) }},
	} {
		s.say(c.say, c.change)
		if m := in.next(t); !c.check(m) {
			t.Errorf("%s: %+v", name, m)
		}
	}
	if n := len(s.called("GET guilds/" + guild)); n != 1 {
		t.Errorf("asked %d times for the server", n)
	}
}

// TestThread brings the thread that a mention is about, and takes what is said in a thread whose message
// mentions the bot for the bot's.
func TestThread(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	bob, inPost := object{"id": "6", "username": "bob", "global_name": "Bob"}, object{"channel_id": post, "channel_type": 11}
	s.threads[post] = []object{ // the newest first
		{"id": "72", "author": bob, "content": "At 10:02."},
		{"id": "71", "author": object{"id": "4711", "username": "ann"}, "content": "When?"},
		{"id": "70", "type": 21, "author": bob, "content": "", "referenced_message": object{"id": post, "author": bob, "content": "The deploy failed."}},
	}
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), aloof{in})
	s.say(named, inPost)
	if m := in.next(t); m.Text != "[The thread before this message]\n> Bob: The deploy failed.\n> ann: When?\n> Bob: At 10:02.\n\nhello" {
		t.Errorf("%q", m.Text)
	}
	s.set(func() {
		for _, thread := range []string{"302", "303"} {
			s.answers["GET channels/"+thread] = answer{status: 200, body: object{"id": thread, "type": 11, "parent_id": forum, "guild_id": guild}}
		}
	})
	s.say(group, object{"channel_id": "302", "channel_type": 11, "content": "not for the bot"})
	s.set(func() {
		s.threads["of 303"] = []object{{"id": "303", "author": bob, "content": "<@" + bot + "> help", "mentions": []object{self()}}}
	})
	s.say(group, object{"channel_id": "303", "channel_type": 11, "content": "me, too"})
	for range 2 {
		m := in.next(t)
		if want := m.Text == "me, too"; m.Mentioned != want {
			t.Errorf("%+v", m)
		}
	}
	s.say(direct, object{"content": "", "poll": object{"question": object{"text": "Lunch?"}, "answers": []object{{"poll_media": object{"text": "Soup"}}}}})
	if m := in.next(t); m.Text != "Poll: Lunch?\n- Soup" {
		t.Errorf("a poll: %q", m.Text)
	}
}

// aloof wants no message of a group that does not mention the bot.
type aloof struct{ got }

func (aloof) Wants(_ context.Context, m channel.Incoming) bool { return !m.Group || m.Mentioned }

// TestUnaddressed: what does not mention the bot costs no calls.
func TestUnaddressed(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), aloof{in})
	s.say(group, object{"attachments": []object{{"id": "1", "filename": "a", "size": 1, "url": s.URL + "/attachments/a"}}})
	if m := in.next(t); m.Mentioned || m.Files != nil || m.From.Roles != nil {
		t.Errorf("%+v", m)
	}
	if len(s.called("GET guilds/"+guild)) > 0 {
		t.Error("asked for the server")
	}
}

// closed wants nothing of groups.
type closed struct{ got }

func (closed) Wants(_ context.Context, m channel.Incoming) bool { return !m.Group }

// TestHello: who mentions the bot in a channel that is closed lets it say which one that is.
func TestHello(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), closed{in})
	s.say(group, object{"content": "to nobody"})
	mentioned := group
	mentioned.Mentioned = true
	s.Say(t, mentioned)
	if m := in.next(t); m.Added || m.Mentioned {
		t.Errorf("to nobody: %+v", m)
	}
	if m := in.next(t); !m.Added || m.At.Chat != general {
		t.Errorf("mentioned: %+v", m)
	}
}

// interaction is an event INTERACTION_CREATE.
func interaction(token string, change object) object {
	i := object{
		"id": "175928847299117063", "application_id": app, "type": 2, "token": token, "version": 1, "channel_id": dm, "channel": object{"id": dm, "type": 1}, "context": 1,
		"user": object{"id": "4711", "username": "ann", "global_name": "Ann"}, "data": object{"id": "1", "name": "skill", "type": 1, "options": []object{{"name": "text", "type": 3, "value": "full"}}},
	}
	for k, v := range change {
		i[k] = v
	}
	return i
}

func TestCommand(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	c := s.adapter(t, s.config())
	run(t, c, in)
	if err := c.SetMenu(t.Context(), channel.Commands()); err != nil {
		t.Fatal(err)
	}
	if n := len(channel.Commands()); len(s.commands) != n || s.commands[0]["name"] != "help" {
		t.Errorf("%d commands: %v", n, s.commands)
	}
	s.Dispatch("INTERACTION_CREATE", interaction("tok-1", nil))
	m := in.next(t)
	if m.Text != "/skill full" || m.Group || m.From.ID != "4711" || m.At.Chat != dm || m.Time.Year() != 2016 {
		t.Errorf("%+v", m)
	}
	if a := s.answered["tok-1"]; a["type"] != float64(5) {
		t.Errorf("announced %v", a)
	}
	m.At.Message = m.ID // as a host does
	if err := c.Typing(t.Context(), m.At); err != nil || len(s.called("POST channels/200/typing")) > 0 {
		t.Error("it types although Discord says so", err)
	}
	for range 2 { // the second time it is known
		if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "done", Key: "a"}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "more", Key: "a-1"}); err != nil {
		t.Fatal(err)
	}
	if len(s.messages) != 2 || s.messages[0].chat != "answer" || s.messages[0].body["content"] != "done" || s.messages[1].chat != dm || s.messages[1].body["message_reference"] != nil {
		t.Errorf("%v", s.messages)
	}
	for _, auth := range s.called("PATCH webhooks/901/tok-1/messages/@original") {
		if auth.header.Get("Authorization") != "" {
			t.Error("the token goes where none is needed")
		}
	}

	// One whose answer Discord does not know any more.
	s.Dispatch("INTERACTION_CREATE", interaction("tok-2", object{"id": "175928847299117064", "guild_id": guild, "channel_id": post, "channel": object{"id": post, "type": 11, "parent_id": forum}, "member": object{"user": object{"id": "4711"}, "roles": []string{"61"}}, "user": nil}))
	m = in.next(t)
	if !m.Mentioned || m.At.Chat != forum || m.At.Thread != post || !slices.Contains(m.From.Roles, "administrator") {
		t.Errorf("%+v", m)
	}
	s.set(func() { delete(s.answered, "tok-2") })
	m.At.Message = m.ID
	if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "late", Key: "b"}); err != nil || s.messages[2].chat != post {
		t.Errorf("%v, %v", err, s.messages)
	}

	// Others' chats, other applications.
	s.Dispatch("INTERACTION_CREATE", interaction("tok-3", object{"context": 2}))
	s.Dispatch("INTERACTION_CREATE", interaction("tok-4", object{"application_id": "5"}))
	s.Say(t, direct)
	if m := in.next(t); m.Text != "hello" {
		t.Errorf("%+v", m)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	c := s.adapter(t, s.config())
	run(t, c, in)
	long := strings.Repeat("长", 30)
	buttons := []channel.Button{{Label: "Yes", Text: "/approve 1"}, {Label: strings.Repeat("l", 90), Text: long}, {Label: "No", Text: "too " + long + long}, {Label: "Never", Text: "/deny 1"}}
	for range 30 {
		buttons = append(buttons, channel.Button{Label: "x", Text: "x"})
	}
	id, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: general}, Text: "Shall I?", Buttons: buttons, Key: "b"})
	if err != nil {
		t.Fatal(err)
	}
	rows := s.messages[0].body["components"].([]any)
	if len(rows) != 5 {
		t.Fatalf("%d rows", len(rows))
	}
	first := rows[0].(object)["components"].([]any)
	ids := map[string]bool{}
	for _, b := range first[:3] {
		custom, label := b.(object)["custom_id"].(string), b.(object)["label"].(string)
		if ids[custom] = true; len(custom) > 100 || len([]rune(label)) > 80 {
			t.Errorf("a button %v", b)
		}
	}
	if len(ids) != 3 {
		t.Errorf("buttons have the same ID: %v", ids)
	}
	for i, want := range []string{"/approve 1", long} {
		press := interaction("press-"+string(rune('0'+i)), object{
			"id": "17592884729911707" + string(rune('0'+i)), "type": 3, "guild_id": guild, "channel_id": general, "channel": object{"id": general, "type": 0}, "context": 0, "message": object{"id": id},
			"member": object{"user": object{"id": "4711"}, "roles": []string{}}, "user": nil, "data": object{"custom_id": first[i].(object)["custom_id"], "component_type": 2},
		})
		s.Dispatch("INTERACTION_CREATE", press)
		m := in.next(t)
		if m.Text != want || m.From.ID != "4711" || !m.Group || !m.Mentioned || s.answered["press-"+string(rune('0'+i))]["type"] != float64(6) {
			t.Errorf("%+v", m)
		}
		m.At.Message = m.ID
		if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "ok", Key: m.ID}); err != nil {
			t.Fatal(err)
		}
		if ref, _ := s.messages[len(s.messages)-1].body["message_reference"].(object); ref["message_id"] != id {
			t.Errorf("the answer refers to %v", ref)
		}
	}
	for _, custom := range []string{"etui#0-unknown", "another", "etui:"} {
		s.Dispatch("INTERACTION_CREATE", interaction("none", object{"type": 3, "message": object{"id": id}, "data": object{"custom_id": custom, "component_type": 2}}))
	}
	s.Say(t, direct)
	if m := in.next(t); m.Text != "hello" {
		t.Errorf("%+v", m)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.adapter(t, s.config())
	to := channel.Address{Chat: general, Thread: post, Message: "77"}
	id, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "@everyone <@1>", Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	m := s.messages[0]
	ref, _ := m.body["message_reference"].(object)
	if m.chat != post || m.body["flags"] != float64(4) || len(m.body["allowed_mentions"].(object)["parse"].([]any)) != 0 || len(m.nonce) > 25 || m.body["enforce_nonce"] != true ||
		ref["message_id"] != "77" || ref["fail_if_not_exists"] != false || !strings.Contains(m.body["content"].(string), `\<@1>`) {
		t.Errorf("%v", m)
	}
	// Another process sends it again: Discord returns the first one.
	if again, err := s.adapter(t, s.config()).Send(t.Context(), channel.Outgoing{To: to, Text: "@everyone <@1>", Key: "k"}); err != nil || again != id || len(s.messages) != 1 {
		t.Errorf("%q, %v, %d messages", again, err, len(s.messages))
	}
	files := []chat.File{{Name: "ä\".txt", Data: []byte("x")}, {Name: "b.txt", Data: []byte("y")}}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "files", Files: files, Key: "f"}); err != nil || len(s.messages) != 4 || len(s.messages[2].files) != 1 || len(s.messages[3].files) != 1 || s.messages[1].body["content"] != "files" {
		t.Fatalf("%v, %v", err, s.messages)
	}
	if err := c.Edit(t.Context(), to, id, "**new**"); err != nil || m.body["content"] != "**new**" || m.body["flags"] != float64(4) {
		t.Errorf("%v, %v", err, m)
	}
	if err := c.Typing(t.Context(), to); err != nil || len(s.called("POST channels/301/typing")) != 1 {
		t.Error(err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "../x"}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Error(err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: to}); err == nil {
		t.Error("an empty message")
	}
	// Without the right to read what was written before, there is no reference.
	s.set(func() {
		s.answers["POST channels/100/messages"] = answer{status: 400, body: object{"code": 160002, "message": "Cannot reply without permission to read message history"}}
	})
	_, _ = c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: general, Message: "5"}, Text: "x"})
	if calls := s.called("POST channels/100/messages"); len(calls) != 2 || calls[0].body["message_reference"] == nil || calls[1].body["message_reference"] != nil {
		t.Errorf("%v", calls)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.adapter(t, s.config())
	for code, status := range map[int]int{10003: 404, 50001: 403, 50013: 403, 50007: 403, 160005: 403} {
		s.set(func() {
			s.answers["POST channels/100/messages"] = answer{status: status, body: object{"code": code, "message": "no"}}
		})
		if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: general}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
			t.Errorf("%d: %v", code, err)
		}
	}
	for code, c := range map[int]struct {
		status int
		want   string
	}{50035: {400, "message"}, 200000: {400, "message"}, 999999: {400, "message"}, 50278: {403, "chat"},
		40003: {400, "chat waits"}, 20016: {400, "chat waits"}, 40333: {403, "moment"}} {
		s := newServer(t)
		s.answers["POST channels/100/messages"] = answer{status: c.status, body: object{"code": code, "message": "no"}}
		_, err := s.adapter(t, s.config()).Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: general}, Text: "x"})
		if got := channeltest.Meaning(err); got != c.want {
			t.Errorf("%d is about the %s, want the %s: %v", code, got, c.want, err)
		}
	}
	s.Close()
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: general}, Text: "x"}); err == nil || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "/api/") {
		t.Errorf("%v", err)
	}
}

// TestLimits: what Discord says about its limits is heeded before it must refuse.
func TestLimits(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.adapter(t, s.config())
	send := func(chat string) error {
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: chat}, Text: "x"})
		return err
	}
	s.set(func() {
		s.answers["POST channels/100/messages"] = answer{header: map[string]string{"X-RateLimit-Bucket": "b", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "30.5"}}
	})
	var limited *channel.Limited
	if err := send(general); err != nil {
		t.Fatal(err)
	}
	if err := send(general); !errors.As(err, &limited) || limited.After < 29*time.Second || limited.After > 31*time.Second || len(s.messages) != 1 {
		t.Errorf("%v", err)
	}
	if err := send(dm); err != nil {
		t.Errorf("another channel: %v", err)
	}
	s.set(func() {
		s.answers["POST channels/200/messages"] = answer{header: map[string]string{"X-RateLimit-Bucket": "b", "X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "0.05"}}
	})
	if err := errors.Join(send(dm), send(dm)); err != nil {
		t.Errorf("a short wait: %v", err)
	}
	s.set(func() {
		s.answers["POST channels/300/messages"] = answer{status: 429, header: map[string]string{"X-RateLimit-Global": "true", "Retry-After": "65"}, body: object{"message": "You are being rate limited.", "retry_after": 64.57, "global": true}}
	})
	if err := send(forum); !errors.As(err, &limited) || limited.After.Round(time.Second) != 65*time.Second {
		t.Errorf("%v", err)
	}
	if err := c.Typing(t.Context(), channel.Address{Chat: post}); !errors.As(err, &limited) {
		t.Errorf("everything waits: %v", err)
	}
	release := s.Hold()
	s.answers["POST channels/400/messages"] = answer{status: 429, header: map[string]string{"Retry-After": "NaN"}, body: "<html>"}
	release()
	fresh := s.adapter(t, s.config())
	if _, err := fresh.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "400"}, Text: "x"}); !errors.As(err, &limited) || limited.After != 5*time.Second {
		t.Errorf("%v", err)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	poll := s.adapter(t, s.config()).Tools()[0]
	if err := poll.Definition().Check(); err != nil {
		t.Error(err)
	}
	if _, err := tool.CompileSchema(poll.Definition().Parameters); err != nil {
		t.Error(err)
	}
	in := chat.Facts{Channel: "discord", Chat: general, Attrs: map[string]string{"thread": post}}
	for _, c := range []struct {
		facts      chat.Facts
		args, want string
	}{
		{in, `{"question":"Where?","options":["here","there"],"multiple":true}`, "was posted"},
		{in, `{"question":"","options":["a"]}`, "1 to 300"},
		{in, `{"question":"Where?","options":[]}`, "1 to 10"},
		{in, `{"question":"Where?","options":["` + strings.Repeat("x", 56) + `"]}`, "1 to 55"},
		{in, `{"question":"Where?","options":["a"],"hours":800}`, "768"},
		{chat.Facts{Channel: "slack", Chat: general}, `{"question":"Where?","options":["a"]}`, "Discord only"},
	} {
		ctx := tool.WithHost(t.Context(), tool.Host{Facts: c.facts})
		r, err := poll.Call(ctx, json.RawMessage(c.args))
		text := r.Text
		if err != nil {
			text = err.Error()
		}
		if !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.args, text)
		}
	}
	p, _ := s.messages[0].body["poll"].(object)
	if s.messages[0].chat != post || p["duration"] != float64(24) || p["allow_multiselect"] != true || len(p["answers"].([]any)) != 2 {
		t.Errorf("%v", s.messages[0])
	}
}

// TestSilence: neither the token nor that of an interaction gets into the log.
func TestSilence(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	var log bytes.Buffer
	config := s.config()
	config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	config.Client = &http.Client{Transport: failing{s.Client.Transport}}
	in := make(got, 8)
	c := s.adapter(t, config)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = c.Run(ctx, in) }()
	s.Dispatch("INTERACTION_CREATE", interaction("tok-secret", nil))
	in.next(t)
	stop()
	<-done
	if text := log.String(); strings.Contains(text, "secret") || !strings.Contains(text, "no answer to an interaction") {
		t.Errorf("%s", text)
	}
}

// failing reaches nothing of interactions.
type failing struct{ http.RoundTripper }

func (f failing) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.Contains(r.URL.Path, "/interactions/") {
		return nil, errors.New("no route to host")
	}
	return f.RoundTripper.RoundTrip(r)
}

// TestEdits: an edited message says so, and a page that Discord has loaded is no edit.
func TestEdits(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := make(got, 8)
	run(t, s.adapter(t, s.config()), in)
	id := s.Say(t, channel.Incoming{From: ann, Text: "first"})
	first := in.next(t)
	update := func(text string, edited any) {
		s.Dispatch("MESSAGE_UPDATE", object{
			"id": id, "type": 0, "channel_id": first.At.Chat, "author": object{"id": first.From.ID,
				"username": "ann"}, "content": text,
			"timestamp": "2026-08-06T10:00:00.000000+00:00", "edited_timestamp": edited,
		})
	}
	update("first", nil)
	update("second", "2026-08-06T10:00:05.000000+00:00")
	if m := in.next(t); !m.Edited || m.Text != "second" || m.ID != first.ID {
		t.Errorf("edited: %+v", m)
	}
}
