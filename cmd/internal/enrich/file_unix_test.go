//go:build unix

package enrich_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/etui-run/etui/cmd/internal/enrich"
)

// A pipe in place of the file is refused; reading one would wait for a writer.
func TestReadRefusesPipe(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "enriched.jsonl")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := enrich.Open(path).Read(); err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("it read a pipe: %v", err)
	}
}
