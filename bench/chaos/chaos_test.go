package main

import (
	"os/exec"
	"path/filepath"
	"testing"
)

// A few kills of what `make chaos` does hundreds of times.
func TestChaos(t *testing.T) {
	etui := filepath.Join(t.TempDir(), "etui")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", etui, "../../cmd/etui").CombinedOutput(); err != nil {
		t.Fatalf("building etui: %v\n%s", err, out)
	}
	for name, c := range map[string]config{"SQLite": {kills: 8, clients: 4}, "PostgreSQL": {kills: 12, clients: 6, replicas: 3}} {
		t.Run(name, func(t *testing.T) {
			c.etui, c.dir = etui, t.TempDir()
			r, err := run(c)
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
