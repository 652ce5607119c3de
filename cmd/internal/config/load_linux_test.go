package config_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
)

// TestReadWaitsForNoPipe: a command may make anything of that name.
func TestReadWaitsForNoPipe(t *testing.T) {
	path := filepath.Join(t.TempDir(), config.File)
	if err := syscall.Mkfifo(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := config.Read(path); err == nil || !strings.Contains(err.Error(), "is not a regular file") {
		t.Errorf("a pipe is read: %v", err)
	}
}
