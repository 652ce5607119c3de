package matrix_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/matrix"
	"github.com/etui-run/etui/channel/matrix/matrixtest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// scenarios are what every homeserver has to take.
var scenarios = map[string]func(*testing.T, *world){
	"messages": testMessages, "mentions": testMentions, "threads": testThreads, "invitations": testInvitations, "added": testAdded, "direct": testDirect, "everywhere": testEverywhere,
	"roles": testRoles, "sending": testSending, "files": testFiles, "restart": testRestart, "once": testOnce, "gone": testGone, "refusals": testRefusals,
	"encrypted": testEncrypted, "to a person": testPerson, "tools": testTools,
}

func TestServer(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newWorld(t, local(t)) })
	for name, test := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, local(t)))
		})
	}
}

// TestDendrite runs on a real homeserver the suite, and the scenarios in which most depends on
// the homeserver. With TEST_MATRIX=all it runs them all, which takes twice as long.
func TestDendrite(t *testing.T) {
	t.Parallel()
	d := dendrite(t)
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newWorld(t, d) })
	for name, test := range scenarios {
		if slices.Contains([]string{"messages", "invitations", "restart", "files", "gone"}, name) || os.Getenv("TEST_MATRIX") == "all" {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, newWorld(t, d))
			})
		}
	}
}

// inbox collects what arrives, from the people and rooms that it allows.
type inbox struct {
	got     chan channel.Incoming
	allowed func(channel.Incoming) bool // nil allows all
	fail    chan error
	added   chan channel.Incoming // rooms that the account was added to
}

func newInbox(allowed func(channel.Incoming) bool) *inbox {
	return &inbox{make(chan channel.Incoming, 1000), allowed, make(chan error, 10), make(chan channel.Incoming, 100)}
}

func (i *inbox) Wants(_ context.Context, m channel.Incoming) bool {
	return i.allowed == nil || i.allowed(m)
}

func (i *inbox) Receive(_ context.Context, m channel.Incoming) error {
	if m.Added {
		i.added <- m
		return nil
	}
	select {
	case err := <-i.fail:
		return err
	default:
	}
	i.got <- m
	return nil
}

func (i *inbox) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-i.got:
		return m
	case <-time.After(patience):
		t.Fatal("nothing arrived")
		panic("unreachable")
	}
}

// run runs a channel until stop, or the end of the test. What Run returns before goes to
// the channel.
func run(t *testing.T, c channel.Channel, in channel.Receiver) (stop func(), failed <-chan error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended, errs := make(chan struct{}), make(chan error, 100)
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			if err := c.Run(ctx, in); ctx.Err() == nil {
				errs <- err
				time.Sleep(time.Millisecond) // as a host does
			}
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop, errs
}

// begin runs a channel that has entered ann's rooms.
func (w *world) begin(t *testing.T, in *inbox) (*matrix.Channel, func()) {
	t.Helper()
	c := w.new(w.config())
	stop, _ := run(t, c, in)
	w.entered(t, in)
	return c, stop
}

func (w *world) entered(t *testing.T, in *inbox) {
	t.Helper()
	w.ann.say(w.direct, "begin", nil)
	w.ann.say(w.group, w.me+" begin", nil)
	for range 2 {
		in.next(t)
	}
}

// await waits until something is so.
func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	for late := time.Now().Add(patience); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(late) {
			t.Fatalf("waiting for %s took too long", what)
		}
	}
}

func testMessages(t *testing.T, w *world) {
	in := newInbox(nil)
	_, _ = w.begin(t, in)
	first := w.ann.say(w.direct, "first", nil)
	if m := in.next(t); m.ID != first || m.From.ID != w.ann.id || m.From.Handle != "ann"+w.suffix || m.From.Name != "Ann" || m.From.Bot || m.Group || m.At != (channel.Address{Chat: w.direct, Message: first}) || time.Since(m.Time) > time.Hour || m.From.Roles != nil {
		t.Errorf("a message: %+v", m)
	}
	w.ann.say(w.direct, "* second", object{"m.new_content": object{"msgtype": "m.text", "body": "second"}, "m.relates_to": object{"rel_type": "m.replace", "event_id": first}})
	if m := in.next(t); m.ID != first || m.Text != "second" || !m.Edited || m.At.Message != first {
		t.Errorf("an edit: %+v", m)
	}
	// What counts for nothing: a reaction, a topic, a redacted message, an unknown kind.
	w.ann.send(w.direct, "m.reaction", object{"m.relates_to": object{"rel_type": "m.annotation", "event_id": first, "key": "👍"}})
	w.ann.do("PUT", "rooms/"+w.direct+"/state/m.room.topic/", object{"topic": "new"}, nil)
	w.ann.do("PUT", "rooms/"+w.direct+"/redact/"+first+"/1", object{}, nil)
	w.ann.say(w.direct, "?", object{"msgtype": "m.key.verification.request"})
	w.ann.say(w.direct, "a kind of its own", object{"msgtype": "org.example"})
	if m := in.next(t); m.Text != "a kind of its own" {
		t.Errorf("an unknown kind: %+v", m)
	}
	const plain = "org.matrix.msc1767.text"
	w.ann.send(w.direct, "org.matrix.msc3381.poll.start", object{"org.matrix.msc3381.poll.start": object{
		"question": object{plain: "Lunch?"}, "answers": []object{{"id": "1", plain: "Soup"}, {"id": "2", plain: "Rice"}},
	}})
	if m := in.next(t); m.Text != "Poll: Lunch?\n- Soup\n- Rice" {
		t.Errorf("a poll: %+v", m)
	}
	w.ann.send(w.direct, "m.poll.start", object{"m.poll": object{
		"question": object{"m.text": []object{{"body": "Tea?"}}}, "answers": []object{{"m.id": "1", "m.text": []object{{"body": "Yes"}}}},
	}})
	if m := in.next(t); m.Text != "Poll: Tea?\n- Yes" {
		t.Errorf("a poll of the newer form: %+v", m)
	}
	w.ann.send(w.direct, "m.call.invite", object{"call_id": "1", "version": "1", "lifetime": 1000})
	if m := in.next(t); m.Text != "(a call, which cannot be answered here)" {
		t.Errorf("a call: %+v", m)
	}
	for _, live := range []bool{false, true} {
		w.ann.do("PUT", "rooms/"+w.direct+"/state/org.matrix.msc3672.beacon_info/"+w.ann.id, object{"live": live, "timeout": 60000}, nil)
	}
	if m := in.next(t); m.Text != "(a live location, which cannot be followed here)" {
		t.Errorf("a live location: %+v", m)
	}
	w.ann.send(w.direct, "m.room.message", object{"msgtype": "org.example.hologram", "body": ""})
	if m := in.next(t); m.Text != "(a message of the type org.example.hologram, which cannot be read)" {
		t.Errorf("an unknown kind without a text: %+v", m)
	}
	w.ann.say(w.direct, "by a bot", object{"msgtype": "m.notice"})
	if m := in.next(t); m.Text != "by a bot" || !m.From.Bot {
		t.Errorf("a notice: %+v", m)
	}
	w.ann.say(w.direct, "by an agent", object{"run.etui.agent": true})
	if m := in.next(t); m.Text != "by an agent" || !m.From.Bot {
		t.Errorf("of another agent: %+v", m)
	}
	w.ann.do("PUT", "profile/"+w.ann.id+"/displayname", object{"displayname": "Anna\u202e B"}, nil)
	for _, c := range []struct {
		content object
		want    string
	}{
		{object{"msgtype": "m.emote", "body": "waves"}, "*waves*"},
		{object{"msgtype": "m.location", "body": "the café", "geo_uri": "geo:51.5,-0.1"}, "Location: geo:51.5,-0.1\nthe café"},
		{object{"body": "!status"}, "/status"},
		{object{"body": "!important: read this"}, "!important: read this"},
		{object{"body": "/new"}, "/new"},
	} {
		w.ann.say(w.direct, "", c.content)
		if m := in.next(t); m.Text != c.want || m.From.Name != "Anna B" {
			t.Errorf("%v: %+v", c.content, m)
		}
	}
	w.ann.send(w.direct, "m.sticker", object{"body": "a cat", "url": "mxc://matrix.test/x", "info": object{}})
	if m := in.next(t); m.Text != "(a sticker: a cat)" {
		t.Errorf("a sticker: %+v", m)
	}
	last := w.ann.say(w.direct, "and that?", object{"m.relates_to": object{"m.in_reply_to": object{"event_id": first}}})
	if m := in.next(t); m.Text != "and that?" || m.Mentioned {
		t.Errorf("an answer to a redacted message: %+v", m)
	}
	await(t, "the receipt", func() bool {
		return w.gate.Calls("POST /_matrix/client/v3/rooms/"+w.direct+"/receipt/m.read/"+last) == 1
	})
}

func testMentions(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	name := "etui" + w.suffix
	none := object{"m.mentions": object{}}
	for _, m := range []struct {
		text      string
		more      object
		want      string
		mentioned bool
	}{
		{"hello", none, "hello", false},
		{name + ": hello", object{"m.mentions": object{"user_ids": []string{w.me}}}, "hello", true},
		{"hello " + name, object{"m.mentions": object{"user_ids": []string{w.me}}}, "hello " + name, true},
		{"hello " + name, none, "hello " + name, false},
		{strings.ToUpper(name) + ", hello", none, "hello", true},
		{"@" + name + " /status", nil, "/status", true},
		{w.me + ": !stop", none, "/stop", true},
		{name + "x: hello", none, name + "x: hello", false},
		{name, none, name, true},
		{"hello, " + w.me, nil, "hello, " + w.me, true},
		{"hello, you", object{"format": "org.matrix.custom.html", "formatted_body": `hello, <a href="https://matrix.to/#/` + w.me + `">you</a>`}, "hello, you", true},
		{"everybody", object{"m.mentions": object{"room": true}}, "everybody", false},
	} {
		w.ann.say(w.group, m.text, m.more)
		if got := in.next(t); got.Text != m.want || got.Mentioned != m.mentioned || !got.Group {
			t.Errorf("%q: %+v", m.text, got)
		}
	}
	id, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.group}, Text: "an answer"})
	if err != nil {
		t.Fatal(err)
	}
	answer := func(to, text string) channel.Incoming {
		w.ann.say(w.group, text, object{"m.mentions": object{}, "m.relates_to": object{"m.in_reply_to": object{"event_id": to}}})
		return in.next(t)
	}
	if m := answer(id, "> <"+w.me+"> an answer\n\nwhy?"); m.Text != "why?" || !m.Mentioned {
		t.Errorf("an answer to its message: %+v", m)
	}
	bob := w.person("bob")
	w.ann.do("POST", "rooms/"+w.group+"/invite", object{"user_id": bob.id}, nil)
	bob.do("POST", "rooms/"+w.group+"/join", object{}, nil)
	said := bob.say(w.group, "the sky\nis green", nil)
	in.next(t)
	if m := answer(said, name+": true?"); m.Text != "> the sky\n> is green\n\ntrue?" || !m.Mentioned {
		t.Errorf("an answer to somebody else: %+v", m)
	}
	if m := answer(said, name+" !status"); m.Text != "/status" {
		t.Errorf("a command: %+v", m)
	}
	if m := answer("$missing", name+": there?"); m.Text != "there?" || !m.Mentioned {
		t.Errorf("an answer to nothing: %+v", m)
	}
}

func testThreads(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	root := w.ann.say(w.group, "root", nil)
	in.next(t)
	thread := func(root string) object {
		return object{"m.mentions": object{}, "m.relates_to": object{"rel_type": "m.thread", "event_id": root, "is_falling_back": true, "m.in_reply_to": object{"event_id": root}}}
	}
	w.ann.say(w.group, "said before", thread(root))
	in.next(t)
	inner := w.ann.say(w.group, w.me+" inside", thread(root))
	m := in.next(t)
	if want := "[The thread before this message]\n> Ann: root\n> Ann: said before\n\ninside"; m.Text != want {
		t.Errorf("what was said before: %q", m.Text)
	}
	m.Text = "inside"
	if m.At != (channel.Address{Chat: w.group, Thread: root, Message: inner}) || !m.Mentioned || m.Text != "inside" {
		t.Errorf("a message in a thread: %+v", m)
	}
	w.ann.say(w.group, "* better", object{"m.new_content": object{"msgtype": "m.text", "body": w.me + " better"}, "m.relates_to": object{"rel_type": "m.replace", "event_id": inner}})
	if e := in.next(t); e.At != m.At || !e.Edited || e.Text != "[The thread before this message]\n> Ann: root\n> Ann: said before\n\nbetter" {
		t.Errorf("an edit in a thread: %+v", e)
	}
	id, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "answer", Files: []chat.File{{Name: "a.txt", MediaType: "text/plain", Data: []byte("A")}}, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	sent := w.sent(w.group)
	for i, e := range sent {
		reply, _ := e.Content.Relates["m.in_reply_to"].(map[string]any)
		if e.Content.Relates["rel_type"] != "m.thread" || e.Content.Relates["event_id"] != root || e.Content.Relates["is_falling_back"] != true || reply["event_id"] != []string{inner, root}[i] {
			t.Errorf("an answer in a thread: %+v", e)
		}
	}
	if len(sent) != 2 || sent[0].ID != id {
		t.Errorf("sent %+v", sent)
	}
	// A message in a thread that its own message has begun is meant for it.
	begun, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.group}, Text: "news"})
	if err != nil {
		t.Fatal(err)
	}
	w.ann.say(w.group, "more!", thread(begun))
	if m := in.next(t); !m.Mentioned || m.At.Thread != begun || m.Text != "[The thread before this message]\n> you: news\n\nmore!" {
		t.Errorf("in its own thread: %+v", m)
	}
	// So is one in a thread that began with a mention.
	asked := w.ann.say(w.group, w.me+" a question", nil)
	in.next(t)
	w.ann.say(w.group, "and another", thread(asked))
	m = in.next(t)
	if !m.Mentioned || m.At.Thread != asked || !strings.HasPrefix(m.Text, "[The thread before this message]\n> Ann: ") || !strings.HasSuffix(m.Text, "a question\n\nand another") {
		t.Errorf("in a thread that began with a mention: %+v", m)
	}
	w.ann.say(w.group, "among us", thread(root))
	if m := in.next(t); m.Mentioned {
		t.Errorf("in a thread of others: %+v", m)
	}
}

func testInvitations(t *testing.T, w *world) {
	bob := w.person("bob")
	foreign := bob.room(object{"preset": "private_chat", "invite": []string{w.me}})
	stranger := bob.room(object{"is_direct": true, "preset": "trusted_private_chat", "invite": []string{w.me}})
	in := newInbox(func(m channel.Incoming) bool {
		return m.Group && m.At.Chat == w.group || !m.Group && m.From.ID == w.ann.id
	})
	_, stop := w.begin(t, in)
	member := func(p *person, room string) string {
		var m struct{ Membership string }
		p.do("GET", "rooms/"+room+"/state/m.room.member/"+w.me, nil, &m)
		return m.Membership
	}
	for _, room := range []string{foreign, stranger} {
		await(t, "the refusal", func() bool { return member(bob, room) == "leave" })
	}
	stop()
	// Strangers who may read a code are listened to in direct chats, and there only.
	foreign = bob.room(object{"preset": "private_chat", "invite": []string{w.me}})
	stranger = bob.room(object{"is_direct": true, "preset": "trusted_private_chat", "invite": []string{w.me}})
	config := w.config()
	config.Strangers, config.Log = true, slog.New(slog.NewTextHandler(t.Output(), nil))
	bob.say(stranger, "may I?", nil)
	c := w.new(config)
	w.gate.Fail(matrixtest.Failure{Method: "POST", Path: stranger + "/join", Status: 500, Body: object{"errcode": "M_UNKNOWN"}})
	_, failed := run(t, c, in)
	m := in.next(t)
	if m.Text == "begin" { // the channel was stopped before it stored where it was
		m = in.next(t)
	}
	if m.Text != "may I?" || m.From.ID != bob.id || m.Group {
		t.Errorf("a stranger: %+v", m)
	}
	if err := <-failed; err == nil {
		t.Error("the failure to enter a room is not tried again")
	}
	await(t, "the refusal", func() bool { return member(bob, foreign) == "leave" })
	var direct map[string][]string
	w.account().do("GET", "user/"+w.me+"/account_data/m.direct", nil, &direct)
	if !slices.Equal(direct[w.ann.id], []string{w.direct}) || !slices.Equal(direct[bob.id], []string{stranger}) {
		t.Errorf("m.direct: %v", direct)
	}
	// A room that cannot be entered is given up.
	broken := w.ann.room(object{"preset": "private_chat"})
	for range 3 {
		w.gate.Fail(matrixtest.Failure{Method: "POST", Path: broken + "/join", Status: 502, Body: object{"errcode": "M_UNKNOWN"}})
	}
	w.ann.do("POST", "rooms/"+broken+"/invite", object{"user_id": w.me}, nil)
	await(t, "the end of the tries", func() bool { return member(w.ann, broken) == "leave" })
}

// testAdded: a group that the account is invited to is told its ID, and so is one that it is mentioned in and that
// was a room of two before.
func testAdded(t *testing.T, w *world) {
	bob := w.person("bob")
	in := newInbox(func(m channel.Incoming) bool {
		return m.Group && m.At.Chat == w.group || !m.Group && m.From.ID == w.ann.id
	})
	_, _ = w.begin(t, in)
	for len(in.added) > 0 {
		<-in.added // its rooms so far
	}
	hello := func(room string) {
		t.Helper()
		select {
		case m := <-in.added:
			if !m.Group || m.At.Chat != room || m.From.ID != w.ann.id {
				t.Errorf("%+v", m)
			}
		case <-time.After(patience):
			t.Fatal("nothing arrived")
		}
	}
	three := w.ann.room(object{"preset": "private_chat", "invite": []string{bob.id}})
	bob.do("POST", "rooms/"+three+"/join", object{}, nil)
	w.ann.do("POST", "rooms/"+three+"/invite", object{"user_id": w.me}, nil)
	hello(three)
	two := w.ann.room(object{"preset": "private_chat", "invite": []string{w.me}})
	w.ann.say(two, "alone", nil)
	if m := in.next(t); m.Text != "alone" || len(in.added) > 0 {
		t.Errorf("%+v", m)
	}
	w.ann.do("POST", "rooms/"+two+"/invite", object{"user_id": bob.id}, nil)
	bob.do("POST", "rooms/"+two+"/join", object{}, nil)
	w.ann.say(two, "among us", nil)
	w.ann.say(two, w.me+" and you?", nil)
	hello(two)
}

func testDirect(t *testing.T, w *world) {
	in := newInbox(nil)
	_, _ = w.begin(t, in)
	// A room with one other person is a direct chat, also if nothing says so, until
	// somebody else comes in.
	room := w.ann.room(object{"preset": "private_chat", "invite": []string{w.me}})
	w.ann.say(room, "alone", nil)
	if m := in.next(t); m.Group || m.At.Chat != room {
		t.Errorf("two people: %+v", m)
	}
	bob := w.person("bob")
	for _, place := range []string{room, w.direct} {
		w.ann.do("POST", "rooms/"+place+"/invite", object{"user_id": bob.id}, nil)
		bob.do("POST", "rooms/"+place+"/join", object{}, nil)
		w.ann.say(place, "with bob", nil)
		if m := in.next(t); !m.Group || m.At.Chat != place {
			t.Errorf("three people: %+v", m)
		}
	}
	bob.do("POST", "rooms/"+w.direct+"/leave", object{}, nil)
}

func testEverywhere(t *testing.T, w *world) {
	config := w.config()
	config.Groups = []string{"*"}
	in := newInbox(nil)
	run(t, w.new(config), in)
	// With all rooms as groups, those are direct chats that were begun so.
	w.ann.say(w.direct, "direct", nil)
	if m := in.next(t); m.Group {
		t.Errorf("a direct chat: %+v", m)
	}
	room := w.ann.room(object{"preset": "private_chat", "invite": []string{w.me}})
	w.ann.say(room, "alone", nil)
	if m := in.next(t); !m.Group || m.Text != "alone" {
		t.Errorf("a group: %+v", m)
	}
}

func testRoles(t *testing.T, w *world) {
	in := newInbox(nil)
	_, _ = w.begin(t, in)
	people := map[string]*person{"ann": w.ann}
	for _, name := range []string{"mod", "bob", "mute"} {
		p := w.person(name)
		w.ann.do("POST", "rooms/"+w.group+"/invite", object{"user_id": p.id}, nil)
		p.do("POST", "rooms/"+w.group+"/join", object{}, nil)
		people[name] = p
	}
	levels := func(mod int) {
		w.ann.do("PUT", "rooms/"+w.group+"/state/m.room.power_levels/", object{
			"users": object{w.ann.id: 100, people["mod"].id: mod, people["mute"].id: -1}, "users_default": 0, "events_default": -1, "state_default": 50,
		}, nil)
	}
	levels(50)
	check := func(name string, want ...string) {
		t.Helper()
		people[name].say(w.group, w.me+" who am I?", nil)
		if m := in.next(t); !slices.Equal(m.From.Roles, want) {
			t.Errorf("%s: %v", name, m.From.Roles)
		}
	}
	check("ann", "administrator", "moderator", "member")
	check("mod", "moderator", "member")
	check("bob", "member")
	check("mute", "restricted")
	levels(0)
	check("mod", "member")
	// Since version 12 of rooms, who has made one may do everything there.
	room := w.ann.room(object{"preset": "private_chat", "room_version": "12", "invite": []string{w.me, people["mod"].id}})
	people["mod"].do("POST", "rooms/"+room+"/join", object{}, nil)
	w.ann.say(room, "who am I?", nil)
	if m := in.next(t); strings.Contains(room, ":") || !slices.Equal(m.From.Roles, []string{"owner", "administrator", "moderator", "member"}) {
		t.Errorf("in %s: %v", room, m.From.Roles)
	}
	people["mod"].say(room, "and I?", nil)
	if m := in.next(t); !slices.Equal(m.From.Roles, []string{"member"}) {
		t.Errorf("somebody else in %s: %v", room, m.From.Roles)
	}
}

func testSending(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	asked := w.ann.say(w.group, w.me+" well?", nil)
	at := in.next(t).At
	id, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: "**see** [this](https://x.org), @ann\n- a"})
	if err != nil {
		t.Fatal(err)
	}
	sent := w.sent(w.group)
	e := sent[0]
	if reply, _ := e.Content.Relates["m.in_reply_to"].(map[string]any); e.ID != id || reply["event_id"] != asked || e.Content.MsgType != "m.text" || e.Content.Body != "**see** [this](https://x.org), @ann\n- a" ||
		e.Content.HTML != "<p><strong>see</strong> <a href=\"https://x.org\">this</a>, @ann</p>\n<ul>\n<li>a</li>\n</ul>" || e.Content.Mentions == nil || len(e.Content.Mentions) > 0 {
		t.Errorf("sent %+v", e)
	}
	if err := c.Edit(t.Context(), at, id, strings.Repeat("long ", 3000)); err != nil {
		t.Fatal(err)
	}
	if e := w.sent(w.group)[1]; e.Content.Relates["rel_type"] != "m.replace" || len(e.Content.Body) > 2100 || len(e.Content.New.Body) != 15_000 {
		t.Errorf("edited: %+v", e)
	}
	// A text that is as long as the traits allow, in the markup that takes most bytes.
	for _, text := range []string{strings.Repeat("&", 16_000), strings.Repeat("*a* ", 4_000), strings.Repeat("好", 5_333), strings.Repeat("\"\n", 8_000)} {
		if id, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: text}); err != nil {
			t.Errorf("a long text: %v", err)
		} else if err := c.Edit(t.Context(), at, id, text); err != nil {
			t.Errorf("a long text is edited: %v", err)
		}
	}
	if direct, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.direct, Message: asked}, Text: "plain"}); err != nil {
		t.Error(err)
	} else if e := w.sent(w.direct)[0]; e.ID != direct || e.Content.Relates != nil || e.Content.HTML != "" {
		t.Errorf("in a direct chat: %+v", e)
	}

	if err := c.Typing(t.Context(), at); err != nil || w.gate.Calls("PUT /_matrix/client/v3/rooms/"+w.group+"/typing/"+w.me) != 1 {
		t.Errorf("typing: %v", err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("to what is no room: %v", err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: at}); err == nil {
		t.Error("an empty message is sent")
	}
	if name, err := c.Probe(t.Context()); err != nil || name != "etui"+w.suffix+" ("+w.me+")" {
		t.Errorf("probe: %q, %v", name, err)
	}
}

// picture is a small PNG.
func picture(t *testing.T) []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func testFiles(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	small := picture(t)
	var stored struct {
		URI string `json:"content_uri"`
	}
	exchange(t, w.side.Client(), "POST", w.side.URL+"/_matrix/media/v3/upload", w.ann.token, small, &stored)
	image := func(uri string, more object) object {
		content := object{"msgtype": "m.image", "body": "a.png", "url": uri, "info": object{"mimetype": "image/png", "size": len(small)}}
		for k, v := range more {
			content[k] = v
		}
		return content
	}
	said := w.ann.say(w.direct, "", image(stored.URI, nil))
	if m := in.next(t); len(m.Files) != 1 || !bytes.Equal(m.Files[0].Data, small) || m.Files[0].Name != "a.png" || m.Files[0].MediaType != "image/png" || m.Text != "" {
		t.Errorf("a picture: %+v", m)
	}
	w.ann.say(w.direct, "", image(stored.URI, object{"filename": "b.png", "body": "what is this?"}))
	if m := in.next(t); len(m.Files) != 1 || m.Files[0].Name != "b.png" || m.Text != "what is this?" {
		t.Errorf("with a caption: %+v", m)
	}
	for name, content := range map[string]object{
		"missing": image("mxc://matrix.test/missing", nil), "too large": image(stored.URI, object{"info": object{"size": 21 << 20}}),
		"elsewhere": image("https://example.org/a.png", nil), "a path": image("mxc://matrix.test/../../client/v3/logout", nil),
		"a query": image("mxc://matrix.test?/x", nil), "encrypted": image("", object{"file": object{"url": stored.URI}}),
	} {
		w.ann.say(w.direct, "", content)
		if m := in.next(t); len(m.Files) != 1 || m.Files[0].Data != nil {
			t.Errorf("%s: %+v", name, m)
		}
	}
	w.ann.say(w.direct, "and now?", object{"m.relates_to": object{"m.in_reply_to": object{"event_id": said}}})
	if m := in.next(t); len(m.Files) != 1 || !bytes.Equal(m.Files[0].Data, small) {
		t.Errorf("an answer to a picture: %+v", m)
	}
	id, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.direct}, Text: "here", Files: []chat.File{
		{Name: "p.png", MediaType: "image/png", Data: small}, {Name: "t.txt", MediaType: "text/plain", Data: []byte("text")}, {Name: "x\n/s", MediaType: "audio/ogg", Data: []byte("sound")},
	}, Key: "k"})
	sent := w.sent(w.direct)
	if err != nil || len(sent) != 4 || sent[0].ID != id {
		t.Fatalf("sent %+v, %v", sent, err)
	}
	for i, want := range []string{"m.image p.png 3x2 image/png", "m.file t.txt <nil>x<nil> text/plain", "m.audio x /s <nil>x<nil> audio/ogg"} {
		c := sent[i+1].Content
		if got := fmt.Sprintf("%s %s %vx%v %v", c.MsgType, c.Body, c.Info["w"], c.Info["h"], c.Info["mimetype"]); got != want {
			t.Errorf("file %d: %s, want %s", i, got, want)
		}
		status, data := try(t, w.side.Client(), "GET", w.side.URL+"/_matrix/client/v1/media/download/"+strings.TrimPrefix(c.URL, "mxc://"), w.ann.token, nil)
		if want := [][]byte{small, []byte("text"), []byte("sound")}[i]; status != 200 || !bytes.Equal(data, want) {
			t.Errorf("file %d: %d %q", i, status, data)
		}
	}
	// A homeserver from before version 1.11 of the specification.
	w.gate.Fail(matrixtest.Failure{Method: "GET", Path: "/v1/media/download/", Status: 404, Body: object{"errcode": "M_UNRECOGNIZED"}})
	w.ann.say(w.direct, "", image(stored.URI, nil))
	in.next(t)
	if n := w.gate.Calls("GET /_matrix/media/v3/download/matrix.test/"); n != 1 {
		t.Errorf("the older address is asked %d times", n)
	}
}

func testRestart(t *testing.T, w *world) {
	in := newInbox(nil)
	_, stop := w.begin(t, in)
	last := w.ann.say(w.direct, "before the end", nil)
	in.next(t)
	await(t, "the position behind it", func() bool {
		kept, err := w.records.Records(t.Context(), "matrix")
		return err == nil && len(kept) == 1 && strings.Contains(string(kept[0].Value), last)
	})
	stop()
	// While it is away, more is written than /sync tells at once, and it is invited.
	var want []string
	for i := range 130 {
		want = append(want, fmt.Sprint("message ", i))
		w.ann.say(w.direct, want[i], nil)
	}
	w.ann.say(w.group, w.me+" in the group", nil)
	room := w.ann.room(object{"is_direct": true, "preset": "trusted_private_chat", "invite": []string{w.me}})
	w.ann.say(room, "in a new room", nil)
	in.fail <- errors.New("the store is away")
	run(t, w.new(w.config()), in)
	var got []string
	others := map[string]int{}
	for len(got)+len(others) < len(want)+2 {
		m := in.next(t)
		if m.At.Chat == w.direct {
			got = append(got, m.Text)
		} else {
			others[m.Text]++
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
	if others["in the group"] != 1 || others["in a new room"] != 1 {
		t.Errorf("of the others: %v", others)
	}
	w.ann.say(w.direct, "last", nil)
	if m := in.next(t); m.Text != "last" {
		t.Errorf("then: %+v", m)
	}
	// A homeserver that was set up anew does not know the position.
	w.gate.Fail(matrixtest.Failure{Method: "GET", Path: "/sync", Status: 400, Body: object{"errcode": "M_UNKNOWN", "error": "no such token"}})
	w.Cut(t)
	for arrived := false; !arrived; {
		w.ann.say(w.group, "a new beginning", nil)
		select {
		case m := <-in.got:
			arrived = m.Text == "a new beginning"
		case <-time.After(100 * time.Millisecond): // it was before the position
		}
	}
	// What was written before the first start is not answered.
	w.ann.history(w.group) // until the homeserver shows all of it
	stopAll := newInbox(nil)
	w.records = nil
	_, failed := run(t, w.new(w.config()), stopAll)
	await(t, "the first position", func() bool { return w.gate.Calls("GET /_matrix/client/v3/sync") > 0 })
	for {
		w.ann.say(w.direct, "after the start", nil)
		select {
		case m := <-stopAll.got:
			if m.Text != "after the start" {
				t.Errorf("of before the first start: %+v", m)
			}
			return
		case err := <-failed:
			t.Fatal(err)
		case <-time.After(100 * time.Millisecond): // it was before the position
		}
	}
}

func testOnce(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	m := channel.Outgoing{To: channel.Address{Chat: w.direct}, Text: "once", Files: []chat.File{{Name: "a", Data: []byte("a")}}, Key: "etui-1"}
	w.gate.Fail(matrixtest.Failure{Method: "PUT", Path: "/send/", Status: 502, After: true})
	if _, err := c.Send(t.Context(), m); err == nil {
		t.Fatal("the answer was lost, and Send does not say so")
	}
	first, err := c.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	next, err := w.new(w.config()).Send(t.Context(), m) // after a restart
	if err != nil || next != first || len(w.sent(w.direct)) != 2 {
		t.Errorf("%s and %s: %+v, %v", first, next, w.sent(w.direct), err)
	}
	other := w.config()
	other.Records = &store.Memory{} // another store counts its replies anew
	if third, err := w.new(other).Send(t.Context(), m); err != nil || third == first {
		t.Errorf("from another store: %s, %v", third, err)
	}
	// A homeserver that wants less for a moment is left alone for it.
	w.gate.Fail(matrixtest.Failure{Method: "PUT", Path: "/send/", Status: 429, Body: object{"errcode": "M_LIMIT_EXCEEDED", "retry_after_ms": 5}})
	if _, err := c.Send(t.Context(), channel.Outgoing{To: m.To, Text: "later"}); err != nil {
		t.Error(err)
	}
	w.gate.Fail(matrixtest.Failure{Method: "PUT", Path: "/send/", Status: 429, RetryAfter: "3600000000", Body: object{"errcode": "M_LIMIT_EXCEEDED"}})
	var limited *channel.Limited
	if _, err := c.Send(t.Context(), channel.Outgoing{To: m.To, Text: "later"}); !errors.As(err, &limited) || limited.After != time.Hour {
		t.Errorf("a long time: %v", err)
	}
}

func testGone(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	w.ann.do("POST", "rooms/"+w.group+"/kick", object{"user_id": w.me}, nil)
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.group}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("after it was removed: %v", err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "!never:matrix.test"}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("to a room that is not there: %v", err)
	}
	w.ann.say(w.direct, "still here", nil)
	in.next(t)
	_, failed := run(t, w.new(w.config()), newInbox(nil))
	w.account().do("POST", "logout", object{}, nil)
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: w.direct}, Text: "x"}); !errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(), w.token) {
		t.Errorf("with a token that was revoked: %v", err)
	}
	if _, err := c.Probe(t.Context()); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("probe: %v", err)
	}
	w.Cut(t)
	for err := range failed {
		if errors.Is(err, channel.ErrRefused) {
			return
		}
	}
}

func testEncrypted(t *testing.T, w *world) {
	in := newInbox(func(m channel.Incoming) bool { return m.From.ID == w.ann.id })
	_, stop := w.begin(t, in)
	room := w.ann.room(object{"is_direct": true, "preset": "trusted_private_chat", "invite": []string{w.me}, "initial_state": []object{
		{"type": "m.room.encryption", "state_key": "", "content": object{"algorithm": "m.megolm.v1.aes-sha2"}},
	}})
	secret := func() {
		w.ann.send(room, "m.room.encrypted", object{"algorithm": "m.megolm.v1.aes-sha2", "ciphertext": "AwgAEnACgAkLmt6qF84I", "session_id": "x", "sender_key": "y", "device_id": "z"})
	}
	secret()
	secret()
	await(t, "the notice", func() bool { return len(w.sent(room)) > 0 })
	stop()
	secret()
	run(t, w.new(w.config()), in)
	w.ann.say(room, "readable", nil)
	if m := in.next(t); m.Text != "readable" {
		t.Errorf("got %+v", m)
	}
	if sent := w.sent(room); len(sent) != 1 || !strings.Contains(sent[0].Content.Body, "without end-to-end encryption") {
		t.Errorf("sent %+v", sent)
	}
}

func testPerson(t *testing.T, w *world) {
	c := w.new(w.config())
	bob := w.person("bob")
	to := channel.Address{Chat: bob.id}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "hello"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.new(w.config()).Send(t.Context(), channel.Outgoing{To: to, Text: "again"}); err != nil {
		t.Fatal(err)
	}
	var direct map[string][]string
	w.account().do("GET", "user/"+w.me+"/account_data/m.direct", nil, &direct)
	if len(direct[bob.id]) != 1 {
		t.Fatalf("m.direct: %v", direct)
	}
	room := direct[bob.id][0]
	bob.do("POST", "rooms/"+room+"/join", object{}, nil)
	said := ""
	for _, e := range bob.history(room) {
		said += e.Content.Body
	}
	if said != "helloagain" {
		t.Errorf("said %q", said)
	}
	bob.do("POST", "rooms/"+room+"/leave", object{}, nil)
	if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "come back"}); err != nil {
		t.Error(err)
	}
	if w.account().do("GET", "user/"+w.me+"/account_data/m.direct", nil, &direct); len(direct[bob.id]) != 2 {
		t.Errorf("m.direct, after the person has left: %v", direct)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "@"}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("to nobody: %v", err)
	}
}

func testTools(t *testing.T, w *world) {
	in := newInbox(nil)
	c, _ := w.begin(t, in)
	tools := map[string]tool.Tool{}
	for _, one := range c.Tools() {
		d := one.Definition()
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		if _, err := tool.CompileSchema(d.Parameters); err != nil {
			t.Error(err)
		}
		tools[d.Name] = one
	}
	group := chat.Facts{Channel: "matrix", Chat: w.group, Attrs: map[string]string{"thread": "$root"}}
	direct := chat.Facts{Channel: "matrix", Attrs: map[string]string{"chat": w.direct}}
	for _, s := range []struct {
		facts            chat.Facts
		name, args, want string
		failed           bool
	}{
		{direct, "matrix_poll", `{"question":"Where?","options":["here","there"],"choices":2}`, "was posted", false},
		{direct, "matrix_poll", `{"question":"Where?","options":["here"]}`, "2 to 20 options, not 1", true},
		{direct, "matrix_poll", `{"question":" ","options":["a","b"]}`, "1 to 340", true},
		{direct, "matrix_poll", `{"question":"Where?","options":["a",""]}`, "1 to 340", true},
		{direct, "matrix_poll", `{"question":"Where?","options":["a","b"],"choices":3}`, "number of options, 2", true},
		{direct, "matrix_topic", `{"topic":"release week"}`, "was set", false},
		{group, "matrix_topic", `{"topic":"release week"}`, "may not change the topic", true},
		{group, "matrix_topic", `{"topic":"` + strings.Repeat("x", 501) + `"}`, "at most 500", true},
		{group, "matrix_poll", `{"question":"Where?","options":["here","there"]}`, "was posted", false},
		{chat.Facts{Channel: "slack", Chat: w.group}, "matrix_poll", `{"question":"Where?","options":["a","b"]}`, "chat of Matrix only", true},
		{chat.Facts{}, "matrix_topic", `{"topic":"x"}`, "chat of Matrix only", true},
	} {
		r, err := tools[s.name].Call(tool.WithHost(t.Context(), tool.Host{Facts: s.facts}), json.RawMessage(s.args))
		if err != nil {
			r = tool.Failure("%v", err)
		}
		if r.Failed != s.failed || !strings.Contains(r.Text, s.want) {
			t.Errorf("%s %s: %+v", s.name, s.args, r)
		}
	}
	sent := w.sent(w.direct)
	if len(sent) != 2 || sent[0].Type != "org.matrix.msc3381.poll.start" || sent[0].Content.Poll["max_selections"] != 2.0 || fmt.Sprint(sent[0].Content.Poll["question"]) != "map[org.matrix.msc1767.text:Where?]" {
		t.Errorf("sent %+v", sent)
	}
	var topic struct{ Topic string }
	if w.ann.do("GET", "rooms/"+w.direct+"/state/m.room.topic/", nil, &topic); topic.Topic != "release week" {
		t.Errorf("the topic is %q", topic.Topic)
	}
	if sent := w.sent(w.group); len(sent) != 1 || sent[0].Content.Relates["event_id"] != "$root" {
		t.Errorf("in the thread: %+v", sent)
	}
}

// TestReplaced: a room that replaces a group is known by the ID of that, if both rooms say so, whichever of
// the invitation and the end of the old room comes first.
func TestReplaced(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		invited  bool // before the old room ends
		honestly bool
	}{"invited later": {false, true}, "invited first": {true, true}, "a room that replaces another": {true, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, local(t))
			in := newInbox(func(m channel.Incoming) bool { return m.Group && (m.At.Chat == w.group || m.Former == w.group) })
			ch := w.new(w.config())
			run(t, ch, in)
			joined := func(room string) func() bool {
				return func() bool {
					var m struct{ Joined map[string]any }
					w.ann.do("GET", "rooms/"+room+"/joined_members", nil, &m)
					return m.Joined[w.me] != nil
				}
			}
			await(t, "the group", joined(w.group))
			before := w.group
			if !c.honestly {
				before = "!other:matrix.test"
			}
			how := object{"preset": "private_chat", "creation_content": object{"predecessor": object{"room_id": before}}}
			room := w.ann.room(how)
			invite := func() { w.ann.do("POST", "rooms/"+room+"/invite", object{"user_id": w.me}, nil) }
			if c.invited {
				invite()
			}
			w.ann.do("PUT", "rooms/"+w.group+"/state/m.room.tombstone/", object{"replacement_room": room, "body": "moved"}, nil)
			if !c.invited {
				invite()
			}
			if !c.honestly {
				w.ann.say(w.group, "etui"+w.suffix+": still here", nil)
				if m := in.next(t); m.Text != "still here" || ch.Former(room) != "" {
					t.Errorf("got %+v", m)
				}
				return
			}
			await(t, "the new room", joined(room))
			w.ann.say(room, "etui"+w.suffix+": hello", nil)
			if m := in.next(t); m.At.Chat != room || m.Former != w.group || m.Text != "hello" {
				t.Errorf("got %+v", m)
			}
			to := channel.Address{Chat: w.group, Message: "$old", Thread: "$old"}
			if _, err := ch.Send(t.Context(), channel.Outgoing{To: to, Text: "welcome"}); err != nil {
				t.Error(err)
			}
			if sent := w.sent(room); len(sent) != 1 || sent[0].Content.Relates != nil {
				t.Errorf("sent %+v", sent)
			}
		})
	}
}
