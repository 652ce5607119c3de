package sqlite_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/usage"
)

func TestUsage(t *testing.T) {
	ctx := context.Background()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	path := filepath.Join(t.TempDir(), "state", "usage.db")
	limits := sqlite.Limits{Most: 3, Age: 24 * time.Hour, Now: func() time.Time { return now }}
	log, err := sqlite.OpenUsage(ctx, path, limits)
	if err != nil {
		t.Fatal(err)
	}
	add := func(agent, user, text string) {
		t.Helper()
		if err := log.Add(ctx, usage.Turn{Time: now, Agent: agent, User: user, Text: text, Tools: []string{"t"}}); err != nil {
			t.Fatal(err)
		}
	}
	texts := func(f usage.Filter) string {
		t.Helper()
		list, err := log.List(ctx, f)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		for _, turn := range list {
			fmt.Fprintf(&b, "%s ", turn.Text)
		}
		return b.String()
	}
	for i := range 5 {
		add("main", "alice", fmt.Sprint("first", i))
	}
	add("other", "bob", "bobs-words")
	add("other", "alice", "alices-words")
	// Another process reads what is there, and keeps to the bounds.
	again, err := sqlite.OpenUsage(ctx, path, limits)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.Close(); err != nil {
		t.Error(err)
	}
	for filter, want := range map[usage.Filter]string{
		{}:                             "first2 first3 first4 bobs-words alices-words ",
		{Limit: 2}:                     "bobs-words alices-words ",
		{Agent: "main", User: "alice"}: "first2 first3 first4 ",
		{User: "bob"}:                  "bobs-words ",
		{User: "nobody"}:               "",
	} {
		if got := texts(filter); got != want {
			t.Errorf("%+v lists %q, want %q", filter, got, want)
		}
	}
	if n, err := log.Erase(ctx, "alice", false); n != 4 || err != nil {
		t.Errorf("%d erased, %v", n, err)
	}
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil && suffix == "" {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("alices-words")) || bytes.Contains(raw, []byte("first4")) {
			t.Errorf("usage.db%s still holds what was erased", suffix)
		}
	}
	for i := range 5 { // which do not drive out what others asked
		add("other", "carol", fmt.Sprint("carol", i))
	}
	if got, want := texts(usage.Filter{Agent: "other"}), "bobs-words carol3 carol4 "; got != want {
		t.Errorf("lists %q, want %q", got, want)
	}
	now = now.Add(25 * time.Hour)
	if got := texts(usage.Filter{}); got != "" {
		t.Errorf("too old: %q", got)
	}
	add("main", "", "new")
	if n, err := log.Erase(ctx, "", true); n != 1 || err != nil {
		t.Errorf("%d erased, %v; the old ones were to be dropped", n, err)
	}
	if err := log.Close(); err != nil {
		t.Error(err)
	}
}
