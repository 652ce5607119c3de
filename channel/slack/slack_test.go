package slack_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/slack"
	"github.com/etui-run/etui/channel/slack/slacktest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

func TestSocketMode(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newServer(t) })
}

func TestEventsAPI(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform {
		s := newServer(t)
		s.hook = true
		return webhook{s}
	})
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
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	done := make(chan struct{})
	go func() { defer close(done); ended <- c.Run(ctx, in) }()
	t.Cleanup(func() { stop(); <-done })
	return ended
}

func begin(t *testing.T) (*server, *slack.Channel, got) {
	s, in := newServer(t), make(got, 64)
	c := s.Channel(t).(*slack.Channel)
	run(t, c, in)
	return s, c, in
}

func event(kind, channel string, more object) object {
	e := object{"type": kind, "channel": channel, "user": "4711", "text": "text", "ts": "1700000100.000200", "event_ts": "1700000100.000200", "channel_type": "channel"}
	for k, v := range more {
		if e[k] = v; v == nil {
			delete(e, k)
		}
	}
	return e
}

func TestEvents(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	for name, ignored := range map[string]object{
		"an edit":          event("message", "C1", object{"subtype": "message_changed", "hidden": true}),
		"a join":           event("message", "C1", object{"subtype": "channel_join"}),
		"an old bot":       event("message", "C1", object{"subtype": "bot_message", "user": nil, "bot_id": "B2"}),
		"its own":          event("message", "C1", object{"user": bot}),
		"its own as a bot": event("message", "C1", object{"bot_id": "B0ETUI"}),
		"nobody":           event("message", "C1", object{"user": nil}),
		"no text":          event("message", "C1", object{"text": ""}),
		"another event":    event("reaction_added", "C1", object{"files": "of another type", "item": object{"ts": "1"}}),
		"a broken time":    event("message", "C1", object{"ts": "yesterday"}),
		"a broken message": event("message", "C1", object{"text": object{}}),
	} {
		d := s.Push("events_api", slacktest.Callback(ignored))
		s.acknowledged(d)
		if len(in) > 0 {
			t.Errorf("%s is handed over: %+v", name, <-in)
		}
	}
	for _, other := range []*slacktest.Delivery{
		s.Push("events_api", object{"type": "app_rate_limited"}), s.Push("events_api", "text"), s.Push("interactive", object{"type": "view_submission"}),
		s.Push("interactive", object{"type": "block_actions", "actions": []object{{"type": "button", "action_id": "of another app", "value": "x"}}}),
		s.Push("slash_commands", object{"command": "/etui"}), s.Push("unknown", nil),
	} {
		s.acknowledged(other)
	}

	push := func(kind string, payload any) channel.Incoming {
		s.acknowledged(s.Push(kind, payload))
		return in.next(t)
	}
	m := push("events_api", slacktest.Callback(event("message", "C1", object{"thread_ts": "1700000000.000001", "parent_user_id": bot, "text": "a <https://x.org|link> &lt;3"})))
	if m.At != (channel.Address{Chat: "C1", Thread: "1700000000.000001", Message: "C1:1700000100.000200"}) || !m.Mentioned || !m.Group || m.Text != "a [link](https://x.org) <3" {
		t.Errorf("an answer in a thread: %+v", m)
	}
	if !m.Time.Equal(time.Unix(1700000100, 200_000)) || m.From.Handle != "ann" || m.From.Name != "Ann" || !slices.Equal(m.From.Roles, []string{"member"}) {
		t.Errorf("sender and time: %+v", m)
	}
	m = push("events_api", slacktest.Callback(event("message", "C1", object{"ts": "1700000101.000000", "subtype": "thread_broadcast", "thread_ts": "1700000000.000001", "bot_id": "B9"})))
	if m.Mentioned || !m.From.Bot {
		t.Errorf("a broadcast of a bot: %+v", m)
	}
	m = push("events_api", slacktest.Callback(event("app_mention", "C1", object{"ts": "1700000102.000000", "text": "what do you say, <@" + bot + ">?", "channel_type": nil})))
	if !m.Mentioned || !m.Group || m.Text != "what do you say, ?" || m.At.Thread != "1700000102.000000" {
		t.Errorf("a mention: %+v", m)
	}
	m = push("events_api", slacktest.Callback(event("message", "D1", object{"ts": "1700000103.000000", "channel_type": "im"})))
	if m.Group || m.Mentioned || m.At.Thread != "" {
		t.Errorf("a direct message: %+v", m)
	}
	m = push("events_api", slacktest.Callback(event("message", "G1", object{"ts": "1700000104.000000", "channel_type": "mpim"})))
	if !m.Group || m.Mentioned {
		t.Errorf("a message to several people: %+v", m)
	}
	m = push("slash_commands", object{"command": "/etui", "text": "what is <@U2|bob> doing?", "user_id": "4711", "user_name": "ann", "channel_id": "C1", "channel_name": "general", "trigger_id": "13345224609.738474920.8088930838d88f008e0", "team_id": team})
	if m.Text != "what is @bob doing?" || m.At != (channel.Address{Chat: "C1"}) || !m.Mentioned || !m.Group || m.From.ID != "4711" {
		t.Errorf("a slash command: %+v", m)
	}
	m = push("slash_commands", object{"command": "/etui", "text": "hello", "user_id": "4711", "channel_id": "D7", "channel_name": "directmessage", "trigger_id": "1.2"})
	if m.Group || m.At.Chat != "4711" {
		t.Errorf("a slash command in a direct chat: %+v", m)
	}
	m = push("interactive", press("C1", "yes"))
	if m.Text != "yes" || !m.Mentioned || !m.Group || m.At.Message != "C1:1700000000.000009" || m.At.Thread != "1700000000.000009" || m.From.ID != "4711" {
		t.Errorf("a button: %+v", m)
	}
	if len(in) > 0 {
		t.Errorf("left over: %+v", <-in)
	}
}

// press is the press of a button.
func press(chat, value string) object {
	return object{
		"type": "block_actions", "user": object{"id": "4711", "username": "ann", "name": "ann", "team_id": team}, "api_app_id": "A1", "token": "x",
		"container": object{"type": "message", "message_ts": "1700000000.000009", "channel_id": chat, "is_ephemeral": false}, "trigger_id": "1.2.3",
		"team": object{"id": team, "domain": "acme"}, "channel": object{"id": chat, "name": "general"}, "message": object{"type": "message", "ts": "1700000000.000009", "text": "?"},
		"actions": []object{{"type": "button", "action_id": "etui_0", "block_id": "b", "value": value, "action_ts": "1700000105.000001", "text": object{"type": "plain_text", "text": "Yes"}}},
	}
}

func TestRoles(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	s.Person("U1", object{"name": "o", "team_id": team, "is_owner": true, "is_admin": true, "real_name": "Olga"})
	s.Person("U2", object{"name": "a", "team_id": team, "is_admin": true})
	s.Person("U3", object{"name": "g", "team_id": team, "is_restricted": true})
	s.Person("U4", object{"name": "e", "team_id": "TELSE", "is_owner": true, "is_admin": true})
	s.Person("U5", object{"name": "d", "team_id": team, "deleted": true})
	s.Person("U6", object{"name": "x", "team_id": "TELSE", "enterprise_user": object{"teams": []string{team}}})
	for id, want := range map[string][]string{"U1": {"owner", "administrator"}, "U2": {"administrator"}, "U3": {"guest"}, "U4": {"guest"}, "U5": nil, "U6": {"member"}, "U7": nil} {
		for n := range 2 {
			s.Push("events_api", slacktest.Callback(event("message", "C1", object{"user": id, "ts": "17000001" + id[1:] + "0.00000" + string(rune('0'+n))})))
			if m := in.next(t); !slices.Equal(m.From.Roles, want) {
				t.Errorf("%s: %v, want %v", id, m.From.Roles, want)
			}
		}
	}
	if n := len(s.Called("users.info")); n != 7 {
		t.Errorf("%d questions about 7 people", n)
	}
}

func TestFilesIn(t *testing.T) {
	t.Parallel()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("another server is asked, with %q", r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	s, _, in := begin(t)
	s.Upload("a.png", []byte("picture"))
	s.Answer("files.info", object{"ok": true, "file": object{"id": "F5", "name": "shared.png", "url_private": s.URL + "/files/a.png", "size": 7}})
	file := func(name, url string, size int) object {
		return object{"id": "F1", "name": name, "mimetype": "image/png", "size": size, "url_private": url}
	}
	s.Push("events_api", slacktest.Callback(event("message", "D1", object{"channel_type": "im", "subtype": "file_share", "text": "", "files": []object{
		file("a.png", s.URL+"/files/a.png", 7), file("lies.png", s.URL+"/files/a.png", 1), file("large.png", s.URL+"/files/a.png", 21<<20),
		file("else.png", elsewhere.URL+"/a.png", 7), file("trick.png", strings.Replace(s.URL, "://", "://"+strings.TrimPrefix(s.URL, "http://")+"@", 1)+"/files/a.png", 7),
		file("missing.png", s.URL+"/files/b.png", 7), {"id": "F5", "file_access": "check_file_info"},
	}})))
	m := in.next(t)
	var files []string
	for _, f := range m.Files {
		files = append(files, f.Name+"="+string(f.Data))
	}
	if want := []string{"a.png=picture", "lies.png=picture", "large.png=", "else.png=", "trick.png=", "missing.png=", "shared.png=picture"}; !slices.Equal(files, want) {
		t.Errorf("files: %q", files)
	}
	if m.Files[0].MediaType != "image/png" || m.Files[2].Size != 21<<20 {
		t.Errorf("%+v, %+v", m.Files[0], m.Files[2])
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.Channel(t).(*slack.Channel)
	to := channel.Address{Chat: "C1", Thread: "1700000000.000001", Message: "C1:1700000000.000001"}
	id, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "choose **one**", Buttons: []channel.Button{{Label: "Yes", Text: "yes"}, {Text: strings.Repeat("y", 100)}, {Label: "long", Text: strings.Repeat("x", 3000)}}})
	if err != nil {
		t.Fatal(err)
	}
	m := s.Sent("")[0]
	blocks, _ := json.Marshal(m.Blocks)
	if id != "C1:"+m.TS || m.Thread != to.Thread || m.Text != "choose *one*" {
		t.Errorf("%s: %+v", id, m)
	}
	if want := `[{"text":{"text":"choose *one*","type":"mrkdwn"},"type":"section"},{"elements":[{"action_id":"etui_0","text":{"text":"Yes","type":"plain_text"},"type":"button","value":"yes"},{"action_id":"etui_1","text":{"text":"` + strings.Repeat("y", 74) + `…","type":"plain_text"},"type":"button","value":"` + strings.Repeat("y", 100) + `"}],"type":"actions"}]`; string(blocks) != want {
		t.Errorf("blocks:\n got %s\nwant %s", blocks, want)
	}
	if form := s.Called("chat.postMessage")[0]; form.Get("unfurl_links") != "false" || form.Get("unfurl_media") != "false" {
		t.Errorf("links are loaded: %v", form)
	}
	if err := c.Edit(t.Context(), to, id, "chosen"); err != nil || s.Sent("")[0].Text != "chosen" || s.Sent("")[0].Blocks != nil {
		t.Errorf("edit: %v, %+v", err, s.Sent(""))
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: strings.Repeat("a line & more\n", 280), Buttons: []channel.Button{{Label: "Yes", Text: "yes"}}}); err != nil || len(s.Sent("")[1].Blocks) != 3 {
		t.Errorf("a long text with buttons: %v, %d blocks", err, len(s.Sent("")[1].Blocks))
	}
	if id, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "U4711"}, Text: "to a person", Files: []chat.File{{Name: "a.txt", Data: []byte("A")}}}); err != nil || !strings.HasPrefix(id, "D4711:") || s.Sent("")[2].Chat != "D4711" || s.Sent("")[3].Chat != "U4711" || s.Sent("")[3].Files[0] != "a.txt=A" {
		t.Errorf("to a person: %s, %v", id, err)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: to}); err == nil {
		t.Error("an empty message is sent")
	}

	// A text whose files failed is not posted again.
	files := channel.Outgoing{To: to, Text: "two files", Key: "k7", Files: []chat.File{{Name: "a.txt", Data: []byte("A")}, {Data: []byte("B")}}}
	s.Answer("files.completeUploadExternal", object{"ok": false, "error": "internal_error"})
	if _, err := c.Send(t.Context(), files); err == nil {
		t.Error("files are sent though that fails")
	}
	s.Answer("files.completeUploadExternal", nil)
	id, err = c.Send(t.Context(), files)
	sent := s.Sent("")
	if err != nil || len(sent) != 7 || id != "C1:"+sent[4].TS || sent[5].Files[0] != "a.txt=A" || sent[6].Files[0] != "file=B" || sent[6].Thread != to.Thread {
		t.Errorf("files: %s, %v, %+v", id, err, sent[4:])
	}
	files.Text, files.Key = "", "k8"
	if id, err = c.Send(t.Context(), files); err != nil || !strings.HasPrefix(id, "F") {
		t.Errorf("nothing but files: %q, %v", id, err)
	}
}

func TestTyping(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.Channel(t).(*slack.Channel)
	direct, thread := channel.Address{Chat: "D1"}, channel.Address{Chat: "C1", Thread: "1700000000.000001"}
	for _, at := range []channel.Address{direct, thread} {
		if err := c.Typing(t.Context(), at); err != nil {
			t.Error(err)
		}
	}
	if calls := s.Called("assistant.threads.setStatus"); len(calls) != 1 || calls[0].Get("thread_ts") != thread.Thread || strings.ContainsAny(calls[0].Get("status"), "abcdefghijklmnopqrstuvwxyz") {
		t.Errorf("calls: %v", calls)
	}
	s.Answer("assistant.threads.setStatus", object{"ok": false, "error": "missing_scope", "needed": "chat:write"})
	for range 3 {
		if err := c.Typing(t.Context(), thread); err != nil {
			t.Error(err)
		}
	}
	if n := len(s.Called("assistant.threads.setStatus")); n != 2 {
		t.Errorf("%d calls; the second one was refused", n)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.Channel(t).(*slack.Channel)
	send := func() error {
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "C1"}, Text: "x"})
		return err
	}
	for code, want := range map[string]error{
		"invalid_auth": channel.ErrRefused, "account_inactive": channel.ErrRefused, "missing_scope": channel.ErrRefused, "is_archived": channel.ErrGone,
		"user_not_found": channel.ErrGone, "restricted_action_read_only_channel": channel.ErrGone, "internal_error": nil,
	} {
		s.Answer("chat.postMessage", object{"ok": false, "error": code, "needed": "chat:write"})
		err := send()
		if err == nil || !strings.Contains(err.Error(), code) || errors.Is(err, channel.ErrGone) != errors.Is(want, channel.ErrGone) || errors.Is(err, channel.ErrRefused) != errors.Is(want, channel.ErrRefused) {
			t.Errorf("%s: %v", code, err)
		}
	}
	s.Answer("chat.postMessage", object{"ok": false, "error": "ratelimited"})
	var limited *channel.Limited
	if err := send(); !errors.As(err, &limited) {
		t.Errorf("ratelimited: %v", err)
	}
	s.Answer("chat.postMessage", object{"ok": true, "padding": strings.Repeat("x", 2<<20)})
	if err := send(); err == nil {
		t.Error("an answer without end is read")
	}
	s.Answer("chat.postMessage", nil)

	// No error and no log holds a token, a ticket or the URL of a workflow.
	var log bytes.Buffer
	config := s.config()
	config.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	config.Workflows = map[string]string{"deploy": s.URL + "/triggers/workflow-secret"}
	c, err := slack.New(config)
	if err != nil {
		t.Fatal(err)
	}
	s.Answer("apps.connections.open", object{"ok": true, "url": strings.Replace(s.URL, "http", "ws", 1) + "/nowhere?ticket=one-time-secret"})
	refused := c.Run(t.Context(), make(got))
	s.Answer("apps.connections.open", object{"ok": true, "url": "wss://elsewhere.example/?ticket=one-time-secret"})
	elsewhere := c.Run(t.Context(), make(got))
	s.Answer("apps.connections.open", object{"ok": true, "url": "wss://127.0.0.1:1/?ticket=one-time-secret"})
	s.Close()
	_, away := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "C1"}, Text: "x"})
	_, workflow := c.Tools()[1].Call(t.Context(), json.RawMessage(`{"name":"deploy"}`))
	for name, err := range map[string]error{"refused": refused, "elsewhere": elsewhere, "away": away, "workflow": workflow, "probe": func() error { _, err := c.Probe(t.Context()); return err }()} {
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if strings.Contains(log.String(), "secret") {
		t.Errorf("the log: %s", &log)
	}
}

func TestRenewal(t *testing.T) {
	t.Parallel()
	s, in := newServer(t), make(got, 64)
	ended := run(t, s.Channel(t), in)
	connections := func(n int) func() bool { return func() bool { return s.Connected() == n } }
	s.await("a connection", connections(1))
	// Slack's pings are answered.
	if err := s.Ping(t.Context()); err != nil {
		t.Errorf("a ping: %v", err)
	}
	s.Cut(t)
	if err := <-ended; err == nil || errors.Is(err, channel.ErrRefused) {
		t.Errorf("after a cut: %v", err)
	}
	ended = run(t, s.Channel(t), in)
	s.await("the second connection", connections(2))
	s.Disconnect("warning")
	s.await("the third connection", connections(3))
	s.Say(t, channel.Incoming{From: channel.Sender{ID: "4711"}, At: channel.Address{Chat: "D1"}, Text: "still here"})
	if m := in.next(t); m.Text != "still here" {
		t.Errorf("got %+v", m)
	}
	s.acknowledged(s.Delivery(0))
	s.Cut(t)
	<-ended

	// A server that ends every connection is not asked forever, also if each brings something.
	last := 4
	for _, brings := range []bool{false, true} {
		ended = run(t, s.Channel(t), in)
		for range 4 {
			s.await("another connection", connections(last))
			if last++; brings {
				s.Say(t, channel.Incoming{From: channel.Sender{ID: "4711"}, At: channel.Address{Chat: "D1"}, Text: "hi"})
				in.next(t)
			}
			s.Disconnect("refresh_requested")
		}
		if err := <-ended; err == nil {
			t.Error("connections are renewed forever")
		}
	}
	ended = run(t, s.Channel(t), in)
	s.await("the last connection", connections(last))
	s.Disconnect("link_disabled")
	if err := <-ended; !errors.Is(err, channel.ErrRefused) {
		t.Errorf("Socket Mode was turned off: %v", err)
	}
}

// TestOneAfterAnother: a slow message holds up its own chat only, and one that is on its way
// already is not taken twice.
func TestOneAfterAnother(t *testing.T) {
	t.Parallel()
	s, in := newServer(t), make(slow)
	run(t, s.Channel(t), in)
	say := func(chat, text string) {
		s.Say(t, channel.Incoming{From: channel.Sender{ID: "4711"}, At: channel.Address{Chat: chat}, Text: text})
	}
	say("D1", "one")
	first := <-in
	say("D1", "two")
	say("D2", "three")
	second := <-in
	if first.Text != "one" || second.Text != "three" {
		t.Fatalf("%q, then %q", first.Text, second.Text)
	}
	s.await("a repetition", func() bool { return s.Delivery(0).Sent() > 2 })
	close(first.done)
	close(second.done)
	third := <-in
	if third.Text != "two" {
		t.Errorf("%q is third", third.Text)
	}
	close(third.done)
	s.await("acknowledgements", func() bool {
		return s.Delivery(0).Acknowledged() && s.Delivery(1).Acknowledged() && s.Delivery(2).Acknowledged()
	})
	select {
	case m := <-in:
		t.Errorf("%q arrives again", m.Text)
	default:
	}
}

// slow lets the test say when a message is safe.
type slow chan taking

type taking struct {
	channel.Incoming
	done chan struct{}
}

func (s slow) Receive(ctx context.Context, m channel.Incoming) error {
	t := taking{m, make(chan struct{})}
	select {
	case s <- t:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-t.done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	s, in := newServer(t), make(got, 64)
	config := s.config()
	config.AppToken, config.Secret = "", slacktest.Secret
	c, err := slack.New(config)
	if err != nil {
		t.Fatal(err)
	}
	deliver := func(r *http.Request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, r)
		return w
	}
	message := func(ts string) []byte {
		text, _ := json.Marshal(slacktest.Callback(event("message", "C1", object{"ts": ts})))
		return text
	}
	one := message("1700000100.000001")
	if w := deliver(request(t, "/", "application/json", one)); w.Code != http.StatusServiceUnavailable {
		t.Errorf("before Run: %d", w.Code)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx, in) }()
	challenge := []byte(`{"token":"x","challenge":"3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P","type":"url_verification"}`)
	for { // until Run has asked whose token it is
		w := deliver(request(t, "/", "application/json", challenge))
		if w.Code == http.StatusOK {
			if w.Body.String() != "3eZbrw1aBm2rZgRNFdxV2595E9CY3gmdALWMmHkvFXO7tYXAYM8P" {
				t.Errorf("the challenge: %q", w.Body)
			}
			break
		}
	}

	for name, c := range map[string]struct {
		change func(*http.Request)
		status int
	}{
		"no signature":    {func(r *http.Request) { r.Header.Del("X-Slack-Signature") }, 401},
		"no time":         {func(r *http.Request) { r.Header.Del("X-Slack-Request-Timestamp") }, 401},
		"another secret":  {func(r *http.Request) { slacktest.Sign(r, "guessed", time.Now(), one) }, 401},
		"another body":    {func(r *http.Request) { slacktest.Sign(r, slacktest.Secret, time.Now(), []byte("{}")) }, 401},
		"not hexadecimal": {func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v0=x") }, 401},
		"version 1":       {func(r *http.Request) { r.Header.Set("X-Slack-Signature", "v1="+strings.Repeat("0", 64)) }, 401},
		"replayed":        {func(r *http.Request) { slacktest.Sign(r, slacktest.Secret, time.Now().Add(-6*time.Minute), one) }, 401},
		"of the future":   {func(r *http.Request) { slacktest.Sign(r, slacktest.Secret, time.Now().Add(6*time.Minute), one) }, 401},
		"a GET":           {func(r *http.Request) { r.Method = http.MethodGet }, 405},
		"too large":       {func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader(strings.Repeat(" ", 2<<20))) }, 413},
	} {
		r := request(t, "/", "application/json", one)
		c.change(r)
		if w := deliver(r); w.Code != c.status {
			t.Errorf("%s: %d, want %d", name, w.Code, c.status)
		}
	}
	for _, broken := range []string{"", "{", "[]", `"text"`, `{"type":"event_callback"}`, `{"type":"event_callback","event":7}`} {
		if w := deliver(request(t, "/", "application/json", []byte(broken))); w.Code != 400 {
			t.Errorf("%q: %d", broken, w.Code)
		}
	}
	for contentType, broken := range map[string]string{"application/x-www-form-urlencoded": "payload={", "application/x-www-form-urlencoded; charset=utf-8": "text=%zz"} {
		if w := deliver(request(t, "/", contentType, []byte(broken))); w.Code != 400 {
			t.Errorf("%q: %d", broken, w.Code)
		}
	}
	if len(in) > 0 {
		t.Fatalf("%+v is handed over", <-in)
	}

	// A message arrives once, whether it is repeated by Slack or by somebody who has read it.
	retried := request(t, "/", "application/json", one)
	retried.Header.Set("X-Slack-Retry-Num", "1")
	for _, r := range []*http.Request{request(t, "/", "application/json", one), retried, request(t, "/", "application/json", one)} {
		if w := deliver(r); w.Code != 200 || w.Body.Len() > 0 {
			t.Errorf("%d %q", w.Code, w.Body)
		}
	}
	if m := in.next(t); m.ID != "C1:1700000100.000001" || len(in) != 0 {
		t.Errorf("got %+v and %d more", m, len(in))
	}
	for kind, payload := range map[string]object{"interactive": press("C1", "yes"), "slash_commands": {"command": "/etui", "text": "yes", "user_id": "4711", "channel_id": "C1", "channel_name": "general", "trigger_id": "1.2"}} {
		contentType, body := slacktest.Encode(kind, payload)
		if w := deliver(request(t, "/", contentType, body)); w.Code != 200 || w.Body.Len() > 0 {
			t.Errorf("%s: %d %q", kind, w.Code, w.Body)
		}
		if m := in.next(t); m.Text != "yes" {
			t.Errorf("%s: %+v", kind, m)
		}
	}

	stop()
	<-ended
	if w := deliver(request(t, "/", "application/json", message("1700000100.000002"))); w.Code != http.StatusServiceUnavailable {
		t.Errorf("after Run: %d", w.Code)
	}
	if c, _ := slack.New(s.config()); c != nil {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, request(t, "/", "application/json", one))
		if w.Code != http.StatusNotFound {
			t.Errorf("with Socket Mode: %d", w.Code)
		}
	}
}

// FuzzWebhook: whatever comes with a good signature, nothing panics and nothing is taken
// without sender, chat and ID.
func FuzzWebhook(f *testing.F) {
	for _, e := range []object{event("message", "C1", nil), event("app_mention", "C1", object{"text": "<@" + bot + "> x"}), event("message", "D1", object{"files": []object{{"id": "F1", "size": -1}}})} {
		text, _ := json.Marshal(slacktest.Callback(e))
		f.Add("application/json", text)
	}
	_, body := slacktest.Encode("interactive", press("C1", "yes"))
	f.Add("application/x-www-form-urlencoded", body)
	f.Add("application/x-www-form-urlencoded", []byte("command=/etui&text=x&user_id=U1&channel_id=C1&trigger_id=1"))
	f.Add("application/json", []byte(`{"type":"url_verification","challenge":"x"}`))
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "auth.test") {
			io.WriteString(w, `{"ok":true,"user_id":"`+bot+`","team_id":"T1"}`)
			return
		}
		io.WriteString(w, `{"ok":false,"error":"user_not_found"}`)
	}))
	f.Cleanup(api.Close)
	c, err := slack.New(slack.Config{Token: slacktest.BotToken, Secret: slacktest.Secret, URL: api.URL})
	if err != nil {
		f.Fatal(err)
	}
	in := make(got, 1)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); c.Run(ctx, in) }()
	f.Cleanup(func() { stop(); <-ended })
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, request(t, "/", contentType, body))
		select {
		case m := <-in:
			if m.ID == "" || m.From.ID == "" || m.At.Chat == "" || w.Code != 200 {
				t.Errorf("%d %+v", w.Code, m)
			}
		default:
		}
	})
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.Channel(t).(*slack.Channel)
	if account, err := c.Probe(t.Context()); err != nil || account != "etui (U0ETUI) in Acme (T061EG9R6)" {
		t.Errorf("%q, %v", account, err)
	}
	config := s.config()
	config.AppToken = "xapp-of-another-app"
	c, err := slack.New(config)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Probe(t.Context()); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("a wrong app-level token: %v", err)
	}
	config.Token = "xoxb-revoked"
	if c, err = slack.New(config); err != nil {
		t.Fatal(err)
	}
	if err := c.Run(t.Context(), make(got)); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("a wrong token: %v", err)
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	good := slack.Config{Token: slacktest.BotToken, AppToken: slacktest.AppToken}
	for want, change := range map[string]func(*slack.Config){
		"Bot User OAuth Token": func(c *slack.Config) { c.Token = "xoxp-of-a-person" },
		"app-level token":      func(c *slack.Config) { c.AppToken = slacktest.BotToken },
		"not both":             func(c *slack.Config) { c.Secret = slacktest.Secret },
		"app_token":            func(c *slack.Config) { c.AppToken = "" },
		"https":                func(c *slack.Config) { c.URL = "http://slack.example/api/" },
		"workflow": func(c *slack.Config) {
			c.Workflows = map[string]string{"deploy": "https://hooks.slack.com.example/triggers/x"}
		},
		"hooks.slack.com": func(c *slack.Config) { c.Workflows = map[string]string{"deploy": "https://slack.com@evil.example/"} },
	} {
		config := good
		change(&config)
		if _, err := slack.New(config); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "-1-secret") {
			t.Errorf("%s: %v", want, err)
		}
	}
	good.Workflows = map[string]string{"deploy": "https://hooks.slack.com/triggers/T1/2/3"}
	if _, err := slack.New(good); err != nil {
		t.Error(err)
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	var started []string
	s := newServer(t)
	s.Handle("POST /triggers/", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		started = append(started, r.URL.Path+" "+string(body))
		io.WriteString(w, `{"ok":true}`)
	})
	config := s.config()
	if c, err := slack.New(config); err != nil || len(c.Tools()) != 1 {
		t.Errorf("tools without their configuration: %v", err)
	}
	config.UserToken, config.Workflows = slacktest.UserToken, map[string]string{"deploy": s.URL + "/triggers/T1/2/3", "alarm": s.URL + "/triggers/T1/4/5"}
	c, err := slack.New(config)
	if err != nil {
		t.Fatal(err)
	}
	tools := map[string]tool.Tool{}
	for _, made := range c.Tools() {
		d := made.Definition()
		if !slices.Equal(d.Channels, []string{"slack"}) {
			t.Errorf("%s is for %v", d.Name, d.Channels)
		}
		tools[d.Name] = made
	}
	here := tool.WithHost(t.Context(), tool.Host{Facts: chat.Facts{Chat: "C024BE91L"}})
	for _, step := range []struct{ name, args, want string }{
		{"slack_huddle_link", `{}`, "https://app.slack.com/huddle/T061EG9R6/C024BE91L"},
		{"slack_huddle_link", `{"channel":"D1ABC"}`, "https://app.slack.com/huddle/T061EG9R6/D1ABC"},
		{"slack_reminder", `{"text":"eat a banana","time":"in 15 minutes"}`, "Slack will remind the owner of the token."},
		{"slack_workflow", `{"name":"deploy","inputs":{"version":"2"}}`, "The workflow deploy has been started."},
		{"slack_workflow", `{"name":"alarm"}`, "The workflow alarm has been started."},
	} {
		r, err := tools[step.name].Call(here, json.RawMessage(step.args))
		if err != nil || r.Text != step.want {
			t.Errorf("%s %s: %q, %v", step.name, step.args, r.Text, err)
		}
	}
	for _, step := range [][2]string{{"slack_huddle_link", `{"channel":"../x"}`}, {"slack_reminder", `{"text":"","time":"now"}`}, {"slack_workflow", `{"name":"other"}`}} {
		if r, err := tools[step[0]].Call(here, json.RawMessage(step[1])); err == nil && !r.Failed {
			t.Errorf("%s %s: %+v", step[0], step[1], r)
		}
	}
	if !slices.Equal(started, []string{`/triggers/T1/2/3 {"version":"2"}`, `/triggers/T1/4/5 {}`}) {
		t.Errorf("started: %q", started)
	}
	if form := s.Called("reminders.add"); len(form) != 1 || form[0].Get("text") != "eat a banana" || form[0].Get("time") != "in 15 minutes" {
		t.Errorf("reminders: %v", form)
	}
}
