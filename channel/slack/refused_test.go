package slack_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/channeltest"
	"github.com/etui-run/etui/channel/slack/slacktest"
)

// TestRefusals: what Slack refuses is about a message, a chat, the app or the moment.
func TestRefusals(t *testing.T) {
	t.Parallel()
	s, c, _ := begin(t)
	for want, codes := range map[string]string{
		"message": "msg_too_long msg_blocks_too_long invalid_blocks no_text thread_not_found cannot_reply_to_message something_new " +
			"restricted_action_thread_locked restricted_action_non_threadable_channel invalid_arguments too_many_attachments",
		"chat": "channel_not_found not_in_channel is_archived user_is_restricted messages_tab_disabled restricted_action " +
			"restricted_action_read_only_channel user_disabled cannot_dm_bot no_permission",
		"account": "invalid_auth account_inactive token_revoked missing_scope ekm_access_denied",
		"moment":  "internal_error fatal_error service_unavailable request_timeout team_added_to_org",
	} {
		for code := range strings.FieldsSeq(codes) {
			s.Server.Fail(slacktest.Failure{Error: code})
			_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "C1"}, Text: "x"})
			if got := channeltest.Meaning(err); got != want {
				t.Errorf("%s is about the %s, want the %s: %v", code, got, want, err)
			}
		}
	}
	for _, f := range []struct {
		slacktest.Failure
		want string
	}{
		{slacktest.Failure{Status: 429, RetryAfter: 40},
			"chat waits"}, {slacktest.Failure{Error: "ratelimited"}, "chat waits"},
		{slacktest.Failure{Status: 403}, "moment"}, {slacktest.Failure{Status: 503}, "moment"},
	} {
		s.Server.Fail(f.Failure)
		_, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "C1"}, Text: "x"})
		if got := channeltest.Meaning(err); got != f.want {
			t.Errorf("%+v is about the %s, want the %s: %v", f, got, f.want, err)
		}
	}
}

// TestSlashElsewhere: a command where the app is no member is answered by its response_url, also with
// several messages, and only at Slack.
func TestSlashElsewhere(t *testing.T) {
	t.Parallel()
	s, c, in := begin(t)
	s.Leave("C77")
	s.Command(object{"text": "hello", "channel_id": "C77", "channel_name": "privategroup"})
	at := in.next(t).At
	for _, text := range []string{"one", "two"} {
		if _, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: text, Key: text}); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		at.Message = ""
	}
	if got := strings.Join(s.Responses(), ", "); got != "ephemeral: one, ephemeral: two" {
		t.Errorf("answered: %q", got)
	}
	at.Answer = "https://evil.example/x"
	if _, err := c.Send(t.Context(), channel.Outgoing{To: at, Text: "three"}); channeltest.Meaning(err) != "chat" {
		t.Errorf("an address of somebody else: %v", err)
	}
}

// TestEditsAndGroups: an edited message comes once for each edit, a page that Slack has loaded is none, and the
// app says when it was added to a channel.
func TestEditsAndGroups(t *testing.T) {
	t.Parallel()
	s, _, in := begin(t)
	change := func(text, edited string) {
		now := object{"type": "message", "user": "4711", "text": text, "ts": "1700000100.000200"}
		if edited != "" {
			now["edited"] = object{"user": "4711", "ts": edited}
		}
		before := object{"type": "message", "user": "4711", "text": "first", "ts": "1700000100.000200"}
		s.Push("events_api", slacktest.Callback(object{
			"type": "message", "subtype": "message_changed", "hidden": true, "channel": "D4711",
			"channel_type": "im", "ts": "1700000200.1",
			"message": now, "previous_message": before,
		}))
	}
	s.Push("events_api", slacktest.Callback(event("message", "D4711", object{"channel_type": "im", "text": "first"})))
	if m := in.next(t); m.Edited || m.Text != "first" {
		t.Errorf("a message: %+v", m)
	}
	change("first", "")
	change("second", "1700000150.0")
	change("third", "1700000160.0")
	for _, want := range []string{"second", "third"} {
		if m := in.next(t); !m.Edited || m.Text != want || m.ID != "D4711:1700000100.000200" {
			t.Errorf("edited: %+v, want %s", m, want)
		}
	}
	s.Push("events_api", slacktest.Callback(object{"type": "member_joined_channel", "user": "U1",
		"channel": "C5", "inviter": "4711"}))
	s.Push("events_api", slacktest.Callback(object{"type": "member_joined_channel", "user": slacktest.Bot,
		"channel": "C5", "inviter": "4711"}))
	if m := in.next(t); !m.Added || !m.Group || m.At.Chat != "C5" {
		t.Errorf("added: %+v", m)
	}
}

// TestMoved: a channel that Slack gives another ID is known by the one that it had, and what is for that goes
// to the new one.
func TestMoved(t *testing.T) {
	t.Parallel()
	s, c, in := begin(t)
	for _, ids := range [][2]string{{"G1", "C1"}, {"C1", "C2"}} {
		s.Push("events_api", slacktest.Callback(object{"type": "channel_id_changed", "old_channel_id": ids[0],
			"new_channel_id": ids[1], "event_ts": "1700000000.1"}))
		s.Push("events_api", slacktest.Callback(event("app_mention", ids[1], object{"text": "<@" + slacktest.Bot + "> hello"})))
		if m := in.next(t); m.Former != "G1" || m.At.Chat != ids[1] || c.Former(ids[1]) != "G1" {
			t.Errorf("after the move to %s: %+v", ids[1], m)
		}
	}
	if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "G1"}, Text: "x"}); err != nil {
		t.Error(err)
	}
	if n := len(s.Sent("C2")); n != 1 {
		t.Errorf("%d messages in the new channel", n)
	}
}
