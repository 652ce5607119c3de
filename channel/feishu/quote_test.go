package feishu_test

import (
	"testing"

	"github.com/etui-run/etui/channel/feishu/feishutest"
)

// TestQuoted brings the message that is quoted, with its picture, and those that somebody passes on.
func TestQuoted(t *testing.T) {
	t.Parallel()
	s, _, in := start(t, false)
	s.Person("ou_2", object{"name": "Bob"})
	first, _ := s.Write("ou_2", object{"chat_id": "oc_1", "chat_type": "group", "content": object{"text": "The deploy failed, @_user_1."}, "mentions": []object{feishutest.Mention(1, "ou_4711", "Ann")}})
	in.next(t)
	s.Write("ou_4711", object{
		"chat_id": "oc_1", "chat_type": "group", "root_id": first, "parent_id": first, "content": object{"text": "@_user_1 summarize this"},
		"mentions": []object{feishutest.Mention(1, feishutest.Bot, "etui")},
	})
	if m := in.next(t); m.Text != "> Bob: The deploy failed, @Ann.\n\nsummarize this" || !m.Mentioned {
		t.Errorf("%+v", m)
	}
	asked, _ := s.Write("ou_4711", object{
		"chat_id": "oc_1", "chat_type": "group", "content": object{"text": "@_user_1 a question"},
		"mentions": []object{feishutest.Mention(1, feishutest.Bot, "etui")},
	})
	in.next(t)
	for root, want := range map[string]bool{asked: true, first: false} {
		s.Write("ou_2", object{"chat_id": "oc_1", "chat_type": "group", "root_id": root, "parent_id": root, "thread_id": "omt_1", "content": object{"text": "more"}})
		if m := in.next(t); m.Mentioned != want || m.At.Thread != root {
			t.Errorf("in a thread that began with a mention (%t): %+v", want, m)
		}
	}
	s.Upload("img_1", []byte("picture"))
	image, _ := s.Write("ou_2", object{"chat_id": "oc_1", "chat_type": "group", "message_type": "image", "content": object{"image_key": "img_1"}})
	in.next(t)
	s.Write("ou_4711", object{"parent_id": image, "content": object{"text": "what is it?"}})
	if m := in.next(t); m.Text != "> Bob: (a message with files)\n\nwhat is it?" || len(m.Files) != 1 || string(m.Files[0].Data) != "picture" {
		t.Errorf("%+v", m)
	}
	s.Write("ou_4711", object{"parent_id": "om_gone", "content": object{"text": "and this?"}})
	if m := in.next(t); m.Text != "> (a message that could not be read)\n\nand this?" {
		t.Errorf("%+v", m)
	}
	passed := object{"message_id": "om_passed", "message_type": "merge_forward", "content": object{"content": "Merged and Forwarded Message"}}
	s.Pass("om_passed", first)
	s.Write("ou_4711", passed)
	if m := in.next(t); m.Text != "[Messages that are passed on]\n> Bob: The deploy failed, @Ann." {
		t.Errorf("%+v", m)
	}
	for kind, want := range map[string]string{
		"sticker": "(a sticker)", "share_chat": "(a group is shared: oc_9)", "hongbao": "(a message of the type hongbao, which cannot be shown here)",
	} {
		s.Write("ou_4711", object{"message_type": kind, "content": object{"chat_id": "oc_9"}})
		if m := in.next(t); m.Text != want {
			t.Errorf("%s: %q", kind, m.Text)
		}
	}
}
