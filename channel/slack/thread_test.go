package slack_test

import (
	"context"
	"strings"
	"testing"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/slack"
)

// choosy is a receiver that wants what is for the bot.
type choosy struct{ got }

func (choosy) Wants(_ context.Context, m channel.Incoming) bool { return !m.Group || m.Mentioned }

func running(t *testing.T, s *server) got {
	t.Helper()
	c, err := slack.New(s.config())
	if err != nil {
		t.Fatal(err)
	}
	in := make(got, 20)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx, choosy{in}) }()
	t.Cleanup(func() {
		stop()
		<-ended
	})
	s.await("a connection", func() bool { return len(s.Conns()) > 0 })
	return in
}

// TestForwarded hands over a message that somebody passes on without a note, with its file.
func TestForwarded(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	in := running(t, s)
	file := object{"id": "F1", "name": "log.txt", "mimetype": "text/plain", "size": 3, "url_private": s.Upload("log.txt", []byte("log"))}
	s.Write(object{"channel": "D1", "user": "4711", "text": "", "attachments": []object{
		{"is_share": true, "is_msg_unfurl": true, "author_name": "Bob", "channel_id": "C9", "ts": "1700000000.000100", "text": "The deploy failed at 10:02, <@4711>.", "fallback": "[...]", "files": []object{file}},
	}})
	m := in.next(t)
	if m.Text != "Forwarded from Bob:\n> The deploy failed at 10:02, @4711." || len(m.Files) != 1 || string(m.Files[0].Data) != "log" {
		t.Errorf("%q, %+v", m.Text, m.Files)
	}
	s.Write(object{"channel": "D1", "user": "4711", "text": "see https://example.com", "attachments": []object{{"from_url": "https://example.com", "title": "Example", "text": "a preview"}}})
	if m := in.next(t); m.Text != "see https://example.com" {
		t.Errorf("with a preview: %q", m.Text)
	}
	s.Write(object{"channel": "D1", "user": "4711", "subtype": "me_message", "text": "waves"})
	if m := in.next(t); m.Text != "waves" {
		t.Errorf("an action: %q", m.Text)
	}
	s.Write(object{"channel": "D1", "user": "4711", "text": "", "attachments": []object{{"is_share": true, "author_name": "Bob"}}})
	if m := in.next(t); m.Text != "Forwarded from Bob:\n> (a message that cannot be read)" {
		t.Errorf("a forwarded message of an unknown kind: %q", m.Text)
	}
	s.Write(object{"channel": "D1", "user": "4711", "text": "", "blocks": []object{{"type": "video"}}})
	if m := in.next(t); m.Text != "(a message of blocks of the type video, which cannot be read)" {
		t.Errorf("blocks alone: %q", m.Text)
	}
}

// TestThread brings the thread that a mention is about, once and under the names of its people, and
// takes replies in a thread that began with a mention for the bot's.
func TestThread(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	s.Person("U2", object{"name": "bob", "team_id": team, "profile": object{"display_name": "Bob"}})
	in := running(t, s)
	root := s.Write(object{"channel": "C1", "channel_type": "channel", "user": "U2", "text": "The deploy failed."})
	if m := in.next(t); m.Mentioned {
		t.Errorf("%+v", m)
	}
	write := func(user, text string) channel.Incoming {
		t.Helper()
		s.Write(object{"channel": "C1", "channel_type": "channel", "user": user, "thread_ts": root, "parent_user_id": "U2", "text": text})
		return in.next(t)
	}
	write("4711", "Why, <@U2>?")
	m := write("4711", "<@"+bot+"> summarize this thread, <@U2>")
	want := "[The thread before this message]\n> Bob: The deploy failed.\n> Ann: Why, @Bob?\n\nsummarize this thread, @Bob"
	if !m.Mentioned || m.Text != want || m.From.Name != "Ann" {
		t.Errorf("%+v", m)
	}
	write("U2", "More.")
	if m := write("4711", "<@"+bot+"> and now?"); m.Text != "[The thread before this message]\n> Bob: More.\n\nand now?" {
		t.Errorf("%q", m.Text)
	}
	if m := write("4711", "<@"+bot+"> and again?"); m.Text != "and again?" {
		t.Errorf("%q", m.Text)
	}

	begun := s.Write(object{"channel": "C1", "channel_type": "channel", "user": "4711", "text": "<@" + bot + "> hello"})
	if m := in.next(t); !m.Mentioned {
		t.Errorf("%+v", m)
	}
	s.Write(object{"channel": "C1", "channel_type": "channel", "user": "U2", "thread_ts": begun, "parent_user_id": "4711", "text": "me, too"})
	if m := in.next(t); !m.Mentioned || m.Text != "me, too" {
		t.Errorf("in a thread that began with a mention: %+v", m)
	}

	own, err := s.Channel(t).Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "C1"}, Text: "The deploy is at eleven."})
	if err != nil {
		t.Fatal(err)
	}
	_, ts, _ := strings.Cut(own, ":")
	s.Write(object{"channel": "C1", "channel_type": "channel", "user": "4711", "thread_ts": ts, "parent_user_id": bot, "text": "Why?"})
	if m := in.next(t); !m.Mentioned || m.Text != "[The thread before this message]\n> you: The deploy is at eleven.\n\nWhy?" {
		t.Errorf("below what the bot has said by itself: %+v", m)
	}
}
