package telegram_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/telegram"
	"github.com/etui-run/etui/channel/telegram/telegramtest"
	"github.com/etui-run/etui/store"
)

// TestRefusals: what Telegram refuses is about a message, a chat, the bot or the moment.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s, c, _ := conversation(t)
	for says, want := range map[telegramtest.Failure]string{
		{Code: 400, Description: "Bad Request: SOMETHING_NEW"}:                                  "message",
		{Code: 400, Description: "Bad Request: message is too long"}:                            "message",
		{Code: 400, Description: "Bad Request: message to be replied not found"}:                "message",
		{Code: 400, Description: "Bad Request: BUTTON_DATA_INVALID"}:                            "message",
		{Code: 400, Description: "Bad Request: not enough rights to send photos to the chat"}:   "message",
		{Code: 403, Description: "Forbidden: CHAT_SEND_PHOTOS_FORBIDDEN"}:                       "message",
		{Code: 413, Description: "Request Entity Too Large"}:                                    "message",
		{Code: 400, Description: "Bad Request: user is deactivated"}:                            "chat",
		{Code: 403, Description: "Forbidden: user is deactivated"}:                              "chat",
		{Code: 403, Description: "Forbidden: bot is not a member of the supergroup chat"}:       "chat",
		{Code: 400, Description: "Bad Request: bot is not a member of the channel chat"}:        "chat",
		{Code: 403, Description: "Forbidden: bots can't send messages to bots"}:                 "chat",
		{Code: 403, Description: "Forbidden: bot can't initiate conversation with a user"}:      "chat",
		{Code: 400, Description: "Bad Request: need administrator rights in the channel chat"}:  "chat",
		{Code: 400, Description: "Bad Request: not enough rights to send text messages"}:        "chat",
		{Code: 400, Description: "Bad Request: CHAT_WRITE_FORBIDDEN"}:                           "chat",
		{Code: 400, Description: "Bad Request: USER_BANNED_IN_CHANNEL"}:                         "chat",
		{Code: 400, Description: "Bad Request: TOPIC_DELETED"}:                                  "chat",
		{Code: 400, Description: "Bad Request: message thread not found"}:                       "chat",
		{Code: 401, Description: "Unauthorized"}:                                                "account",
		{Code: 404, Description: "Not Found"}:                                                   "account",
		{Code: 429, Description: "Too Many Requests: retry after 40", RetryAfter: 40}:           "chat waits",
		{Code: 500, Description: "Internal Server Error: sent message was immediately deleted"}: "moment",
		{Code: 502, Description: "Bad Gateway"}:                                                 "moment",
	} {
		s.Fail("sendMessage", says)
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "x"})
		if got := channeltest.Meaning(err); got != want {
			t.Errorf("%d %s is about the %s, want the %s: %v", says.Code, says.Description, got, want, err)
		}
	}
}

// TestAbsurdWaits: a chat waits for an hour at most before it is tried again, however long Telegram wants that.
func TestAbsurdWaits(t *testing.T) {
	t.Parallel()
	s, c, _ := conversation(t)
	for after, want := range map[int]time.Duration{2_000_000_000: time.Hour, -5: 5 * time.Second, 40: 40 * time.Second} {
		s.Fail("sendMessage", telegramtest.Failure{Code: 429, Description: "Too Many Requests", RetryAfter: after})
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711"}, Text: "x"})
		var limited *channel.Limited
		if !errors.As(err, &limited) || limited.After != want {
			t.Errorf("%d s: %v", after, err)
		}
	}
}

// TestMovesTwice: a group that has moved twice is known by its first ID. What answers a message of the old
// group, or is in a topic of it, answers nothing else in the new one that has the same ID.
func TestMovesTwice(t *testing.T) {
	t.Parallel()
	s, c, in := conversation(t)
	old := object{"id": -5, "type": "group"}
	s.Write(object{"chat": old, "from": ann, "migrate_to_chat_id": -1005})
	s.Write(object{"chat": old, "from": ann, "text": "the last word"}) // updates of one chat come in their order
	in.next(t)
	for _, m := range []object{
		{"chat": object{"id": -1006, "type": "supergroup"}, "migrate_from_chat_id": -1005},
		{"chat": object{"id": -1006, "type": "supergroup"}, "text": "hello"},
	} {
		m["from"] = ann
		s.Write(m)
	}
	if m := in.next(t); m.Former != "-5" || m.At.Chat != "-1006" {
		t.Errorf("after the moves: %+v", m)
	}
	s.Update("my_chat_member", object{"chat": object{"id": -1006, "type": "supergroup"}, "from": ann,
		"old_chat_member": object{"status": "left"}, "new_chat_member": object{"status": "member"}})
	at := channel.Address{Chat: "-5", Message: "77", Thread: "7"}
	moved := telegramtest.Failure{Code: 400, Description: "Bad Request: group chat was upgraded", MigrateTo: -1007}
	for range 2 {
		if _, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: "x"}); err != nil {
			t.Error(err)
		}
		s.Fail("sendMessage", moved)
	}
	if err := c.Edit(t.Context(), at, "77", "x"); !errors.Is(err, channel.ErrRejected) {
		t.Errorf("an edit of a message that is not there: %v", err)
	}
	for _, call := range s.Calls("sendMessage") {
		_, answers := call.Params["reply_parameters"]
		if _, topic := call.Params["message_thread_id"]; answers || topic {
			t.Errorf("sent %v", call.Params)
		}
	}
	s.Write(object{"chat": object{"id": -1007, "type": "supergroup"}, "from": ann, "text": "again"})
	if m := in.next(t); m.Added || m.Former != "-5" {
		t.Errorf("after the third move: %+v", m)
	}
}

// TestEditedAlbum: the text of an album is that of the album, whichever part has it.
func TestEditedAlbum(t *testing.T) {
	t.Parallel()
	s, _, in := conversation(t)
	part := func(caption string) int64 {
		return s.Write(object{"from": ann, "chat": private, "media_group_id": "g", "caption": caption,
			"photo": []object{{"file_id": s.Upload([]byte("x"))}}})
	}
	first, second := part(""), part("tow pictures")
	if m := in.next(t); m.Text != "tow pictures" || len(m.Files) != 2 {
		t.Fatalf("an album: %+v", m)
	}
	s.Update("edited_message", object{"message_id": second, "chat": private, "from": ann, "media_group_id": "g",
		"caption": "two pictures", "photo": []object{{"file_id": s.Upload([]byte("x"))}}})
	if m := in.next(t); !m.Edited || m.ID != strconv.FormatInt(first, 10) || m.Text != "two pictures" {
		t.Errorf("edited: %+v", m)
	}
}

// TestPlacesMove: a group that becomes a supergroup is known by the ID that it had, also after a restart;
// a bot that is added to a group, and a message that is edited, say so.
func TestPlacesMove(t *testing.T) {
	t.Parallel()
	s := telegramtest.Start()
	t.Cleanup(s.Close)
	records := &store.Memory{}
	open := func() *telegram.Channel {
		c, err := telegram.New(telegram.Config{Token: s.Token, URL: s.URL, Client: s.Client, Records: records})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	in := start(t, open(), nil)
	group, super := object{"id": -5, "type": "group"}, object{"id": -1005, "type": "supergroup"}
	s.Write(object{"chat": group, "from": ann, "migrate_to_chat_id": -1005})
	s.Write(object{"chat": super, "from": ann, "migrate_from_chat_id": -5})
	s.Write(object{"chat": super, "from": ann, "text": "hello"})
	if m := in.next(t); m.Former != "-5" || m.At.Chat != "-1005" {
		t.Errorf("after the move: %+v", m)
	}
	s.Update("edited_message", object{"message_id": 7, "chat": object{"id": 4711, "type": "private"},
		"from": ann, "text": "new"})
	if m := in.next(t); !m.Edited || m.ID != "7" || m.Text != "new" {
		t.Errorf("edited: %+v", m)
	}
	was := func(status string) object { return object{"status": status} }
	s.Update("my_chat_member", object{"chat": super, "from": ann, "old_chat_member": was("member"),
		"new_chat_member": was("administrator")})
	s.Update("my_chat_member", object{"chat": super, "from": ann, "old_chat_member": was("left"),
		"new_chat_member": was("member")}) // by the move
	s.Update("my_chat_member", object{"chat": object{"id": -1009, "type": "supergroup"}, "from": ann,
		"old_chat_member": was("left"), "new_chat_member": was("member")})
	if m := in.next(t); !m.Added || !m.Group || m.At.Chat != "-1009" {
		t.Errorf("added: %+v", m)
	}
	other := start(t, open(), nil)
	s.Write(object{"chat": super, "from": ann, "text": "again"})
	for {
		select {
		case m := <-in.got:
			if m.Former != "-5" {
				t.Errorf("in the same process: %+v", m)
			}
			return
		case m := <-other.got:
			if m.Added { // the first one had not asked again, which acknowledges it
				continue
			}
			if m.Former != "-5" {
				t.Errorf("after a restart: %+v", m)
			}
			return
		}
	}
}

// aloof wants what mentions the bot.
type aloof struct{ *inbox }

func (aloof) Wants(_ context.Context, m channel.Incoming) bool { return m.Mentioned }

// TestOverheardFiles: what does not mention the bot comes with the names of its files, and without their bytes.
func TestOverheardFiles(t *testing.T) {
	t.Parallel()
	s := server(t)
	c, in := newChannel(t, telegram.Config{Token: s.Token, URL: s.URL}), aloof{&inbox{got: make(chan channel.Incoming, 1)}}
	ctx, stop := context.WithCancel(t.Context())
	var ended sync.WaitGroup
	defer ended.Wait()
	defer stop()
	ended.Go(func() { _ = c.Run(ctx, in) })
	s.Write(object{"from": ann, "chat": object{"id": -5, "type": "group"},
		"document": object{"file_id": s.Upload([]byte("%PDF-")), "file_name": "a.pdf"}})
	if m := in.next(t); m.Text != "(a file: a.pdf)" || len(m.Files) > 0 {
		t.Errorf("%+v", m)
	}
}
