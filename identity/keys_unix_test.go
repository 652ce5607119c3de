//go:build unix

package identity_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/etui-run/etui/identity"
)

// TestKeysArePipe: a pipe in the place of the file is refused, and not waited for.
func TestKeysArePipe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keys.json")
	if err := syscall.Mkfifo(file, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.OpenKeys(file); err == nil || !strings.Contains(err.Error(), "it is not a file") {
		t.Errorf("the error is %v", err)
	}
}
