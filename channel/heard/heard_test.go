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
