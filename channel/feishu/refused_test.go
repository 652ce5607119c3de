package feishu_test

import (
	"testing"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
)

// TestRefusals: what Feishu refuses is about a message, a chat, the app or the moment.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	c := s.Channel(t)
	for want, codes := range map[string][]int{
		"message":    {230001, 230022, 230025, 230028, 230055, 299999},
		"chat":       {230002, 230013, 230018, 230019, 230029, 230034, 230035, 230038, 230053, 232009},
		"account":    {230006, 230027, 99991672, 99991401},
		"chat waits": {230020, 230049},
		"kind waits": {99991400},
	} {
		for _, code := range codes {
			s.Code("POST im/v1/messages", code)
			_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "oc_1"}, Text: "x"})
			if got := channeltest.Meaning(err); got != want {
				t.Errorf("%d is about the %s, want the %s: %v", code, got, want, err)
			}
		}
	}
}

// TestAdded: the bot says when it was added to a group.
func TestAdded(t *testing.T) {
	t.Parallel()
	s, _, in := start(t, false)
	s.Push("im.chat.member.bot.added_v1", map[string]any{"chat_id": "oc_77",
		"operator_id": map[string]any{"open_id": "ou_4711"}, "name": "Ops"})
	if m := in.next(t); !m.Added || !m.Group || m.At.Chat != "oc_77" || m.From.ID != "ou_4711" {
		t.Errorf("added: %+v", m)
	}
}
