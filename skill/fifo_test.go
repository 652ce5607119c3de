//go:build unix

package skill_test

import (
	"syscall"
	"testing"
)

func mkfifo(t *testing.T, name string) {
	if err := syscall.Mkfifo(name, 0o644); err != nil {
		t.Fatal(err)
	}
}
