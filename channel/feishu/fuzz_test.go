package feishu_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/etui-run/etui/channel/feishu"
	"github.com/etui-run/etui/channel/feishu/feishutest"
)

// FuzzDelivery delivers what only the platform could sign and encrypt.
func FuzzDelivery(f *testing.F) {
	add := func(kind string, event object) {
		text, _ := json.Marshal(feishutest.Event("ev1", kind, event))
		f.Add(text)
	}
	for _, content := range []string{`{"text":"@_user_1 hi @_user_"}`, `{"content":[[{"tag":"at","user_id":"@_user_1"}]]}`, `{"file_key":"file_1"}`, "null"} {
		for _, kind := range []string{"text", "post", "file", "image", "location"} {
			add("im.message.receive_v1", object{
				"sender":  object{"sender_id": object{"open_id": "ou_1"}, "sender_type": "user"},
				"message": object{"message_id": "om_1", "chat_id": "oc_1", "chat_type": "group", "message_type": kind, "content": content, "mentions": []object{feishutest.Mention(1, feishutest.Bot, "etui")}},
			})
		}
	}
	add("card.action.trigger", object{
		"operator": object{"open_id": "ou_1"}, "action": object{"tag": "button", "value": object{"etui": "/yes", "label": "Yes"}},
		"context": object{"open_message_id": "om_1", "open_chat_id": "oc_1"},
	})
	f.Add([]byte(`{"type":"url_verification","token":"` + feishutest.Token + `","challenge":"x"}`))
	f.Add([]byte("{}"))
	s := newServer(f)
	s.hook = true
	c, err := feishu.New(s.config())
	if err != nil {
		f.Fatal(err)
	}
	in := make(inbox, 1)
	run(f, c, in)
	for {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, feishutest.Request(f.Context(), "/", []byte(`{"header":{"token":"`+feishutest.Token+`","app_id":"`+feishutest.AppID+`"}}`)))
		if w.Code == http.StatusOK {
			break
		}
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		w := httptest.NewRecorder()
		c.ServeHTTP(w, feishutest.Request(t.Context(), "/", text))
		select {
		case m := <-in:
			if m.ID == "" || m.From.ID == "" || m.At.Chat == "" {
				t.Errorf("%+v", m)
			}
		default:
		}
	})
}

func FuzzFrame(f *testing.F) {
	f.Add(feishutest.Frame(1, [][2]string{{"type", "event"}, {"message_id", "m"}}, []byte("{}")))
	f.Add([]byte{0x0a, 0xff, 0xff, 0xff, 0xff, 0x0f})
	f.Fuzz(func(t *testing.T, b []byte) {
		once, err := feishu.DecodeFrame(b)
		if err != nil {
			return
		}
		if twice, err := feishu.DecodeFrame(once); err != nil || !bytes.Equal(once, twice) {
			t.Errorf("%x became %x, %v", once, twice, err)
		}
	})
}

func FuzzContent(f *testing.F) {
	f.Add("post", `{"title":"t","content":[[{"tag":"a","text":"x","href":"y"},{"tag":"img","image_key":"k"}]]}`)
	f.Add("text", `{"text":"@_user_1"}`)
	f.Fuzz(func(_ *testing.T, kind, content string) { _, _, _ = feishu.ReadContent(kind, content) })
}

func FuzzUnseal(f *testing.F) {
	f.Add("k", "text")
	f.Fuzz(func(t *testing.T, key, text string) {
		_, _ = feishu.Unseal(key, text)
		if got, err := feishu.Unseal(key, feishutest.Seal(key, []byte(text))); err != nil || string(got) != text {
			t.Errorf("%q became %q, %v", text, got, err)
		}
	})
}

// TestUnknownRichText: what a rich text says in an element of a kind that is not known is read, and one
// without a text leaves a line.
func TestUnknownRichText(t *testing.T) {
	t.Parallel()
	for want, content := range map[string]string{
		"new words": `{"content":[[{"tag":"shimmer","text":"new words"}]]}`,
		"(a rich text that cannot be shown here)": `{"content":[[{"tag":"figure"}]]}`,
	} {
		if got, _, err := feishu.ReadContent("post", content); got != want || err != nil {
			t.Errorf("%s became %q, %v", content, got, err)
		}
	}
}
