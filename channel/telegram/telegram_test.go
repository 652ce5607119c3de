package telegram_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf16"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/telegram"
	"github.com/etui-run/etui/channel/telegram/telegramtest"
	"github.com/etui-run/etui/chat"
)

type object = telegramtest.Object

var (
	ann     = object{"id": 4711, "is_bot": false, "first_name": "Ann", "username": "ann"}
	private = object{"id": 4711, "type": "private", "first_name": "Ann"}
	group   = object{"id": -100, "type": "supergroup", "title": "Friends"}
	self    = object{"id": telegramtest.BotID, "is_bot": true, "first_name": "etui", "username": "etui_bot"}
)

// server starts a Bot API server for a test.
func server(t *testing.T) *telegramtest.Server {
	s := telegramtest.Start()
	t.Cleanup(s.Close)
	return s
}

func newChannel(t *testing.T, cfg telegram.Config) *telegram.Channel {
	t.Helper()
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	c, err := telegram.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inbox is a receiver.
type inbox struct {
	got  chan channel.Incoming
	fail func(channel.Incoming) error
}

func (i *inbox) Receive(_ context.Context, m channel.Incoming) error {
	if i.fail != nil {
		if err := i.fail(m); err != nil {
			return err
		}
	}
	i.got <- m
	return nil
}

func (i *inbox) next(t *testing.T) channel.Incoming {
	t.Helper()
	select {
	case m := <-i.got:
		return m
	case <-t.Context().Done():
	case <-time.After(30 * time.Second):
	}
	t.Fatal("the message did not arrive")
	panic("unreachable")
}

// start runs a channel until the test ends, again whenever it fails, and returns what it
// hands over.
func start(t *testing.T, c *telegram.Channel, fail func(channel.Incoming) error) *inbox {
	in := &inbox{make(chan channel.Incoming, 100), fail}
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	ended.Go(func() {
		for ctx.Err() == nil {
			_ = c.Run(ctx, in)
		}
	})
	t.Cleanup(func() { stop(); ended.Wait() })
	return in
}

// conversation starts a server and a channel that polls.
func conversation(t *testing.T) (*telegramtest.Server, *telegram.Channel, *inbox) {
	s := server(t)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL})
	return s, c, start(t, c, nil)
}

// platform drives the server for the conformance suite.
type platform struct {
	*telegramtest.Server
	webhook bool
}

func (p *platform) Channel(t *testing.T) channel.Channel {
	cfg := telegram.Config{Token: p.Token, URL: p.URL}
	if !p.webhook {
		return newChannel(t, cfg)
	}
	var c *telegram.Channel
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { c.ServeHTTP(w, r) }))
	t.Cleanup(web.Close)
	cfg.Webhook = web.URL + "/telegram"
	c = newChannel(t, cfg)
	return c
}

func (p *platform) Say(_ *testing.T, m channel.Incoming) string {
	from, place := object{"id": m.From.ID, "first_name": m.From.Name, "username": m.From.Handle}, object{"id": m.At.Chat, "type": "private"}
	for _, o := range []object{from, place} { // the API has numbers
		o["id"], _ = strconv.ParseInt(o["id"].(string), 10, 64)
	}
	fields := object{"from": from, "chat": place, "text": m.Text}
	if m.Group {
		place["type"] = "supergroup"
	}
	if m.Mentioned {
		fields["text"] = "@etui_bot " + m.Text
		fields["entities"] = []object{{"type": "mention", "offset": 0, "length": 9}}
	}
	return strconv.FormatInt(p.Write(fields), 10)
}

func (p *platform) Seen(_ *testing.T, chat string) (list []string) {
	for _, m := range p.Sent(chat) {
		list = append(list, m.Text)
	}
	return list
}

func (p *platform) Picky() {}

func (p *platform) Fail(_ *testing.T, how channeltest.Failure) {
	p.Server.Fail("sendMessage", map[channeltest.Failure]telegramtest.Failure{
		channeltest.Away:     {Code: 502, Description: "Bad Gateway", Page: true},
		channeltest.Busy:     {Code: 429, Description: "Too Many Requests: retry after 7", RetryAfter: 7},
		channeltest.Gone:     {Code: 403, Description: "Forbidden: bot was blocked by the user"},
		channeltest.Rejected: {Code: 400, Description: "Bad Request: SOMETHING_NEW"},
		channeltest.Refused:  {Code: 401, Description: "Unauthorized"},
	}[how])
}

func (p *platform) Redelivers() {}

func (p *platform) Patient() {}

func (p *platform) Press(t *testing.T, person, group, label string) {
	user, _ := strconv.ParseInt(person, 10, 64)
	place, _ := strconv.ParseInt(group, 10, 64)
	sent := p.Sent(group)
	for i := len(sent) - 1; i >= 0; i-- {
		if slices.ContainsFunc(sent[i].Buttons, func(b telegramtest.Button) bool { return b.Label == label }) {
			p.Server.Press(object{"id": user, "first_name": "Somebody"}, object{"id": place, "type": "supergroup"}, &sent[i], label)
			return
		}
	}
	t.Fatalf("there is no button %q", label)
}

func (p *platform) Again(*testing.T) { p.Server.Again() }

func (p *platform) Cut(*testing.T) { p.Server.Cut() }

func TestConformance(t *testing.T) {
	for name, webhook := range map[string]bool{"polling": false, "webhook": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			channeltest.Run(t, func(t *testing.T) channeltest.Platform { return &platform{server(t), webhook} })
		})
	}
}

// TestAddressed: who is meant in a group, and what is left of the text.
func TestAddressed(t *testing.T) {
	t.Parallel()
	s, _, in := conversation(t)
	at := func(kind string, offset, length int) object {
		return object{"type": kind, "offset": offset, "length": length}
	}
	theirs := object{"message_id": 7, "from": object{"id": 5, "first_name": "Bob"}, "chat": group, "text": "first\nsecond"}
	mine := object{"message_id": 8, "from": self, "chat": group, "text": "an answer"}
	for _, c := range []struct {
		name      string
		fields    object
		text      string
		mentioned bool
	}{
		{"nobody", object{"text": "hello"}, "hello", false},
		{"name, counted in UTF-16", object{"text": "🙂 @Etui_Bot, hello", "entities": []object{at("mention", 3, 9)}}, "🙂 , hello", true},
		{"name first", object{"text": "@etui_bot: hello", "entities": []object{at("mention", 0, 9)}}, "hello", true},
		{"name within", object{"text": "ask @etui_bot now", "entities": []object{at("mention", 4, 9)}}, "ask now", true},
		{"only the name", object{"text": "@etui_bot", "entities": []object{at("mention", 0, 9)}}, "@etui_bot", true},
		{"another name", object{"text": "@etui_bot2 hello", "entities": []object{at("mention", 0, 10)}}, "@etui_bot2 hello", false},
		{"mention without a name", object{"text": "etui hello", "entities": []object{{"type": "text_mention", "offset": 0, "length": 4, "user": self}}}, "hello", true},
		{"command", object{"text": "/new@etui_bot now", "entities": []object{at("bot_command", 0, 13)}}, "/new now", true},
		{"command for nobody", object{"text": "/new", "entities": []object{at("bot_command", 0, 4)}}, "/new", false},
		{"another bot's command, as an answer", object{"text": "/new@other_bot", "entities": []object{at("bot_command", 0, 14)}, "reply_to_message": mine}, "/new@other_bot", false},
		{"answer", object{"text": "and then?", "reply_to_message": mine}, "and then?", true},
		{"answer with a quotation", object{"text": "why?", "reply_to_message": mine, "quote": object{"text": "answer", "position": 3}}, "> answer\n\nwhy?", true},
		{"about somebody's message", object{"text": "@etui_bot translate", "entities": []object{at("mention", 0, 9)}, "reply_to_message": theirs}, "> first\n> second\n\ntranslate", true},
		{"in a topic of the bot", object{"text": "hello", "message_thread_id": 8, "is_topic_message": true, "reply_to_message": object{"message_id": 8, "from": self, "chat": group, "forum_topic_created": object{"name": "x"}}}, "hello", false},
		{"forwarded command", object{"text": "/approve 1", "forward_origin": object{"type": "user", "sender_user": object{"id": 6, "first_name": "Eve"}}}, "Forwarded from Eve:\n> /approve 1", false},
		{"markup", object{"text": "run x`y see docs\nline", "entities": []object{at("code", 4, 3), {"type": "text_link", "offset": 12, "length": 4, "url": "https://example.com/"}, {"type": "pre", "offset": 17, "length": 4, "language": "go"}}}, "run `` x`y `` see [docs](https://example.com/)\n```go\nline\n```", false},
		{"entities beyond the text", object{"text": "hi", "entities": []object{at("mention", 1, 1<<40), at("code", -5, 3), at("code", 9, 1)}}, "hi", false},
		{"caption", object{"caption": "@etui_bot look", "caption_entities": []object{at("mention", 0, 9)}, "document": object{"file_id": "none", "file_name": "a.txt"}}, "look", true},
		{"sticker", object{"sticker": object{"file_id": "s", "emoji": "👍", "set_name": "Cats"}}, "👍 (a sticker of the set Cats)", false},
		{"location", object{"location": object{"latitude": 52.5, "longitude": 13.4}}, "Location: latitude 52.5, longitude 13.4", false},
		{"contact", object{"contact": object{"first_name": "Bob", "phone_number": "+49 30"}}, "Contact: Bob , +49 30", false},
	} {
		fields := object{"chat": group, "from": ann}
		for k, v := range c.fields {
			fields[k] = v
		}
		s.Write(fields)
		got := in.next(t)
		if got.Text != strings.ReplaceAll(c.text, "Bob ,", "Bob,") && got.Text != c.text || got.Mentioned != c.mentioned {
			t.Errorf("%s: %q, %v", c.name, got.Text, got.Mentioned)
		}
	}
}

// TestPlace: where a message comes from and who wrote it.
func TestPlace(t *testing.T) {
	t.Parallel()
	s, _, in := conversation(t)
	s.Member(-100, 4711, "creator")
	s.Member(-100, 5, "administrator")
	s.Member(-100, 6, "restricted")
	s.Member(-100, 7, "left")
	owner := []string{"owner", "administrator", "member"}
	for _, c := range []struct {
		name   string
		fields object
		want   channel.Sender
	}{
		{"owner", object{"from": ann}, channel.Sender{ID: "4711", Handle: "ann", Name: "Ann", Roles: owner}},
		{"owner again", object{"from": ann}, channel.Sender{ID: "4711", Handle: "ann", Name: "Ann", Roles: owner}},
		{"administrator", object{"from": object{"id": 5, "first_name": "B\u202eob", "last_name": "Miller"}}, channel.Sender{ID: "5", Name: "B\\u202eob Miller", Roles: owner[1:]}},
		{"restricted", object{"from": object{"id": 6, "first_name": "C"}}, channel.Sender{ID: "6", Name: "C", Roles: []string{"restricted"}}},
		{"guest", object{"from": object{"id": 7, "first_name": "D"}}, channel.Sender{ID: "7", Name: "D", Roles: []string{"guest"}}},
		{"bot", object{"from": object{"id": 8, "is_bot": true, "first_name": "E"}}, channel.Sender{ID: "8", Name: "E", Bot: true, Roles: owner[2:]}},
		{"anonymous administrator", object{"from": object{"id": 1087968824, "is_bot": true, "first_name": "Group"}, "sender_chat": group}, channel.Sender{ID: "-100", Name: "Friends", Roles: owner[1:]}},
		{"channel in its group", object{"from": object{"id": 777000, "first_name": "Telegram"}, "sender_chat": object{"id": -200, "title": "News", "username": "news"}}, channel.Sender{ID: "-200", Handle: "news", Name: "News", Bot: true}},
	} {
		c.fields["chat"], c.fields["text"] = group, "hello"
		c.fields["message_thread_id"], c.fields["is_topic_message"] = 9, true
		s.Write(c.fields)
		got := in.next(t)
		if g, w := got.From, c.want; g.ID != w.ID || g.Handle != w.Handle || g.Bot != w.Bot || !slices.Equal(g.Roles, w.Roles) {
			t.Errorf("%s: %+v, want %+v", c.name, g, w)
		}
		if got.At != (channel.Address{Chat: "-100", Thread: "9", Message: got.ID}) || !got.Group || got.Time.IsZero() {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
	if n := len(s.Calls("getChatMember")); n != 5 {
		t.Errorf("%d questions for roles, want 5: they are remembered", n)
	}
	s.Fail("getChatMember", telegramtest.Failure{Code: 500, Description: "Internal Server Error"})
	s.Write(object{"from": object{"id": 9, "first_name": "F"}, "chat": group, "text": "hello"})
	if got := in.next(t); got.From.Roles != nil {
		t.Errorf("an unknown role: %v", got.From.Roles)
	}

	// The number of a thread counts in topics only.
	s.Write(object{"from": ann, "chat": group, "text": "hello", "message_thread_id": 9})
	if got := in.next(t); got.At.Thread != "" {
		t.Errorf("thread %q", got.At.Thread)
	}
	// What is not for the bot, or no message.
	post := object{"message_id": 1, "date": 1, "chat": object{"id": -300, "type": "channel", "title": "News"}, "text": "news"}
	s.Update("channel_post", post)
	s.Update("callback_query", object{"id": "1", "from": ann, "inline_message_id": "x", "data": "=hi"})
	s.Write(object{"from": ann, "chat": group, "new_chat_title": "Friends"})
	s.Write(object{"from": self, "chat": group, "text": "mine"})
	s.Update("channel_post", object{"message_id": 3, "date": 1, "chat": post["chat"], "text": "@etui_bot sum up", "entities": []object{{"type": "mention", "offset": 0, "length": 9}}})
	if got := in.next(t); got.ID != "3" || got.Text != "sum up" || got.From.ID != "-300" || !slices.Equal(got.From.Roles, owner[1:]) {
		t.Errorf("a post: %+v", got)
	}
}

func TestFiles(t *testing.T) {
	t.Parallel()
	s, c, in := conversation(t)
	small, large := s.Upload([]byte("small")), s.Upload([]byte("large"))
	s.Write(object{"from": ann, "chat": private, "caption": "look", "photo": []object{{"file_id": small, "file_size": 5, "width": 90}, {"file_id": large, "file_size": 6, "width": 900}, {"file_id": "huge", "file_size": 30 << 20}}})
	got := in.next(t)
	if got.Text != "look" || len(got.Files) != 1 || string(got.Files[0].Data) != "large" || got.Files[0].MediaType != "image/jpeg" {
		t.Errorf("a photo: %+v", got)
	}
	voice, doc, liar := s.Upload([]byte("ogg")), s.Upload([]byte("pdf")), s.Upload(make([]byte, 20<<20+1))
	s.Write(object{"from": ann, "chat": private, "voice": object{"file_id": voice, "file_size": 3, "mime_type": "audio/ogg"}})
	s.Write(object{"from": ann, "chat": private, "document": object{"file_id": doc, "file_size": 3, "file_name": "../a/b\n.pdf", "mime_type": "application/pdf"}})
	s.Write(object{"from": ann, "chat": private, "document": object{"file_id": "huge", "file_size": 21 << 20, "file_name": "c.zip"}})
	s.Write(object{"from": ann, "chat": private, "document": object{"file_id": liar, "file_size": 1, "file_name": "d.zip"}})
	s.Write(object{"from": ann, "chat": private, "document": object{"file_id": "unknown", "file_name": "e.zip"}})
	s.Write(object{"from": ann, "chat": private, "animation": object{"file_id": doc, "file_name": "f.gif"}, "document": object{"file_id": doc, "file_name": "f.gif"}})
	for _, want := range []chat.File{
		{Name: "voice.ogg", MediaType: "audio/ogg", Data: []byte("ogg"), Size: 3}, {Name: "b .pdf", MediaType: "application/pdf", Data: []byte("pdf"), Size: 3},
		{Name: "c.zip", MediaType: "application/octet-stream", Size: 21 << 20}, {Name: "d.zip", MediaType: "application/octet-stream", Size: 1},
		{Name: "e.zip", MediaType: "application/octet-stream"}, {Name: "f.gif", MediaType: "video/mp4", Data: []byte("pdf"), Size: 3},
	} {
		got := in.next(t)
		if len(got.Files) != 1 {
			t.Fatalf("%s: %+v", want.Name, got)
		}
		if f := got.Files[0]; f.Name != want.Name || f.MediaType != want.MediaType || !bytes.Equal(f.Data, want.Data) || f.Size != want.Size {
			t.Errorf("%q, %s, %d bytes, size %d; want %q", f.Name, f.MediaType, len(f.Data), f.Size, want.Name)
		}
	}
	// The picture that somebody asks about.
	s.Write(object{"from": ann, "chat": group, "text": "what is it?", "reply_to_message": object{"message_id": 1, "from": object{"id": 5, "first_name": "Bob"}, "chat": group, "photo": []object{{"file_id": small, "file_size": 5}}}})
	if got := in.next(t); got.Text != "what is it?" || len(got.Files) != 1 || string(got.Files[0].Data) != "small" {
		t.Errorf("an answered photo: %+v", got)
	}

	ctx := t.Context()
	files := []chat.File{{Name: "a.png", MediaType: "image/png", Data: []byte("png")}, {Name: "b.txt", MediaType: "text/plain", Data: []byte("text")}}
	id, err := c.Send(ctx, channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "two files", Files: files})
	if err != nil {
		t.Fatal(err)
	}
	// A picture of a shape that Telegram refuses is a document.
	s.Fail("sendPhoto", telegramtest.Failure{Code: 400, Description: "Bad Request: PHOTO_INVALID_DIMENSIONS"})
	if _, err := c.Send(ctx, channel.Outgoing{To: channel.Address{Chat: "4711"}, Files: files[:1]}); err != nil {
		t.Fatal(err)
	}
	var methods []string
	sent := s.Sent("4711")
	for _, m := range sent {
		methods = append(methods, m.Method)
	}
	if !slices.Equal(methods, []string{"sendMessage", "sendPhoto", "sendDocument", "sendDocument"}) || string(sent[1].File) != "png" || string(sent[2].File) != "text" || sent[2].Fields["document"] != "b.txt" {
		t.Errorf("sent %v: %+v", methods, sent)
	}
	if id != strconv.FormatInt(sent[0].ID, 10) {
		t.Errorf("ID %s", id)
	}
}

// TestGoesOn: a message that fails half-way is not sent twice.
func TestGoesOn(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL})
	m := channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "a file", Files: []chat.File{{Name: "a.txt", Data: []byte("a")}}, Key: "k"}
	s.Fail("sendDocument", telegramtest.Failure{Code: 500, Description: "Internal Server Error"})
	if _, err := c.Send(t.Context(), m); err == nil {
		t.Fatal("no error")
	}
	id, err := c.Send(t.Context(), m)
	sent := s.Sent("4711")
	if err != nil || len(sent) != 2 || sent[1].Method != "sendDocument" || id != strconv.FormatInt(sent[0].ID, 10) {
		t.Errorf("%q, %v: %+v", id, err, sent)
	}
}

func TestAlbum(t *testing.T) {
	t.Parallel()
	s := server(t)
	one, two := s.Upload([]byte("one")), s.Upload([]byte("two"))
	first := s.Write(object{"from": ann, "chat": private, "media_group_id": "g", "caption": "both", "photo": []object{{"file_id": one}}})
	s.Write(object{"from": ann, "chat": private, "media_group_id": "g", "photo": []object{{"file_id": two}}})
	s.Write(object{"from": ann, "chat": private, "text": "after"})
	in := start(t, newChannel(t, telegram.Config{Token: s.Token, URL: s.URL}), nil)
	got := in.next(t)
	if got.ID != strconv.FormatInt(first, 10) || got.Text != "both" || len(got.Files) != 2 || string(got.Files[1].Data) != "two" {
		t.Errorf("an album: %+v", got)
	}
	if got := in.next(t); got.Text != "after" {
		t.Errorf("after it: %+v", got)
	}
	s.Update("edited_message", object{"message_id": first, "from": ann, "chat": private, "media_group_id": "g", "caption": "both of them", "photo": []object{{"file_id": one}}})
	if got := in.next(t); !got.Edited || got.Text != "both of them" || len(got.Files) != 2 {
		t.Errorf("edited: %+v", got)
	}
}

// TestExternal brings a message of another chat that is answered, and the words that were chosen.
func TestExternal(t *testing.T) {
	t.Parallel()
	s, _, in := conversation(t)
	news := object{"type": "channel", "chat": object{"id": -100, "title": "News", "type": "channel"}}
	write := func(fields object) channel.Incoming {
		t.Helper()
		all := object{"from": ann, "chat": private}
		maps.Copy(all, fields)
		s.Write(all)
		return in.next(t)
	}
	document := object{"file_id": s.Upload([]byte("%PDF-")), "file_name": "a.pdf"}
	m := write(object{"text": "what do you think of this?", "quote": object{"text": "the quoted words"}, "external_reply": object{"origin": news, "document": document}})
	if m.Text != "> From News:\n> the quoted words\n\nwhat do you think of this?" || len(m.Files) != 1 || string(m.Files[0].Data) != "%PDF-" {
		t.Errorf("%q, %+v", m.Text, m.Files)
	}
	if m := write(object{"text": "and?", "external_reply": object{"origin": news, "document": document}}); m.Text != "> From News:\n> (a file: a.pdf)\n\nand?" {
		t.Errorf("%q", m.Text)
	}
	for want, fields := range map[string]object{
		"Poll: Lunch?\n- Soup\n- Rice":            {"poll": object{"question": "Lunch?", "options": []object{{"text": "Soup"}, {"text": "Rice"}}}},
		"🎲 (a die shows 4)":                       {"dice": object{"emoji": "🎲", "value": 4}},
		"Game: Chess":                             {"game": object{"title": "Chess"}},
		"(a story of Ann, which bots cannot see)": {"story": object{"chat": object{"id": 1, "first_name": "Ann"}}},
		"(gift: a message of a kind that cannot be read)": {
			"gift":    object{"gift": object{"id": "1", "sticker": object{"file_id": "s"}, "star_count": 15}},
			"via_bot": self, "sender_business_bot": self, "link_preview_options": object{"is_disabled": true},
		},
		"(giveaway winners: a message of a kind that cannot be read)": {"giveaway_winners": object{"winner_count": 2}},
		"(users shared: a message of a kind that cannot be read)":     {"users_shared": object{"request_id": 1}},
		"(hologram: a message of a kind that cannot be read)":         {"hologram": object{"id": 1}},
		"> (a story of Ann, which bots cannot see)\n\nnice": {
			"text": "nice", "reply_to_story": object{"chat": object{"id": 1, "title": "Ann"}, "id": 5},
		},
		"> (gift: a message of a kind that cannot be read)\n\nfor me?": {
			"text": "for me?", "reply_to_message": object{"message_id": 9, "from": ann, "chat": private,
				"gift": object{"gift": object{"id": "1"}}},
		},
		"> From News:\n> (gift: a message of a kind that cannot be read)\n\nwell?": {
			"text": "well?", "external_reply": object{"origin": news, "gift": object{"gift": object{"id": "1"}}},
		},
		"Forwarded from News:\n> (unique gift: a message of a kind that cannot be read)": {
			"forward_origin": news, "unique_gift": object{"gift": object{"name": "x"}},
		},
	} {
		if m := write(fields); m.Text != want {
			t.Errorf("%q, want %q", m.Text, want)
		}
	}
	for _, fields := range []object{ // what tells of the chat is no message
		{"pinned_message": object{"message_id": 1, "chat": private}}, {"left_chat_member": ann}, {"new_chat_title": "x"},
		{"forum_topic_closed": object{}}, {"video_chat_started": object{}}, {"chat_background_set": object{"type": object{}}},
		{"write_access_allowed": object{"web_app_name": "x"}}, {"message_auto_delete_timer_changed": object{"x": 1}},
	} {
		all := object{"from": ann, "chat": private}
		maps.Copy(all, fields)
		s.Write(all)
	}
	if m := write(object{"text": "after"}); m.Text != "after" {
		t.Errorf("%q", m.Text)
	}
}

// TestAlbumInTwoAnswers: the parts of an album are one message, also if the next poll brings some.
func TestAlbumInTwoAnswers(t *testing.T) {
	t.Parallel()
	s, _, in := conversation(t)
	parts := func(caption string, names ...string) {
		for _, name := range names {
			s.Write(object{"from": ann, "chat": private, "media_group_id": "g", "caption": caption, "photo": []object{{"file_id": s.Upload([]byte(name))}}})
			caption = ""
		}
	}
	parts("compare these three", "one")
	time.Sleep(50 * time.Millisecond) // the poll has its answer
	parts("", "two", "three")
	s.Write(object{"from": ann, "chat": private, "text": "after"})
	if got := in.next(t); got.Text != "compare these three" || len(got.Files) != 3 || string(got.Files[2].Data) != "three" {
		t.Errorf("an album: %+v", got)
	}
	if got := in.next(t); got.Text != "after" {
		t.Errorf("after it: %+v", got)
	}
}

func TestSend(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL})
	ctx, to := t.Context(), channel.Address{Chat: "-100", Thread: "9", Message: "77"}
	send := func(m channel.Outgoing) telegramtest.Message {
		t.Helper()
		if m.To == (channel.Address{}) {
			m.To = to
		}
		if _, err := c.Send(ctx, m); err != nil {
			t.Fatal(err)
		}
		sent := s.Sent(m.To.Chat)
		return sent[len(sent)-1]
	}
	m := send(channel.Outgoing{Text: "**hi**"})
	if m.Thread != 9 || m.ReplyTo != 77 || m.HTML != "<b>hi</b>" {
		t.Errorf("%+v", m)
	}
	if preview := m.Fields["link_preview_options"].(map[string]any); preview["is_disabled"] != true {
		t.Error("a preview would fetch what the model links to")
	}
	if m := send(channel.Outgoing{To: channel.Address{Chat: "4711", Message: "77"}, Text: "hi"}); m.ReplyTo != 0 {
		t.Error("a direct chat needs no quotations")
	}
	// Telegram reads the markup in another way than expected.
	s.Fail("sendMessage", telegramtest.Failure{Code: 400, Description: "Bad Request: can't parse entities: Unsupported start tag \"x\" at byte offset 3"})
	if m := send(channel.Outgoing{Text: "**a** <x> & `b`"}); m.Text != "a <x> & b" || m.Fields["parse_mode"] != nil {
		t.Errorf("without markup: %+v", m)
	}
	// A definition shows nothing by itself.
	if m := send(channel.Outgoing{Text: "[a]: https://example.com"}); m.Text != "[a]: https://example.com" {
		t.Errorf("%q", m.Text)
	}
	// The longest text, in characters of two units.
	long := strings.Repeat("🙂", 2048)
	if n := c.Traits().Length("**" + long + "**"); n != 4096 {
		t.Errorf("%d units", n)
	}
	send(channel.Outgoing{Text: "**" + long + "**"})

	id := strconv.FormatInt(m.ID, 10)
	for range 2 { // the second time nothing changes
		if err := c.Edit(ctx, to, id, "*new*"); err != nil {
			t.Fatal(err)
		}
	}
	if m := s.Sent("-100")[0]; m.HTML != "<i>new</i>" {
		t.Errorf("edited: %+v", m)
	}
	if err := c.Edit(ctx, to, "1", "x"); !errors.Is(err, channel.ErrRejected) {
		t.Errorf("editing what is not there: %v", err)
	}
	for name, err := range map[string]error{
		"typing": c.Typing(ctx, to),
		"menu":   c.SetMenu(ctx, []channel.Command{{Name: "new", Help: "begin a new conversation"}, {Name: "Not-Allowed"}, {Name: "stop"}}),
	} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if menu := s.Calls("setMyCommands")[0].Params["commands"].([]any); len(menu) != 2 {
		t.Errorf("menu: %v", menu)
	}
	if p := s.Calls("sendChatAction")[0].Params; p["action"] != "typing" || p["chat_id"] != "-100" {
		t.Errorf("typing: %v", p)
	}
	if account, err := c.Probe(ctx); err != nil || account != "@etui_bot" {
		t.Errorf("Probe: %q, %v", account, err)
	}
}

func TestButtons(t *testing.T) {
	t.Parallel()
	s, c, in := conversation(t)
	s.Member(-100, 4711, "administrator")
	to, long := channel.Address{Chat: "-100"}, strings.Repeat("长", 30)
	press := func(buttons ...channel.Button) telegramtest.Message {
		t.Helper()
		if _, err := c.Send(t.Context(), channel.Outgoing{To: to, Text: "choose", Buttons: buttons}); err != nil {
			t.Fatal(err)
		}
		sent := s.Sent("-100")
		return sent[len(sent)-1]
	}
	m := press(channel.Button{Label: "Yes", Text: "/approve 1"}, channel.Button{Label: "Long", Text: long})
	if len(m.Buttons) != 1 {
		t.Errorf("a button that says too much is shown: %v", m.Buttons)
	}
	s.Press(ann, group, &m, "Yes")
	got := in.next(t)
	if got.Text != "/approve 1" || !got.Mentioned || !got.Group || got.From.ID != "4711" || got.From.Roles[0] != "administrator" || got.At.Chat != "-100" || got.At.Message != strconv.FormatInt(m.ID, 10) {
		t.Errorf("%+v", got)
	}
	// A button of an earlier version, whose text nobody remembers.
	m.Buttons = append(m.Buttons, telegramtest.Button{Label: "Gone", Data: "#hash"})
	s.Press(ann, group, &m, "Gone")
	if err := s.Wait(t.Context(), func() bool { return len(s.Calls("answerCallbackQuery")) == 2 }); err != nil {
		t.Fatal(err)
	}
	if p := s.Calls("answerCallbackQuery")[1].Params; p["text"] == nil {
		t.Errorf("nothing is said about a button that is unknown: %v", p)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL})
	send := func() error {
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "-5"}, Text: "hi"})
		return err
	}
	for _, f := range []struct {
		code int
		text string
		want error // nil: none of the contract's
	}{
		{401, "Unauthorized", channel.ErrRefused},
		{404, "Not Found", channel.ErrRefused},
		{404, "Not Found: method not found", nil},
		{403, "Forbidden: bot was kicked from the supergroup chat", channel.ErrGone},
		{400, "Bad Request: chat not found", channel.ErrGone},
		{400, "Bad Request: not enough rights to send text messages to the chat", channel.ErrGone},
		{400, "Bad Request: message thread not found", channel.ErrGone},
		{400, "Bad Request: message is too long", nil},
		{500, "Internal Server Error", nil},
	} {
		s.Fail("sendMessage", telegramtest.Failure{Code: f.code, Description: f.text})
		err := send()
		if err == nil || errors.Is(err, channel.ErrGone) != errors.Is(f.want, channel.ErrGone) || errors.Is(err, channel.ErrRefused) != errors.Is(f.want, channel.ErrRefused) || !strings.Contains(err.Error(), f.text) {
			t.Errorf("%s: %v", f.text, err)
		}
	}
	// A proxy's page says nothing about the token.
	s.Fail("sendMessage", telegramtest.Failure{Code: 404, Description: "no such page", Page: true})
	if err := send(); err == nil || errors.Is(err, channel.ErrRefused) {
		t.Errorf("a page: %v", err)
	}
	var limited *channel.Limited
	s.Fail("sendMessage", telegramtest.Failure{Code: 429, Description: "Too Many Requests: retry after 3600", RetryAfter: 3600})
	if err := send(); !errors.As(err, &limited) || limited.After != time.Hour {
		t.Errorf("limited: %v", err)
	}
	// The group has become a supergroup: the message goes there, and so do all others.
	s.Fail("sendMessage", telegramtest.Failure{Code: 400, Description: "Bad Request: group chat was upgraded to a supergroup chat", MigrateTo: -1005})
	for range 2 {
		if err := send(); err != nil {
			t.Error(err)
		}
	}
	if n := len(s.Sent("-1005")); n != 2 {
		t.Errorf("%d messages in the supergroup", n)
	}
}

// TestTokenIsSecret: no error has the token, which is a part of every URL.
func TestTokenIsSecret(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := telegramtest.Start()
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.Error("a redirect was followed")
		http.NotFound(w, r)
	}))
	defer elsewhere.Close()
	redirecting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer redirecting.Close()
	away := s.URL
	s.Close()
	for _, base := range []string{away, redirecting.URL, "http://127.0.0.1:1", "http://[::1]:namedport"} {
		c, err := telegram.New(telegram.Config{Token: s.Token, URL: base, Log: slog.New(slog.NewTextHandler(&log, nil))})
		if err == nil {
			_, err = c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "1"}, Text: "x", Files: []chat.File{{Name: "x"}}})
		}
		if err == nil || strings.Contains(err.Error(), "ABC-DEF") {
			t.Errorf("%s: %v", base, err)
		}
	}
	if strings.Contains(log.String(), "ABC-DEF") {
		t.Errorf("the log has it: %s", &log)
	}
	for _, cfg := range []telegram.Config{{Token: "secret"}, {Token: "1:a/../b"}, {Token: s.Token, URL: "telegram.org"}, {Token: s.Token, Webhook: "http://example.com/x"}, {Token: s.Token, Webhook: "/x"}} {
		if _, err := telegram.New(cfg); err == nil || strings.Contains(err.Error(), "1ghIkl") || strings.Contains(err.Error(), "a/../b") {
			t.Errorf("%+v: %v", cfg, err)
		}
	}
}

func TestRun(t *testing.T) {
	t.Parallel()
	run := func(s *telegramtest.Server) error {
		return newChannel(t, telegram.Config{Token: s.Token, URL: s.URL}).Run(t.Context(), &inbox{})
	}
	t.Run("revoked token", func(t *testing.T) {
		s := server(t)
		s.Token = strings.ToLower(s.Token)
		c := newChannel(t, telegram.Config{Token: "123456:XYZ", URL: s.URL})
		if err := c.Run(t.Context(), &inbox{}); !errors.Is(err, channel.ErrRefused) {
			t.Error(err)
		}
	})
	t.Run("another program polls", func(t *testing.T) {
		s := server(t)
		s.Fail("getUpdates", telegramtest.Failure{Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
		if err := run(s); err == nil || !strings.Contains(err.Error(), "another program takes the messages of @etui_bot") {
			t.Error(err)
		}
	})
	t.Run("a webhook of before", func(t *testing.T) {
		s, _, in := conversation(t)
		if err := s.Wait(t.Context(), func() bool { return len(s.Calls("getUpdates")) > 0 }); err != nil {
			t.Fatal(err)
		}
		s.Fail("getUpdates", telegramtest.Failure{Code: 409, Description: "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"})
		s.Write(object{"from": ann, "chat": private, "text": "one"})
		in.next(t)
		s.Write(object{"from": ann, "chat": private, "text": "two"})
		if got := in.next(t); got.Text != "two" || len(s.Calls("deleteWebhook")) != 1 {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("not as expected", func(t *testing.T) {
		s, _, in := conversation(t)
		s.Update("message", "no object")
		s.Update("message", object{"message_id": "no number"})
		s.Update("message", nil)
		s.Update("something_new", object{})
		s.Write(object{"from": ann, "chat": private, "text": "after"})
		if got := in.next(t); got.Text != "after" {
			t.Errorf("got %+v", got)
		}
	})
	t.Run("acknowledged when safe", func(t *testing.T) {
		s := server(t)
		failed := make(chan struct{})
		var once sync.Once
		in := start(t, newChannel(t, telegram.Config{Token: s.Token, URL: s.URL}), func(channel.Incoming) (err error) {
			once.Do(func() { err = errors.New("the store is away") })
			if err != nil {
				if s.Pending() != 2 {
					t.Errorf("%d updates wait, want 2", s.Pending())
				}
				close(failed)
			}
			return err
		})
		if err := s.Wait(t.Context(), func() bool { return len(s.Calls("getUpdates")) > 0 }); err != nil {
			t.Fatal(err)
		}
		s.Fail("getUpdates", telegramtest.Failure{Code: 500}) // so that both come at once
		s.Write(object{"from": ann, "chat": private, "text": "one"})
		s.Write(object{"from": ann, "chat": private, "text": "two"})
		<-failed
		if one, two := in.next(t), in.next(t); one.Text != "one" || two.Text != "two" {
			t.Errorf("got %q, %q", one.Text, two.Text)
		}
		if err := s.Wait(t.Context(), func() bool { return s.Pending() == 0 }); err != nil {
			t.Error(err)
		}
	})
}

// TestMarkdown: what Telegram gets, and how long it is.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	s := server(t)
	c := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL})
	for _, m := range []struct{ markdown, want string }{
		{"# A **title**\n\ntext *it* ~~no~~ `a<b` **b**", "<b>A title</b>\n\ntext <i>it</i> <s>no</s> <code>a&lt;b</code> <b>b</b>"},
		{"one\ntwo  \nthree\\\nfour", "one\ntwo\nthree\nfour"},
		{"```go\nif a < b {\n```", `<pre><code class="language-go">if a &lt; b {</code></pre>`},
		{"    code", "<pre>code</pre>"},
		{"- a\n- b\n  - c\n\n    more\n1. x\n2. y", "• a\n• b\n  • c\n\n    more\n\n1. x\n2. y"},
		{"- a\n- b\n  1. c\n  2. d\n", "• a\n• b\n  1. c\n  2. d"},
		{"- [ ] todo\n- [x] done", "• ☐ todo\n• ☑ done"},
		{"> a\n> > b\n> > c", "<blockquote>a\n\n&gt; b\n&gt; c</blockquote>"},
		{"[a](https://x.y/?a=1&b=\"2\") [b](doc.md) [c](javascript:alert(1)) <https://x.y>", `<a href="https://x.y/?a=1&amp;b=%222%22">a</a> b (doc.md) c (javascript:alert(1)) https://x.y`},
		{"![](https://x.y/p.png) ![pic](https://x.y/p.png)", `<a href="https://x.y/p.png">https://x.y/p.png</a> <a href="https://x.y/p.png">pic</a>`},
		{"a<br>b <b>c</b> \\*d\\* &amp; &copy;", "a\nb &lt;b&gt;c&lt;/b&gt; *d* &amp; ©"},
		{"<div>\nx\n</div>", "&lt;div&gt;\nx\n&lt;/div&gt;"},
		{"a\n\n---\n\nb", "a\n\n———\n\nb"},
		{"| 名字 | n |\n|---|---|\n| a | **1** |\n| 你好 | <br> |", "<pre>名字 | n\n-----+--\na    | 1\n你好 |</pre>"},
		{"```\nunclosed **b**", "<pre>unclosed **b**</pre>"},
		{"bad \xff utf-8", "bad \uFFFD utf-8"},
	} {
		if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "1"}, Text: m.markdown}); err != nil {
			t.Fatal(err)
		}
		sent := s.Sent("1")
		got := sent[len(sent)-1]
		if got.HTML != m.want {
			t.Errorf("%q:\n got %q\nwant %q", m.markdown, got.HTML, m.want)
		}
		if seen, _ := telegramtest.Parse(got.HTML); c.Traits().Length(m.markdown) != len(utf16.Encode([]rune(seen))) {
			t.Errorf("%q: the length is %d, seen are %q", m.markdown, c.Traits().Length(m.markdown), seen)
		}
	}
}

func FuzzMarkdown(f *testing.F) {
	for _, seed := range []string{"**a** _b_ `c`", "> > a\n- b", "| a |\n|-|\n| <b> |", "[a](b \"c\") ![x](y)", "***a** b*", "`` ` ``<br>", "&#60;x&#62; &lt;", "1. a\n\n   ```x\"y\n   b"} {
		f.Add(seed)
	}
	var page string
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		page = string(body)
		_, _ = io.WriteString(w, `{"ok":true,"result":{"message_id":1}}`)
	}))
	f.Cleanup(web.Close)
	c, err := telegram.New(telegram.Config{Token: "1:a", URL: web.URL})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, markdown string) {
		if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "1"}, Text: markdown}); err != nil {
			t.Fatal(err)
		}
		text := field(t, page, "text")
		seen, err := telegramtest.Parse(text)
		if err != nil {
			t.Errorf("Telegram refuses %q, made of %q: %v", text, markdown, err)
		}
		if n := len(utf16.Encode([]rune(seen))); n != c.Traits().Length(markdown) && strings.TrimSpace(markdown) != "" {
			t.Errorf("%q: length %d, seen %d", markdown, c.Traits().Length(markdown), n)
		}
	})
}
