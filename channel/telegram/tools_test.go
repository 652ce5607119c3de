package telegram_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel/telegram"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

func TestTools(t *testing.T) {
	t.Parallel()
	s := server(t)
	s.StickerSet("Cats", "❤️", "👍")
	tools := map[string]tool.Tool{}
	for _, one := range newChannel(t, telegram.Config{Token: s.Token, URL: s.URL}).Tools() {
		d := one.Definition()
		if err := d.Check(); err != nil {
			t.Error(err)
		}
		if _, err := tool.CompileSchema(d.Parameters); err != nil {
			t.Error(err)
		}
		tools[d.Name] = one
	}
	in := chat.Facts{Channel: "telegram", Chat: "-100", Attrs: map[string]string{"thread": "9"}}
	direct := chat.Facts{Channel: "telegram", Attrs: map[string]string{"chat": "4711"}}
	for _, c := range []struct {
		facts            chat.Facts
		name, args, want string
		failed           bool
	}{
		{in, "telegram_poll", `{"question":"Where?","options":["here","there"],"correct":2}`, "was posted", false},
		{direct, "telegram_poll", `{"question":"Where?","options":["here","there"],"multiple":true,"public":true}`, "was posted", false},
		{in, "telegram_poll", `{"question":"Where?","options":["here"]}`, "2 to 12 options, not 1", true},
		{in, "telegram_poll", `{"question":" ","options":["a","b"]}`, "1 to 300", true},
		{in, "telegram_poll", `{"question":"Where?","options":["a",""]}`, "1 to 100", true},
		{in, "telegram_poll", `{"question":"Where?","options":["a","b"],"correct":3}`, "from 1 to 2", true},
		{in, "telegram_poll", `{"question":"Where?","options":["a","b"],"correct":1,"multiple":true}`, "one right answer", true},
		{in, "telegram_sticker", `{"set":"Cats","emoji":"❤"}`, "was sent", false},
		{in, "telegram_sticker", `{"set":"Cats","emoji":"🙂"}`, "it has ❤️ 👍", true},
		{in, "telegram_sticker", `{"set":"Dogs","emoji":"🙂"}`, `no set of stickers with the name "Dogs"`, true},
		{chat.Facts{Channel: "slack", Chat: "-100"}, "telegram_sticker", `{"set":"Cats","emoji":"👍"}`, "chat of Telegram only", true},
		{chat.Facts{}, "telegram_poll", `{"question":"Where?","options":["a","b"]}`, "chat of Telegram only", true},
	} {
		r, err := tools[c.name].Call(tool.WithHost(t.Context(), tool.Host{Facts: c.facts}), json.RawMessage(c.args))
		if err != nil {
			r = tool.Failure("%v", err)
		}
		if r.Failed != c.failed || !strings.Contains(r.Text, c.want) {
			t.Errorf("%s %s: %+v", c.name, c.args, r)
		}
	}
	if sent := s.Sent("-100"); len(sent) != 2 || sent[0].Thread != 9 || sent[0].Fields["type"] != "quiz" || sent[1].Fields["sticker"] != "Cats-0" {
		t.Errorf("sent %+v", sent)
	}
	if sent := s.Sent("4711"); len(sent) != 1 || sent[0].Fields["is_anonymous"] != false || sent[0].Fields["allows_multiple_answers"] != true {
		t.Errorf("sent %+v", sent)
	}
}
