package heard_test

import (
	"testing"
	"time"

	"github.com/etui-run/etui/channel/heard"
)

// TestBefore: a message that is edited has the same material as before, and no other message has it.
func TestBefore(t *testing.T) {
	now := time.Now()
	m := heard.New([]string{"g"})
	m.Hear("g", heard.Said{ID: "1", User: "ann", By: "Ann", Text: "it failed", Time: now})
	asked := heard.Said{ID: "2", User: "bob", By: "Bob", Text: "why?", Time: now}
	first := m.Before("g", asked, now)
	if again := m.Before("g", asked, now); first == "" || again != first {
		t.Errorf("%q, then %q", first, again)
	}
	if other := m.Before("g", heard.Said{ID: "3", User: "bob", Time: now}, now); other != "" {
		t.Errorf("another message has %q", other)
	}
	m.Forget("ann")
	if left := m.Before("g", asked, now); left != "" {
		t.Errorf("of somebody who is forgotten: %q", left)
	}
}

// TestTold: what the agent has said by itself comes with each message that begins a thread, for a day.
func TestTold(t *testing.T) {
	now := time.Now()
	m := heard.New(nil)
	m.Tell("g", "one\ntwo", now)
	begins := heard.Said{ID: "g:7", Thread: "7"}
	want := "[You have written in this chat before, by yourself]\n> one\n> two\n\n"
	for _, c := range []struct {
		group string
		said  heard.Said
		at    time.Time
		want  string
	}{
		{"g", begins, now, want},
		{"g", heard.Said{ID: "g:9", Thread: "8"}, now, ""}, // in a thread
		{"g", heard.Said{ID: "g:9"}, now, ""},              // the conversation of the chat has it
		{"h", begins, now, ""},
		{"g", begins, now.Add(25 * time.Hour), ""},
	} {
		if got := m.Told(c.group, c.said, c.at); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
