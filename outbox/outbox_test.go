package outbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/inbox/inboxtest"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

const key session.Key = "agent:main:telegram:1"

func open(t *testing.T) (*inboxtest.Parts, *outbox.Outbox) {
	t.Helper()
	p := inboxtest.New(t)
	return p, outbox.New(outbox.Config{
		Store: p.Store, Box: p.Box, Inbox: p.Inbox, Secrets: p.Secrets, MaxMessage: inboxtest.MaxMessage, Holder: "here",
		Retry: func(string) {},
	})
}

func letters(t *testing.T, b *outbox.Outbox) []outbox.Letter {
	t.Helper()
	list, err := b.Letters(t.Context(), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestPost: a text goes once for each key to its place, or where the conversation is, without secrets.
func TestPost(t *testing.T) {
	t.Parallel()
	here, there := json.RawMessage(`{"chat":"1"}`), json.RawMessage(`{"chat":"2"}`)
	for name, c := range map[string]struct {
		reply, to json.RawMessage
		texts     []string // with keys of their first words
		err       error    // of the last one
		want      []string // texts of the letters
		at        json.RawMessage
	}{
		"where the conversation is":  {here, nil, []string{"hello you"}, nil, []string{"hello you"}, here},
		"to a place":                 {here, there, []string{"hello you"}, nil, []string{"hello you"}, there},
		"nowhere":                    {nil, nil, []string{"hello"}, outbox.ErrNowhere, nil, nil},
		"no text":                    {here, nil, []string{" \n"}, message.ErrEmpty, nil, nil},
		"too long":                   {here, nil, []string{strings.Repeat("x", inboxtest.MaxMessage+1)}, message.ErrTooLong, nil, nil},
		"twice":                      {here, nil, []string{"one a", "one a", "two"}, nil, []string{"one a", "two"}, here},
		"another text under its key": {here, nil, []string{"one a", "one b"}, nil, []string{"one a"}, here},
		"a secret":                   {here, nil, []string{"it is " + inboxtest.Secret}, nil, []string{"it is (hidden)"}, here},
	} {
		p, b := open(t)
		p.Put(t, key, session.State{Reply: c.reply})
		var err error
		for _, text := range c.texts {
			word, _, _ := strings.Cut(text, " ")
			err = b.Post(t.Context(), key, c.to, text, word)
		}
		if !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want %v", name, err, c.err)
		}
		list := letters(t, b)
		if len(list) != len(c.want) {
			t.Errorf("%s: %d letters, want %d", name, len(list), len(c.want))
			continue
		}
		for i, l := range list {
			if l.Text != c.want[i] || string(l.To) != string(c.at) || l.Session != key || l.Failed != "" {
				t.Errorf("%s: letter %d is %+v, want %q to %s", name, i, l, c.want[i], c.at)
			}
		}
		if n := len(p.Worked(t)); n != 0 {
			t.Errorf("%s: %d turns ran", name, n)
		}
	}
}

// TestDelivery: a letter stays, with what is known of its tries, until it has arrived.
func TestDelivery(t *testing.T) {
	t.Parallel()
	p, b := open(t)
	p.Put(t, key, session.State{Reply: json.RawMessage(`{}`)})
	for _, text := range []string{"one", "two"} {
		if err := b.Post(t.Context(), key, nil, text, text); err != nil {
			t.Fatal(err)
		}
	}
	first := letters(t, b)[0]
	first.Tries, first.Reason = 3, "the platform is away"
	if err := b.Undelivered(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	if l := letters(t, b)[0]; l.ID != first.ID || l.Tries != 3 || l.Reason != "the platform is away" || l.Text != "one" {
		t.Errorf("after a failed try: %+v", l)
	}
	if err := b.Delivered(t.Context(), first.ID); err != nil {
		t.Fatal(err)
	}
	if err := b.Delivered(t.Context(), first.ID); !errors.Is(err, store.ErrEnded) {
		t.Errorf("delivered twice: %v", err)
	}
	list := letters(t, b)
	if len(list) != 1 || list[0].Text != "two" {
		t.Fatalf("left: %+v", list)
	}
	if after, err := b.Letters(t.Context(), list[0].ID, 10); err != nil || len(after) != 0 {
		t.Errorf("after the last one: %+v, %v", after, err)
	}
}

// TestFailed: a letter says for people why there is no reply, and a reply that repeats what was posted is
// known.
func TestFailed(t *testing.T) {
	t.Parallel()
	p, b := open(t)
	p.Put(t, key, session.State{Reply: json.RawMessage(`{"chat":"1"}`)})
	m := message.New(message.Message{Text: "hi", Reply: json.RawMessage(`{"chat":"7"}`)})
	i, _, err := p.Inbox.Accept(t.Context(), key, m)
	if err == nil {
		err = b.Post(t.Context(), key, nil, " the answer ", "1")
	}
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{"the answer": true, "the answers": false, "": false} {
		if got := b.Posted(context.Background(), i, text); got != want {
			t.Errorf("%q only repeats what was posted: %v, want %v", text, got, want)
		}
	}
	end := store.End{ID: i.ID, Deliver: true, Result: message.Result(nil, turn.ErrStopped)}
	if err := p.Store.Finish(t.Context(), end); err != nil {
		t.Fatal(err)
	}
	if l := letters(t, b)[0]; l.Failed != "Stopped." || l.Text != "" || string(l.To) != `{"chat":"7"}` {
		t.Errorf("the letter of a turn that was stopped: %+v", l)
	}
}
