package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "skills"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time with a store that exists
		var out strings.Builder
		if err := run(t.Context(), dir, &out); err != nil || !strings.Contains(out.String(), "web1 restarts.") {
			t.Fatalf("%q, %v", out.String(), err)
		}
	}
}
