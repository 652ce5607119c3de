package sqlite_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/store/storetest"
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

// TestOneUserPushesOutNobody: of what is more than the limit, that of the user who has most
// goes first, and each class has a limit of its own.
func TestOneUserPushesOutNobody(t *testing.T) {
	ctx := t.Context()
	calls := sqlite.NewCalls(filepath.Join(t.TempDir(), "calls.db"), sqlite.Limits{Most: 10})
	t.Cleanup(func() { _ = calls.Close() })
	now := time.Now()
	decided := []audit.Decision{
		{Time: now, User: "ann", Tool: "hidden", Stage: "visibility"}, {Time: now, User: "mallory", Tool: "wipe", Stage: "policy"},
		{Time: now, User: "mallory", Tool: "wipe", Allowed: true, Risk: "destructive"}, {Time: now, User: "mallory", Tool: "look", Allowed: true},
	}
	for range 100 {
		decided = append(decided, audit.Decision{Time: now, User: "mallory", Tool: "none", Stage: "unknown"})
	}
	if err := calls.AddDecisions(ctx, decided...); err != nil {
		t.Fatal(err)
	}
	found, err := calls.Decisions(ctx, audit.DecisionFilter{})
	if err != nil {
		t.Fatal(err)
	}
	kept := map[string]int{}
	for _, d := range found {
		kept[d.User+" "+d.Class()]++
	}
	if want := map[string]int{"ann refused": 1, "mallory refused": 9, "mallory denied": 1, "mallory destructive": 1, "mallory allowed": 1}; !maps.Equal(kept, want) {
		t.Errorf("kept are %v, want %v", kept, want)
	}
	records := []audit.Record{{Time: now, Skill: "s", User: "ann"}}
	for range 100 {
		records = append(records, audit.Record{Time: now, Skill: "s", User: "mallory"})
	}
	if err := calls.Add(ctx, records...); err != nil {
		t.Fatal(err)
	}
	list, err := calls.List(ctx, audit.Filter{})
	if err != nil || len(list) != 10 || list[9].User != "ann" {
		t.Errorf("kept are %d calls, the oldest of %q, %v; want 10, of ann", len(list), list[max(0, len(list)-1)].User, err)
	}
}

// TestEraseCalls: a person's calls are gone from the file, and decisions about them no
// longer say whose they are.
func TestEraseCalls(t *testing.T) {
	ctx, path := t.Context(), filepath.Join(t.TempDir(), "calls.db")
	calls := sqlite.NewCalls(path, sqlite.Limits{})
	t.Cleanup(func() { _ = calls.Close() })
	if records, decisions, err := calls.Erase(ctx, "ann-7421"); records+decisions != 0 || err != nil {
		t.Errorf("without a file: %d, %d, %v", records, decisions, err)
	}
	for i, user := range []string{"ann-7421", "bob"} {
		if err := calls.Add(ctx, audit.Record{Time: time.Now(), Skill: "s", User: user, Outcome: audit.OK}); err != nil {
			t.Fatal(err)
		}
		if err := calls.AddDecisions(ctx, audit.Decision{Time: time.Now().Add(time.Duration(i) * time.Second), Tool: "t", User: user, Rule: "r", Arguments: "of " + user}); err != nil {
			t.Fatal(err)
		}
	}
	records, decisions, err := calls.Erase(ctx, "ann-7421")
	if err != nil {
		t.Fatal(err)
	}
	if records != 1 {
		t.Errorf("%d records were erased", records)
	}
	if decisions != 1 {
		t.Errorf("%d decisions were made anonymous", decisions)
	}
	left, err := calls.List(ctx, audit.Filter{})
	if err != nil || len(left) != 1 || left[0].User != "bob" {
		t.Errorf("left are %+v, %v; want the call of bob", left, err)
	}
	kept, err := calls.Decisions(ctx, audit.DecisionFilter{})
	if err != nil || len(kept) != 2 {
		t.Fatalf("decisions: %+v, %v", kept, err)
	}
	if d := kept[1]; d.User+d.Arguments != "" || d.Rule != "r" || d.Tool != "t" {
		t.Errorf("the anonymous decision is %+v", d)
	}
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("ann-7421")) {
			t.Errorf("the name is still in calls.db%s", suffix)
		}
	}
}

func TestAudit(t *testing.T) {
	storetest.TestAudit(t, func(t *testing.T) (audit.Log, func(string)) {
		path := filepath.Join(t.TempDir(), "calls.db")
		calls := sqlite.NewCalls(path, sqlite.Limits{})
		t.Cleanup(func() { _ = calls.Close() })
		return calls, func(statement string) {
			if err := sqlite.Exec(path, statement); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// TestChainWithLimits: what the limits drop leaves the chain unbroken, in a gap for each run
// of records, and one mark.
func TestChainWithLimits(t *testing.T) {
	path := filepath.Join(t.TempDir(), "calls.db")
	now := time.UnixMilli(1_800_000_000_000).UTC()
	calls := sqlite.NewCalls(path, sqlite.Limits{Most: 4, Age: time.Hour, Now: func() time.Time { return now }})
	t.Cleanup(func() { _ = calls.Close() })
	for n := range 40 {
		if err := calls.Add(t.Context(), audit.Record{Time: now, Skill: "s", User: []string{"ann", "bob", "bob"}[n%3]}); err != nil {
			t.Fatal(err)
		}
		if n%7 == 0 {
			if err := calls.AddDecisions(t.Context(), audit.Decision{Time: now, Tool: "t", Stage: "policy"}); err != nil {
				t.Fatal(err)
			}
		}
		now = now.Add(time.Minute)
	}
	v, err := calls.Verify(t.Context(), nil)
	if err != nil || !v.Unbroken || v.Records != 8 {
		t.Errorf("%+v, %v", v, err)
	}
	marks, err := sqlite.Query(path, "SELECT count(*) FROM audit WHERE class = 'mark'")
	if err != nil || marks != "1" {
		t.Errorf("%s marks, %v", marks, err)
	}
	gaps, err := sqlite.Query(path, "SELECT count(*) <= 9 FROM audit_gaps")
	if err != nil || gaps != "1" || v.Dropped != 40+6-8 {
		t.Errorf("%d dropped, at most nine gaps: %s, %v", v.Dropped, gaps, err)
	}
}
