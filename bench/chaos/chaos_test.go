package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/store/postgrestest"
)

// A few kills, and every other harm, of what `make chaos` does hundreds of times.
func TestChaos(t *testing.T) {
	etui := os.Getenv("TEST_ETUI") // make test has built it
	if etui == "" {
		etui = filepath.Join(t.TempDir(), "etui")
		if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", etui, "../../cmd/etui").CombinedOutput(); err != nil {
			t.Fatalf("building etui: %v\n%s", err, out)
		}
	}
	if _, err := os.Stat(etui); err != nil { // and go test notices when it changes
		t.Fatal(err)
	}
	for name, c := range map[string]config{"SQLite": {kills: 4, clients: 4}, "PostgreSQL": {kills: kinds + 2, clients: 4, replicas: 3}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.etui, c.dir = etui, t.TempDir()
			r, err := run(c)
			if errors.Is(err, postgrestest.ErrMissing) {
				leftout.Without(t, "PostgreSQL")
			}
			if err != nil {
				t.Fatal(err)
			}
			t.Log(r)
			for _, w := range r.wrong() {
				t.Error(w)
			}
			if r.sent < 8 {
				t.Errorf("only %d messages were sent", r.sent)
			}
		})
	}
}
