package sqlite_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/store/sqlite"
)

// TestCalls: what is kept is found again, newest first, and bounded in number and
// age. Looking makes no file.
func TestCalls(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "calls.db")
	now := time.UnixMilli(1_800_000_000_000).UTC()
	limits := sqlite.Limits{Most: 5, Age: time.Hour, Now: func() time.Time { return now }}
	calls := sqlite.NewCalls(path, limits)
	list := func(c *sqlite.Calls, f audit.Filter) string {
		t.Helper()
		found, err := c.List(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, c := range found {
			text += c.Arguments
		}
		return text
	}
	if got := list(calls, audit.Filter{}); got != "" {
		t.Error(got)
	}
	if files, _ := filepath.Glob(path + "*"); len(files) != 0 {
		t.Errorf("looking made %v", files)
	}
	for i := range 8 {
		skill, outcome := "even", audit.OK
		if i%2 == 1 {
			skill, outcome = "odd", "timeout"
		}
		if err := calls.Add(ctx, audit.Record{Time: now.Add(time.Duration(i) * time.Minute), Skill: skill, User: "u", Outcome: outcome, Arguments: fmt.Sprint(i)}); err != nil {
			t.Fatal(err)
		}
	}
	if err := calls.Close(); err != nil {
		t.Fatal(err)
	}
	calls = sqlite.NewCalls(path, limits)
	for want, f := range map[string]audit.Filter{
		"76543": {}, "76": {Limit: 2}, "64": {Skill: "even"}, "753": {Outcome: "timeout", User: "u"}, "": {User: "nobody"},
	} {
		if got := list(calls, f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	now = now.Add(time.Hour + 6*time.Minute)
	if got := list(calls, audit.Filter{}); got != "76" {
		t.Errorf("later: %s", got)
	}
	if err := calls.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestDecisions: they are found by tool, user and kind, and many that were allowed
// do not push out the few that were refused.
func TestDecisions(t *testing.T) {
	ctx := t.Context()
	now := time.UnixMilli(1_800_000_000_000).UTC()
	calls := sqlite.NewCalls(filepath.Join(t.TempDir(), "calls.db"), sqlite.Limits{Most: 5, Age: time.Hour, Now: func() time.Time { return now }})
	defer calls.Close()
	for i := range 20 {
		d := audit.Decision{Time: now.Add(time.Duration(i) * time.Minute), Tool: "look", User: "ann", Allowed: i%10 != 3, Hash: string(rune('a' + i))}
		if !d.Allowed {
			d.Tool, d.User, d.Stage = "exec", "bob", "policy"
		}
		if err := calls.AddDecisions(ctx, d); err != nil {
			t.Fatal(err)
		}
	}
	list := func(f audit.DecisionFilter) string {
		t.Helper()
		found, err := calls.Decisions(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		text := ""
		for _, d := range found {
			text += d.Hash
		}
		return text
	}
	for want, f := range map[string]audit.DecisionFilter{
		"tsrqpnd": {}, "ts": {Limit: 2}, "nd": {Denied: true}, "tsrqp": {Tool: "look"}, "n": {User: "bob", Limit: 1}, "": {Tool: "exec", User: "ann"},
	} {
		if got := list(f); got != want {
			t.Errorf("%+v: %s, want %s", f, got, want)
		}
	}
	now = now.Add(time.Hour + 17*time.Minute)
	if got := list(audit.DecisionFilter{}); got != "tsr" {
		t.Errorf("later: %s", got)
	}
}
