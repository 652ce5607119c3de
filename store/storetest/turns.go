package storetest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/usage"
)

// TestTurns is the suite of usage.Log. Open opens an empty log, or one a second time, as
// another process does. It keeps three turns of each agent for a day.
func TestTurns(t *testing.T, open func(t *testing.T, now func() time.Time) usage.Log) {
	ctx, now := t.Context(), time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	clock := func() time.Time { return now }
	log := open(t, clock)
	add := func(agent, user, text string) {
		t.Helper()
		must(t, log.Add(ctx, usage.Turn{Time: now, Agent: agent, User: user, Text: text, Tools: []string{"t"}}))
	}
	want := func(log usage.Log, f usage.Filter, want string) {
		t.Helper()
		list, err := log.List(ctx, f)
		must(t, err)
		got := ""
		for _, turn := range list {
			got += turn.Text + " "
		}
		if strings.TrimSpace(got) != want {
			t.Errorf("%+v lists %q, want %q", f, got, want)
		}
	}
	erase := func(user string, everybody bool, want int) {
		t.Helper()
		if n, err := log.Erase(ctx, user, everybody); n != want || err != nil {
			t.Errorf("%d erased, want %d, %v", n, want, err)
		}
	}
	for i := range 5 {
		add("main", "alice", fmt.Sprint("first", i))
	}
	add("other", "bob", "bobs-words")
	add("other", "alice", "alices-words")
	want(open(t, clock), usage.Filter{}, "first2 first3 first4 bobs-words alices-words")
	want(log, usage.Filter{Limit: 2}, "bobs-words alices-words")
	want(log, usage.Filter{Agent: "main", User: "alice"}, "first2 first3 first4")
	want(log, usage.Filter{User: "bob"}, "bobs-words")
	want(log, usage.Filter{User: "nobody"}, "")
	erase("alice", false, 4)
	for i := range 5 { // which do not drive out what others asked
		add("other", "carol", fmt.Sprint("carol", i))
	}
	want(log, usage.Filter{Agent: "other"}, "bobs-words carol3 carol4")
	now = now.Add(25 * time.Hour)
	want(log, usage.Filter{}, "")
	add("main", "", "new")
	erase("", true, 1) // the old ones were dropped
}
