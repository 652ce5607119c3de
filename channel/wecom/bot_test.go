package wecom_test

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/wecom"
	"github.com/etui-run/etui/channel/wecom/wecomtest"
	"github.com/etui-run/etui/chat"
)

type object = map[string]any

// bots is a server of AI bots as the suite drives it.
type bots struct{ *wecomtest.Bots }

// shown are the signs of Markdown, which readers do not see.
var shown = regexp.MustCompile("\\*\\*|\\\\([!-/:-@[-`{-~])|`")

func newBots(t *testing.T) bots {
	b := bots{wecomtest.StartBots()}
	t.Cleanup(b.Close)
	return b
}

func (b bots) open(t *testing.T, secret string) *wecom.Bot {
	t.Helper()
	c, err := wecom.NewBot(wecom.BotConfig{ID: wecomtest.BotID, Secret: secret, URL: strings.Replace(b.URL,
		"http", "ws", 1), Client: b.Client})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Channel is that of a new process, whose connection takes the place of the one before.
func (b bots) Channel(t *testing.T) channel.Channel {
	b.Bots.Cut()
	return b.open(t, wecomtest.BotSecret)
}

func (b bots) Picky()         {}
func (b bots) Direct()        {}
func (b bots) Steady()        {}
func (b bots) Cut(*testing.T) { b.Bots.Cut() }

func (b bots) Say(_ *testing.T, m channel.Incoming) string {
	return b.Bots.Say(object{"msgtype": "text", "chattype": "single", "from": object{"userid": m.From.ID},
		"text": object{"content": m.Text}})
}

func (b bots) Seen(_ *testing.T, chat string) (seen []string) {
	for _, m := range b.Written(chat) {
		if m.Final {
			seen = append(seen, shown.ReplaceAllString(m.Text, "$1")+m.File)
		}
	}
	return seen
}

func (b bots) Fail(_ *testing.T, how channeltest.Failure) {
	code := map[channeltest.Failure]int{channeltest.Away: -1, channeltest.Gone: 81013,
		channeltest.Refused: 48002, channeltest.Rejected: 45002}[how]
	b.Refuse("aibot_respond_msg", code)
	b.Refuse("aibot_send_msg", code)
}

func TestBot(t *testing.T) {
	channeltest.Run(t, func(t *testing.T) channeltest.Platform { return newBots(t) })
}

// arrivals runs a bot and returns what it hands over.
func (b bots) arrivals(t *testing.T) (*wecom.Bot, func() channel.Incoming) {
	t.Helper()
	c := b.open(t, wecomtest.BotSecret)
	got := make(chan channel.Incoming, 10)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = c.Run(ctx, receiver(got))
	}()
	t.Cleanup(func() { stop(); <-ended })
	return c, func() channel.Incoming {
		select {
		case m := <-got:
			return m
		case <-time.After(30 * time.Second):
			t.Fatal("nothing arrives")
			panic("unreachable")
		}
	}
}

type receiver chan channel.Incoming

// Wants leaves out the group wr2.
func (r receiver) Wants(_ context.Context, m channel.Incoming) bool { return m.At.Chat != "group:wr2" }

func (r receiver) Receive(_ context.Context, m channel.Incoming) error { r <- m; return nil }

// TestBotReads: a bot reads what the platform brings, in groups, too, and files that are encrypted.
func TestBotReads(t *testing.T) {
	t.Parallel()
	b := newBots(t)
	_, next := b.arrivals(t)
	text := func(s string) object { return object{"msgtype": "text", "text": object{"content": s}} }
	file := func(kind string) object {
		return object{"msgtype": kind, kind: b.Upload("报价 单.png", []byte("\x89PNG\r\n\x1a\n1234"))}
	}
	for name, c := range map[string]struct {
		body  object
		text  string
		files int
	}{
		"text":      {text("你好"), "你好", 0},
		"voice":     {object{"msgtype": "voice", "voice": object{"content": "what I said"}}, "what I said", 0},
		"no words":  {object{"msgtype": "voice", "voice": object{}}, "(a voice message without its words)", 0},
		"a picture": {file("image"), "", 1},
		"a file":    {file("file"), "", 1},
		"mixed": {object{"msgtype": "mixed", "mixed": object{"msg_item": []object{text("look"),
			file("image")}}}, "look", 1},
		"a quote": {object{"msgtype": "text", "text": object{"content": "why?"}, "quote": text("it failed")},
			"> it failed\n\nwhy?", 0},
		"another": {object{"msgtype": "poll"}, "(a message of the type poll, which cannot be read)", 0},
		"a button": {object{"msgtype": "event", "event": object{
			"eventtype": "template_card_event", "template_card_event": object{"event_key": "Yes|/approve 1"},
		}}, "/approve 1", 0},
	} {
		c.body["from"], c.body["chattype"] = object{"userid": "ann"}, "single"
		b.Bots.Say(c.body)
		m := next()
		if m.Text != c.text || len(m.Files) != c.files || m.Group || m.At.Chat != "ann" || m.From.ID != "ann" {
			t.Errorf("%s: %+v", name, m)
		}
		for _, f := range m.Files {
			if f.Name != "报价 单.png" || !strings.HasPrefix(string(f.Data), "\x89PNG") || !strings.HasSuffix(string(f.Data), "1234") {
				t.Errorf("%s: the file is %s %q", name, f.Name, f.Data)
			}
		}
	}
	b.Bots.Say(object{"msgtype": "text", "chattype": "group", "chatid": "wr1", "from": object{"userid": "ann"},
		"text": object{"content": "@Helper /status"}})
	if m := next(); !m.Group || !m.Mentioned || m.Text != "/status" || m.At.Chat != "group:wr1" {
		t.Errorf("in a group: %+v", m)
	}
	b.Bots.Say(object{"msgtype": "text", "chattype": "group", "chatid": "wr2", "from": object{"userid": "ann"},
		"text": object{"content": "@Helper hi"}})
	if m := next(); !m.Added || m.At.Chat != "group:wr2" {
		t.Errorf("in a group that is closed: %+v", m)
	}
	away := file("file")
	away["file"].(object)["url"] = "https://evil.example/f"
	away["from"] = object{"userid": "ann"}
	b.Bots.Say(away)
	if m := next(); len(m.Files) != 1 || m.Files[0].Data != nil {
		t.Errorf("a file that is elsewhere: %+v", m.Files)
	}
}

// TestBotAnswers: the first text answers the message, and replaces the dots; what follows, and what the
// platform does not take as an answer, goes to the chat.
func TestBotAnswers(t *testing.T) {
	t.Parallel()
	b := newBots(t)
	c, next := b.arrivals(t)
	b.Bots.Say(object{"msgtype": "text", "chattype": "group", "chatid": "wr1", "from": object{"userid": "ann"},
		"text": object{"content": "@Helper hi"}})
	at := next().At
	at.Message = "1"
	send := func(m channel.Outgoing) {
		t.Helper()
		if _, err := c.Send(t.Context(), m); err != nil {
			t.Error(err)
		}
	}
	if err := c.Mark(t.Context(), at, true); err != nil {
		t.Error(err)
	}
	if list := b.Written("wr1"); len(list) != 1 || list[0].Final {
		t.Errorf("while the answer is being written: %+v", list)
	}
	send(channel.Outgoing{To: at, Text: "**one**"})
	if err := c.Mark(t.Context(), at, true); err != nil { // they come too late, and do not take the answer away
		t.Error(err)
	}
	send(channel.Outgoing{To: at, Text: "two"}) // the stream has ended
	at.Message = ""
	send(channel.Outgoing{To: at, Text: "Sure?", Buttons: []channel.Button{{Label: "Yes", Text: "/approve 1"}}})
	big := strings.Repeat("0123456789", 120_000)
	send(channel.Outgoing{To: at, Files: []chat.File{{Name: "a.txt", MediaType: "text/plain", Data: []byte(big)}}})
	var got []string
	for _, m := range b.Written("wr1") {
		got = append(got, fmt.Sprintf("%s %s%s%d", m.Kind, m.Text, m.Buttons, len(m.File)))
	}
	want := []string{"stream **one**[]0", "markdown two[]0", "template_card Sure?[Yes|/approve 1]0",
		fmt.Sprintf("file []%d", len("a.txt=")+len(big))}
	if !slices.Equal(got, want) {
		t.Errorf("written: %q, want %q", got, want)
	}
	if _, err := c.Probe(t.Context()); err != nil {
		t.Errorf("probe: %v", err)
	}
}

// TestBotPressed: the button that was pressed stands in place of the buttons of its card.
func TestBotPressed(t *testing.T) {
	t.Parallel()
	b := newBots(t)
	c, next := b.arrivals(t)
	b.Bots.Say(object{"msgtype": "text", "from": object{"userid": "ann"}, "chattype": "single", "text": object{"content": "hi"}})
	next()
	to := channel.Address{Chat: "ann"}
	if _, err := c.Send(t.Context(), channel.Outgoing{
		To: to, Text: "Sure?", Buttons: []channel.Button{{Label: "Yes", Text: "/approve 1"}},
	}); err != nil {
		t.Fatal(err)
	}
	task := b.Written("ann")[0].Task
	b.Bots.Say(object{"msgtype": "event", "from": object{"userid": "ann"}, "chattype": "single", "event": object{
		"eventtype": "template_card_event", "template_card_event": object{"event_key": "Yes|/approve 1", "task_id": task},
	}})
	if m := next(); m.Text != "/approve 1" {
		t.Errorf("pressed: %+v", m)
	}
	if list := b.Written("ann"); len(list) != 2 || list[1].Kind != "update of "+task || list[1].Text != "✓ Yes: Sure?" {
		t.Errorf("written: %+v", list)
	}
}

// TestBotRefused: a wrong secret, and another program with the same bot, are refusals of the account.
func TestBotRefused(t *testing.T) {
	t.Parallel()
	b := newBots(t)
	wrong := b.open(t, "wrong")
	if err := wrong.Run(t.Context(), make(receiver, 1)); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("a wrong secret: %v", err)
	}
	if _, err := wrong.Probe(t.Context()); !errors.Is(err, channel.ErrRefused) || strings.Contains(err.Error(),
		"wrong") {
		t.Errorf("a probe with a wrong secret: %v", err)
	}
	b.Replace()
	if err := b.open(t, wecomtest.BotSecret).Run(t.Context(), make(receiver, 1)); !errors.Is(err, channel.ErrRefused) {
		t.Errorf("replaced: %v", err)
	}
	if _, err := b.open(t, wecomtest.BotSecret).Send(t.Context(),
		channel.Outgoing{To: channel.Address{Chat: "ann"}, Text: "x"}); channeltest.Meaning(err) != "moment" {
		t.Errorf("without a connection: %v", err)
	}
}

// TestRefusals: what WeCom refuses is about a message, a chat, the account or the moment.
func TestRefusals(t *testing.T) {
	t.Parallel()
	b := newBots(t)
	c, next := b.arrivals(t)
	b.Bots.Say(object{"msgtype": "text", "from": object{"userid": "ann"}, "chattype": "single", "text": object{"content": "hi"}})
	next()
	for want, codes := range map[string][]int{
		"message":    {40058, 44004, 45002, 846608, 999999},
		"chat":       {40003, 60111, 81013, 86001, 86003},
		"account":    {40001, 48002, 60020, 301002},
		"chat waits": {45009, 45033, 846607},
		"moment":     {-1},
	} {
		for _, code := range codes {
			b.Refuse("aibot_send_msg", code)
			_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "ann"}, Text: "x"})
			if got := channeltest.Meaning(err); got != want {
				t.Errorf("%d is about the %s, want the %s: %v", code, got, want, err)
			}
		}
	}
}
