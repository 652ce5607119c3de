package sqlite_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/store/storetest"
	"github.com/etui-run/etui/usage"
)

func openUsage(t *testing.T, path string, now func() time.Time) *sqlite.Usage {
	t.Helper()
	log, err := sqlite.OpenUsage(t.Context(), path, sqlite.Limits{Most: 3, Age: 24 * time.Hour, Now: now})
	must(t, err)
	t.Cleanup(func() { must(t, log.Close()) })
	return log
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestUsage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state", "usage.db")
	storetest.TestTurns(t, func(t *testing.T, now func() time.Time) usage.Log { return openUsage(t, path, now) })
}

// Nothing of erased turns is left in the file or its journal.
func TestUsageErases(t *testing.T) {
	path := filepath.Join(t.TempDir(), "usage.db")
	log := openUsage(t, path, time.Now)
	must(t, log.Add(t.Context(), usage.Turn{Time: time.Now(), Agent: "main", User: "alice", Text: "alices-words"}))
	if n, err := log.Erase(t.Context(), "alice", false); n != 1 || err != nil {
		t.Errorf("%d erased, %v", n, err)
	}
	for _, suffix := range []string{"", "-wal"} {
		raw, err := os.ReadFile(path + suffix)
		if err != nil && suffix == "" {
			t.Fatal(err)
		}
		if bytes.Contains(raw, []byte("alices-words")) {
			t.Errorf("usage.db%s still holds what was erased", suffix)
		}
	}
}
