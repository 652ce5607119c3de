package feishu_test

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
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/feishu"
	"github.com/etui-run/etui/channel/feishu/feishutest"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

func TestLongConnection(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return socket{newServer(t)} })
}

func TestWebhook(t *testing.T) {
	t.Parallel()
	channeltest.Run(t, func(t *testing.T) channeltest.Platform {
		s := newServer(t)
		s.hook = true
		return s
	})
}

func TestNew(t *testing.T) {
	t.Parallel()
	good := feishu.Config{AppID: "cli_1", AppSecret: "s"}
	for name, change := range map[string]func(*feishu.Config){
		"App ID":             func(c *feishu.Config) { c.AppID = "wx1" },
		"App Secret":         func(c *feishu.Config) { c.AppSecret = "" },
		"Encrypt Key":        func(c *feishu.Config) { c.VerificationToken = "v" },
		"Verification Token": func(c *feishu.Config) { c.EncryptKey = "k" },
		"region":             func(c *feishu.Config) { c.Region = "mars" },
		"url":                func(c *feishu.Config) { c.URL = "http://feishu.example.com" },
	} {
		c := good
		change(&c)
		if _, err := feishu.New(c); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	c, err := feishu.New(good)
	if err != nil {
		t.Fatal(err)
	}
	if traits := c.Traits(); traits.Pushed || !traits.Once || !traits.Buttons || traits.Platform != "feishu" {
		t.Errorf("%+v", traits)
	}
	w := httptest.NewRecorder()
	if c.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil)); w.Code != http.StatusNotFound {
		t.Errorf("a long connection takes requests: %d", w.Code)
	}
}

func TestProbe(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect(t)
	if who, err := c.Probe(t.Context()); err != nil || who != "etui (ou_bot)" {
		t.Errorf("%q, %v", who, err)
	}
	for name, change := range map[string]func(*feishu.Config){
		"ID":     func(c *feishu.Config) { c.AppID = "cli_other" },
		"secret": func(c *feishu.Config) { c.AppSecret = "wrong-and-private" },
	} {
		config := s.config()
		change(&config)
		c, err := feishu.New(config)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Probe(t.Context()); !errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(), "private") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestToken: one token serves all calls, is fetched again when the platform does not know it
// any more, and by one caller only.
func TestToken(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect(t)
	send := func(text string) error {
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "oc_1"}, Text: text})
		return err
	}
	if err := errors.Join(send("a"), send("b")); err != nil || s.Tokens() != 1 {
		t.Fatalf("%v, %d tokens", err, s.Tokens())
	}
	s.Expire()
	var all sync.WaitGroup
	errs := make(chan error, 8)
	for range 8 {
		all.Go(func() { errs <- send("c") })
	}
	all.Wait()
	close(errs)
	for err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if len(s.Sent("oc_1")) != 10 || s.Tokens() != 2 {
		t.Errorf("%d messages, %d tokens", len(s.Sent("oc_1")), s.Tokens())
	}
	s.Server.Fail(feishutest.Failure{Status: 400, Code: 99991663})
	s.Server.Fail(feishutest.Failure{Status: 400, Code: 99991663})
	if err := send("d"); !errors.Is(err, channel.ErrRefused) || s.Tokens() != 3 {
		t.Errorf("%v, %d tokens", err, s.Tokens())
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect(t)
	var limited *channel.Limited
	for _, test := range []struct {
		fail   feishutest.Failure
		gone   bool
		refuse bool
		wait   time.Duration
	}{
		{fail: feishutest.Failure{Status: 400, Code: 230013}, gone: true},
		{fail: feishutest.Failure{Status: 400, Code: 230002}, gone: true},
		{fail: feishutest.Failure{Status: 400, Code: 99991672}, refuse: true},
		{fail: feishutest.Failure{Status: 400, Code: 230006}, refuse: true},
		{fail: feishutest.Failure{Status: 400, Code: 99991400, Reset: 52}, wait: 52 * time.Second}, // older APIs
		{fail: feishutest.Failure{Status: 400, Code: 230020}, wait: 5 * time.Second},
		{fail: feishutest.Failure{Status: 429, Code: 99991400, Reset: 1 << 30}, wait: time.Hour},
		{fail: feishutest.Failure{Status: 400, Code: 230001}},
		{fail: feishutest.Failure{Status: 500}},
	} {
		s.Server.Fail(test.fail)
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "oc_1"}, Text: "x"})
		limited = nil
		wait := time.Duration(0)
		if errors.As(err, &limited) {
			wait = limited.After
		}
		if err == nil || errors.Is(err, channel.ErrGone) != test.gone || errors.Is(err, channel.ErrRefused) != test.refuse || wait != test.wait {
			t.Errorf("%+v: %v", test.fail, err)
		}
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "../../secret"}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("an address that is none: %v", err)
	}
}

// TestOnce: a message with the same key is sent once, also by a process that has forgotten it.
func TestOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	m := channel.Outgoing{To: channel.Address{Chat: "oc_1"}, Text: "hello", Key: strings.Repeat("k", 200)}
	first, err := s.connect(t).Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	again, err := s.connect(t).Send(t.Context(), m)
	if err != nil || again != first || len(s.Sent("")) != 1 {
		t.Errorf("%q, then %q, %v", first, again, err)
	}
	m.To.Chat = "oc_2"
	if other, err := s.connect(t).Send(t.Context(), m); err != nil || other == first {
		t.Errorf("another chat: %q, %v", other, err)
	}
}

// TestFilesOnce: what was sent of a message is not sent again when the rest has failed.
func TestFilesOnce(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect(t)
	m := channel.Outgoing{To: channel.Address{Chat: "oc_1"}, Text: "see", Key: "k", Files: []chat.File{
		{Name: "a.png", MediaType: "image/png", Data: []byte("PNG")}, {Name: "b.pdf", MediaType: "application/pdf", Data: []byte("PDF")}, {Name: "empty.txt"},
	}}
	s.Code("POST im/v1/files", 234000)
	if _, err := c.Send(t.Context(), m); err == nil {
		t.Fatal("the file was sent")
	}
	id, err := c.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	sent := s.Sent("oc_1")
	if len(sent) != 4 || sent[0].ID != id || len(s.Called("POST im/v1/images")) != 1 {
		t.Fatalf("%+v", sent)
	}
	var keys []string
	for _, m := range sent[1:3] {
		var c struct {
			Image string `json:"image_key"`
			File  string `json:"file_key"`
		}
		if err := json.Unmarshal([]byte(m.Content), &c); err != nil {
			t.Fatal(err)
		}
		keys = append(keys, m.Kind+" "+s.Uploaded(c.Image+c.File))
	}
	if !slices.Equal(keys, []string{"image a.png=PNG", "file b.pdf=PDF"}) || !strings.Contains(sent[3].Text(), "empty.txt (0 B)") {
		t.Errorf("%q, %q", keys, sent[3].Text())
	}
}

func TestReplies(t *testing.T) {
	t.Parallel()
	s, c, in := start(t, true)
	group := func(fields object) channel.Incoming {
		fields["chat_id"], fields["chat_type"] = "oc_g", "group"
		s.Write("ou_4711", fields)
		return in.next(t)
	}
	reply := func(to channel.Address) feishutest.Message {
		t.Helper()
		if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "an answer"}); err != nil {
			t.Fatal(err)
		}
		sent := s.Sent("")
		return sent[len(sent)-1]
	}
	m := group(object{"content": object{"text": "plain"}})
	if got := reply(m.At); got.Parent != m.ID || got.Thread || m.At.Thread != "" || got.Chat != "oc_g" {
		t.Errorf("in a group: %+v", got)
	}
	first := group(object{"content": object{"text": "begins a topic"}, "thread_id": "omt_1", "chat_type": "topic_group"})
	next := group(object{"content": object{"text": "goes on"}, "thread_id": "omt_1", "root_id": first.ID, "parent_id": first.ID})
	if first.At.Thread != first.ID || next.At.Thread != first.ID {
		t.Errorf("threads: %+v, %+v", first.At, next.At)
	}
	if got := reply(next.At); got.Parent != next.ID || !got.Thread {
		t.Errorf("in a thread: %+v", got)
	}
	if got := reply(channel.Address{Chat: "oc_g", Thread: first.ID}); got.Parent != first.ID || !got.Thread {
		t.Errorf("later, in a thread: %+v", got)
	}
	s.Write("ou_4711", object{"content": object{"text": "direct"}})
	if m = in.next(t); m.Group || m.At.Thread != "" {
		t.Errorf("%+v", m)
	}
	if got := reply(m.At); got.Parent != "" || got.Chat != m.At.Chat {
		t.Errorf("direct: %+v", got)
	}
	if got := reply(channel.Address{Chat: "ou_9"}); got.Chat != feishutest.DirectChat("ou_9") {
		t.Errorf("to a person: %+v", got)
	}
	// A question that was taken back.
	if got := reply(channel.Address{Chat: "oc_g", Message: "om_gone"}); got.Parent != "" || got.Chat != "oc_g" {
		t.Errorf("recalled: %+v", got)
	}
	if got := reply(channel.Address{Chat: "oc_g", Thread: first.ID, Message: "om_gone"}); got.Parent != first.ID {
		t.Errorf("recalled in a thread: %+v", got)
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "oc_g", Thread: "om_gone2", Message: "om_gone"}, Text: "x"}); !errors.Is(err, channel.ErrGone) {
		t.Errorf("a thread that is gone: %v", err)
	}
	// An answer to what the bot has said is for the bot.
	mine := s.Sent("oc_g")[0]
	if m := group(object{"content": object{"text": "why?"}, "parent_id": mine.ID, "root_id": mine.ID}); !m.Mentioned {
		t.Errorf("%+v", m)
	}
}

func TestReads(t *testing.T) {
	t.Parallel()
	s, _, in := start(t, false)
	s.Upload("img_v3_a", []byte("\x89PNG\r\n\x1a\n0000"))
	s.Upload("file_v3_b", []byte("text"))
	mentions := []object{feishutest.Mention(1, feishutest.Bot, "etui"), feishutest.Mention(2, "ou_8", "Bob")}
	for _, test := range []struct {
		kind    string
		content object
		text    string
		files   string
	}{
		{"text", object{"text": "@_user_1 ask @_user_2, @_all and @_user_10"}, "ask @Bob, @all and @_user_10", ""},
		{"text", object{"text": "hi @_user_1"}, "hi", ""},
		{"post", object{"title": "Plan", "content": [][]object{
			{{"tag": "at", "user_id": "@_user_1", "user_name": "etui"}, {"tag": "text", "text": " see "}, {"tag": "a", "text": "this", "href": "https://example.com"}},
			{{"tag": "img", "image_key": "img_v3_a"}}, {{"tag": "code_block", "language": "GO", "text": "x := 1\n"}}, {{"tag": "emotion", "emoji_type": "OK"}, {"tag": "hr"}},
		}}, "**Plan**\nsee [this](https://example.com)\n\n```go\nx := 1\n```\n:OK:---", "image image/png 12"},
		{"image", object{"image_key": "img_v3_a"}, "", "image image/png 12"},
		{"file", object{"file_key": "file_v3_b", "file_name": "notes.txt"}, "", "notes.txt text/plain 4"},
		{"audio", object{"file_key": "file_v3_b", "duration": 1000}, "", "audio.opus audio/ogg 4"},
		{"media", object{"file_key": "file_v3_none", "image_key": "img_v3_a", "file_name": "clip.mp4"}, "", "clip.mp4 video/mp4 0"},
		{"location", object{"name": "Office", "longitude": "121.4", "latitude": "31.2"}, "Office (geo:31.2,121.4)", ""},
	} {
		s.Write("ou_4711", object{"message_type": test.kind, "content": test.content, "mentions": mentions, "chat_id": "oc_g", "chat_type": "group"})
		m := in.next(t)
		var files []string
		for _, f := range m.Files {
			files = append(files, strings.Join([]string{f.Name, f.MediaType, itoa(len(f.Data))}, " "))
		}
		if m.Text != strings.TrimSpace(test.text) || strings.Join(files, ";") != test.files || !m.Mentioned || m.Time.IsZero() || m.From.Name != "Ann" {
			t.Errorf("%s: %q, %q, %+v", test.kind, m.Text, files, m)
		}
	}
}

func itoa(n int) string { text, _ := json.Marshal(n); return string(text) }

// TestLeavesOut: what is nothing to a reader is acknowledged and not handed over.
func TestLeavesOut(t *testing.T) {
	t.Parallel()
	for _, hook := range []bool{true, false} {
		s, _, in := start(t, hook)
		for _, d := range []*feishutest.Delivery{
			second(s.Write(feishutest.Bot, object{"content": object{"text": "its own"}})),
			second(s.Write("ou_4711", object{"content": object{"text": " "}})),
			s.Push("im.message.message_read_v1", object{"reader": object{}}),
			s.Push("card.action.trigger", object{"action": object{"tag": "button", "value": object{"other": "card"}}}),
			s.Push("card.action.trigger", object{"action": object{"tag": "button", "value": "text"}}),
		} {
			s.acknowledged(d)
		}
		s.Write("ou_robot", object{"content": object{"text": "beep"}, "sender_type": "app"})
		if m := in.next(t); !m.From.Bot {
			t.Errorf("%+v", m)
		}
		s.Write("ou_4711", object{"content": object{"text": "next"}})
		if m := in.next(t); m.Text != "next" {
			t.Errorf("%+v", m)
		}
	}
}

func second(_ string, d *feishutest.Delivery) *feishutest.Delivery { return d }

func TestRoles(t *testing.T) {
	t.Parallel()
	s, _, in := start(t, false)
	s.Person("ou_boss", object{"name": "Boss", "is_tenant_manager": true})
	roles := func(from string, fields object) string {
		fields["content"] = object{"text": "@_user_1 hi"}
		fields["mentions"] = []object{feishutest.Mention(1, feishutest.Bot, "etui")}
		s.Write(from, fields)
		m := in.next(t)
		return strings.Join(m.From.Roles, " ")
	}
	group := func() object { return object{"chat_id": "oc_g", "chat_type": "group"} }
	for from, want := range map[string]string{
		"ou_4711": "member", "ou_owner": "owner administrator", "ou_manager": "administrator", "ou_boss": "member tenant_administrator",
	} {
		for range 2 {
			if got := roles(from, group()); got != want {
				t.Errorf("%s is %q", from, got)
			}
		}
	}
	if got := roles("ou_owner", object{}); got != "member" {
		t.Errorf("the owner of a group is %q in a direct chat", got)
	}
	outside := group()
	outside["tenant_key"] = "another-company"
	if got := roles("ou_owner", outside); got != "guest" {
		t.Errorf("somebody of another company is %q", got)
	}
	// Each was asked about once.
	if n := len(s.Called("GET im/v1/chats/oc_g")); n != 1 {
		t.Errorf("the chat was asked for %d times", n)
	}
	if n := len(s.Called("GET contact/v3/users/ou_owner")); n != 1 {
		t.Errorf("the owner was asked for %d times", n)
	}
	s.Code("GET im/v1/chats/oc_h", 232025)
	if got := roles("ou_owner", object{"chat_id": "oc_h", "chat_type": "group"}); got != "member" {
		t.Errorf("without an answer of the platform the owner is %q", got)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	for _, hook := range []bool{true, false} {
		s, c, in := start(t, hook)
		ask := func(to channel.Address) (id string) {
			t.Helper()
			id, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "May I? <at id=all></at>", Key: "k" + to.Chat + to.Thread, Buttons: []channel.Button{
				{Label: "Yes", Text: "/approve 1"}, {Label: "No", Text: "/deny 1"}, {Label: "long", Text: strings.Repeat("x", 3000)},
			}})
			if err != nil {
				t.Fatal(err)
			}
			return id
		}
		// In a direct chat the buttons go away.
		s.Write("ou_4711", object{"content": object{"text": "hi"}})
		at := in.next(t).At
		id := ask(at)
		sent := s.Sent(at.Chat)
		if got := sent[0].Buttons(); !slices.Equal(got, []string{"Yes", "No"}) || shown(t, sent[0].Text()) != "May I? <at id=all></at>" {
			t.Errorf("%q, %q", got, sent[0].Text())
		}
		d := s.Server.Press("ou_4711", id, "Yes")
		m := in.next(t)
		s.acknowledged(d)
		if m.Text != "/approve 1" || m.Group || m.From.ID != "ou_4711" || m.At.Chat != at.Chat || m.ID == id {
			t.Errorf("%+v", m)
		}
		if answer := d.Answer(); !strings.Contains(answer, `"toast":{"content":"✓ Yes"`) || !strings.Contains(answer, `"card":{`) || strings.Contains(answer, "callback") {
			t.Errorf("answer: %s", answer)
		}
		again := func() {
			t.Helper()
			before := d.Answer()
			s.Again(t)
			s.acknowledged(d)
			if got := d.Answer(); got != before {
				t.Errorf("a press that comes again gets %s, before %s", got, before)
			}
		}
		again()
		// In a group others may still have to press, so they stay; the reply quotes the card.
		group := ask(channel.Address{Chat: "oc_g"})
		d = s.Server.Press("ou_owner", group, "No")
		m = in.next(t)
		s.acknowledged(d)
		if m.Text != "/deny 1" || !m.Group || !m.Mentioned || !slices.Equal(m.From.Roles, []string{"owner", "administrator"}) {
			t.Errorf("%+v", m)
		}
		if answer := d.Answer(); !strings.Contains(answer, "✓ No") || strings.Contains(answer, `"card"`) {
			t.Errorf("answer: %s", answer)
		}
		again()
		if _, err := c.Send(t.Context(), channel.Outgoing{To: m.At, Text: "done"}); err != nil {
			t.Fatal(err)
		}
		if all := s.Sent("oc_g"); all[len(all)-1].Parent != group {
			t.Errorf("%+v", all)
		}
	}
}

// TestPlain: a text that the platform does not show as a card comes all the same, and can be
// changed.
func TestPlain(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect(t)
	m := channel.Outgoing{To: channel.Address{Chat: "oc_1"}, Text: "REFUSE-CARD **x** <at user_id=\"all\"></at>\nmore", Key: "k", Buttons: []channel.Button{{Label: "Yes", Text: "/yes"}}}
	id, err := c.Send(t.Context(), m)
	if err != nil {
		t.Fatal(err)
	}
	sent := s.Sent("oc_1")
	if len(sent) != 1 || sent[0].Kind != "post" || sent[0].Text() != m.Text+"\n- Yes: /yes" {
		t.Errorf("%+v", sent)
	}
	if err := c.Edit(t.Context(), m.To, id, "new"); err != nil || s.Sent("oc_1")[0].Text() != "new" {
		t.Errorf("%+v, %v", s.Sent("oc_1"), err)
	}
	if err := c.Edit(t.Context(), m.To, "om_../x", "new"); err == nil {
		t.Error("an ID that is none was changed")
	}
}

func TestMark(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.connect(t)
	to := channel.Address{Chat: "oc_1", Message: "om_in1"}
	for _, busy := range []bool{true, true, false, false} {
		if err := c.Mark(t.Context(), to, busy); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(s.Sent("-")[0].Reactions, " "); got != map[bool]string{true: "GLANCE"}[busy] {
			t.Errorf("%v: %q", busy, got)
		}
	}
	if err := c.Mark(t.Context(), channel.Address{Chat: "oc_1"}, true); err == nil {
		t.Error("no message was named")
	}
}

// TestDeliveries: only what the platform has signed lately, for this app, is taken, once.
func TestDeliveries(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.hook = true
	var log bytes.Buffer
	config := s.config()
	config.Log = slog.New(slog.NewTextHandler(&log, nil))
	c, err := feishu.New(config)
	if err != nil {
		t.Fatal(err)
	}
	hook := httptest.NewServer(c)
	t.Cleanup(hook.Close)
	// Before it runs, the URL can be checked, and nothing is taken.
	if err := s.Check(t.Context(), hook.URL); err != nil {
		t.Error(err)
	}
	event := func(id string, change func(object)) []byte {
		o := feishutest.Event("ev-"+id, "im.message.receive_v1", object{
			"sender":  object{"sender_id": object{"open_id": "ou_4711"}, "sender_type": "user", "tenant_key": feishutest.Tenant},
			"message": object{"message_id": "om_" + id, "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text", "content": `{"text":"` + id + `"}`},
		})
		if change != nil {
			change(o)
		}
		text, _ := json.Marshal(o)
		return text
	}
	do := func(r *http.Request) int {
		t.Helper()
		res, err := s.Client.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		if strings.Contains(string(body), feishutest.Token) || strings.Contains(string(body), feishutest.Key) {
			t.Errorf("the answer tells a secret: %s", body)
		}
		return res.StatusCode
	}
	good := func(id string) *http.Request { return feishutest.Request(t.Context(), hook.URL, event(id, nil)) }
	if got := do(good("early")); got != http.StatusServiceUnavailable {
		t.Errorf("before it runs: %d", got)
	}
	in := make(inbox, 64)
	run(t, c, in)
	for do(good("first")) == http.StatusServiceUnavailable {
		<-time.After(time.Millisecond) // it does not run yet
	}
	in.next(t)
	resign := func(r *http.Request, key string, at time.Time) *http.Request {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		feishutest.Sign(r, key, at, body)
		return r
	}
	sealed := func(text []byte, key string) *http.Request {
		body, _ := json.Marshal(object{"encrypt": feishutest.Seal(key, text)})
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, hook.URL, bytes.NewReader(body))
		feishutest.Sign(r, feishutest.Key, time.Now(), body)
		return r
	}
	plain := func(body string) *http.Request {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, hook.URL, strings.NewReader(body))
		return resign(r, feishutest.Key, time.Now())
	}
	header := func(key string, value any) func(object) {
		return func(o object) { o["header"].(object)[key] = value }
	}
	unsigned := good("unsigned")
	unsigned.Header.Del("X-Lark-Signature")
	get := good("get")
	get.Method = http.MethodGet
	challenge := func(token string) []byte {
		text, _ := json.Marshal(object{"challenge": "x", "token": token, "type": "url_verification"})
		return text
	}
	for name, test := range map[string]struct {
		r    *http.Request
		want int
	}{
		"unsigned":                     {unsigned, 401},
		"signed with another key":      {resign(good("forged"), "another", time.Now()), 401},
		"old":                          {resign(good("old"), feishutest.Key, time.Now().Add(-6*time.Minute)), 401},
		"of the future":                {resign(good("future"), feishutest.Key, time.Now().Add(6*time.Minute)), 401},
		"not encrypted":                {plain(string(event("plain", nil))), 401},
		"another Encrypt Key":          {sealed(event("sealed", nil), "another"), 401},
		"another token":                {feishutest.Request(t.Context(), hook.URL, event("token", header("token", "another"))), 401},
		"another app":                  {feishutest.Request(t.Context(), hook.URL, event("app", header("app_id", "cli_other"))), 401},
		"challenge with another token": {feishutest.Request(t.Context(), hook.URL, challenge("another")), 401},
		"not JSON":                     {plain("{"), 401},
		"encrypted, not JSON":          {sealed([]byte("{"), feishutest.Key), 401},
		"too large":                    {plain(`{"encrypt":"` + strings.Repeat("A", 2<<20) + `"}`), 413},
		"GET":                          {get, 405},
		"no ID":                        {feishutest.Request(t.Context(), hook.URL, event("../x", nil)), 400},
		"malformed":                    {feishutest.Request(t.Context(), hook.URL, event("odd", func(o object) { o["event"] = "text" })), 400},
	} {
		if got := do(test.r); got != test.want {
			t.Errorf("%s: status %d, want %d", name, got, test.want)
		}
	}
	// Replayed and delivered again: once.
	for range 3 {
		if got := do(good("first")); got != http.StatusOK {
			t.Errorf("again: %d", got)
		}
	}
	if got := do(good("last")); got != http.StatusOK {
		t.Errorf("the last one: %d", got)
	}
	if m := in.next(t); m.Text != "last" {
		t.Errorf("handed over: %+v", m)
	}
	for _, secret := range []string{feishutest.Token, feishutest.Key, feishutest.AppSecret} {
		if strings.Contains(log.String(), secret) {
			t.Error("the log tells a secret")
		}
	}
}

// TestGivenUp: a request that the platform gives up is still taken, and known when it comes
// again.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.hook = true
	c, err := feishu.New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	in := make(inbox) // it waits until the test reads
	run(t, c, in)
	text, _ := json.Marshal(feishutest.Event("ev1", "im.message.receive_v1", object{
		"sender":  object{"sender_id": object{"open_id": "ou_4711"}, "sender_type": "user"},
		"message": object{"message_id": "om_1", "chat_id": "oc_1", "chat_type": "p2p", "message_type": "text", "content": `{"text":"slow"}`},
	}))
	deliver := func(ctx context.Context) int {
		for {
			w := httptest.NewRecorder()
			if c.ServeHTTP(w, feishutest.Request(ctx, "/", text)); w.Code != http.StatusServiceUnavailable || ctx.Err() != nil {
				return w.Code
			}
		}
	}
	ctx, giveUp := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); deliver(ctx) }()
	// The name of the sender is asked for while the message is being taken.
	s.await("the message to be taken", func() bool { return len(s.Called("GET contact/v3/users/ou_4711")) == 1 })
	giveUp()
	<-ended
	if m := in.next(t); m.Text != "slow" {
		t.Errorf("%+v", m)
	}
	if got := deliver(t.Context()); got != http.StatusOK { // it would wait for a reader
		t.Errorf("again: status %d", got)
	}
}

// TestFrames: events in several frames, pings and broken frames of the long connection.
func TestFrames(t *testing.T) {
	t.Parallel()
	s, _, in := start(t, false)
	s.Split(100)
	s.Write("ou_4711", object{"content": object{"text": strings.Repeat("long ", 200)}})
	if m := in.next(t); len(m.Text) != 999 {
		t.Errorf("%d bytes", len(m.Text))
	}
	s.await("a ping", func() bool { return s.Pings() > 0 })
	part := func(id, sum, seq string) []byte {
		return feishutest.Frame(1, [][2]string{{"type", "event"}, {"message_id", id}, {"sum", sum}, {"seq", seq}}, []byte("{"))
	}
	for _, b := range [][]byte{
		nil, {0xff}, []byte("text"), part("a", "1000000", "0"), part("a", "2", "5"), part("a", "2", "-1"), part("", "2", "0"), part("b", "2", "0"),
		feishutest.Frame(7, nil, nil), feishutest.Frame(0, [][2]string{{"type", "pong"}}, []byte("{")),
		feishutest.Frame(1, [][2]string{{"type", "event"}, {"message_id", "c"}}, []byte("not JSON")),
	} {
		if err := s.Raw(t.Context(), b); err != nil {
			t.Fatal(err)
		}
	}
	for i := range 100 { // events of which a frame never comes
		if err := s.Raw(t.Context(), part("half-"+itoa(i), "64", "0")); err != nil {
			t.Fatal(err)
		}
	}
	s.Write("ou_4711", object{"content": object{"text": "still there"}})
	if m := in.next(t); m.Text != "still there" || s.Connected() != 1 {
		t.Errorf("%+v, %d connections", m, s.Connected())
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	s, c, in := start(t, false)
	s.Write("ou_4711", object{"content": object{"text": "hi"}})
	chatID := in.next(t).At.Chat
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
	group := chat.Facts{Channel: "feishu", Chat: "oc_g", User: "ou_8", Attrs: map[string]string{"chat_kind": "group"}}
	named := chat.Facts{Channel: "feishu", Chat: "oc_g", User: "ann", Attrs: map[string]string{"chat_kind": "group"}}
	direct := chat.Facts{Channel: "feishu", User: "ann", Attrs: map[string]string{"chat": chatID, "chat_kind": "direct"}}
	const event = "POST calendar/v4/calendars/feishu.cn_bot@group.calendar.feishu.cn/events"
	for _, test := range []struct {
		facts            chat.Facts
		name, args, want string
		failed           bool
	}{
		{group, "feishu_task", `{"title":"Send the report","due":"2026-11-30"}`, "https://applink.feishu.cn/client/todo", false},
		{direct, "feishu_task", `{"title":"Call Bob","due":"2026-11-30T18:00:00+08:00","about":"at noon"}`, "was created", false},
		{named, "feishu_task", `{"title":"x"}`, "direct chat", true},
		{group, "feishu_task", `{"title":" "}`, "has a title", true},
		{group, "feishu_task", `{"title":"x","due":"Friday"}`, "looks like 2026-11-30", true},
		{group, "feishu_event", `{"title":"Standup","start":"2026-11-30T10:00:00+08:00","minutes":15}`, "15 minutes", false},
		{direct, "feishu_event", `{"title":"Talk","start":"2026-11-30T10:00:00+08:00","minutes":30}`, "invitation is on its way", false},
		{group, "feishu_event", `{"title":"x","start":"tomorrow","minutes":15}`, "looks like 2026-11-30T10", true},
		{group, "feishu_event", `{"title":"x","start":"2026-11-30T10:00:00+08:00","minutes":0}`, "1 to 1440", true},
		{group, "feishu_event", `{"title":"","start":"2026-11-30T10:00:00+08:00","minutes":5}`, "title", true},
		{chat.Facts{Channel: "slack", Chat: "oc_g"}, "feishu_task", `{"title":"x"}`, "chat of Feishu only", true},
		{chat.Facts{}, "feishu_event", `{"title":"x","start":"2026-11-30T10:00:00+08:00","minutes":5}`, "chat of Feishu only", true},
	} {
		r, err := tools[test.name].Call(tool.WithHost(t.Context(), tool.Host{Facts: test.facts, Key: "key-1"}), json.RawMessage(test.args))
		if err != nil {
			r = tool.Failure("%v", err)
		}
		if r.Failed != test.failed || !strings.Contains(r.Text, test.want) {
			t.Errorf("%s %s: %+v", test.name, test.args, r)
		}
	}
	tasks := s.Called("POST task/v2/tasks")
	if len(tasks) != 2 || member(tasks[0].Body) != "ou_8" || member(tasks[1].Body) != "ou_4711" || len(tasks[0].Body["client_token"].(string)) != 40 {
		t.Errorf("%+v", tasks)
	}
	if due := tasks[0].Body["due"].(map[string]any); due["timestamp"] != "1795996800000" || due["is_all_day"] != true {
		t.Errorf("%+v", due)
	}
	var invited []string
	for _, call := range s.Called(event + "/00592a0e_0/attendees") {
		text, _ := json.Marshal(call.Body["attendees"])
		invited = append(invited, string(text))
	}
	if want := []string{`[{"chat_id":"oc_g","type":"chat"}]`, `[{"type":"user","user_id":"ou_4711"}]`}; !slices.Equal(invited, want) {
		t.Errorf("%q", invited)
	}
	s.Code(event, 190003)
	r, err := tools["feishu_event"].Call(tool.WithHost(t.Context(), tool.Host{Facts: group}), json.RawMessage(`{"title":"x","start":"2026-11-30T10:00:00+08:00","minutes":5}`))
	if err != nil || !r.Failed || !strings.Contains(r.Text, "190003") {
		t.Errorf("%+v, %v", r, err)
	}
}

func member(body object) any { return body["members"].([]any)[0].(map[string]any)["id"] }
