package sandbox_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// TestDeepHomeIsRemoved: the private folder of a program goes with it, also if its folders are
// nested more deeply than this process may open files.
func TestDeepHomeIsRemoved(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	if err := os.Chmod(filepath.Dir(os.TempDir()), 0o755); err != nil { // programs of root's run as somebody else
		t.Fatal(err)
	}
	if err := os.Chmod(os.TempDir(), 0o777); err != nil {
		t.Fatal(err)
	}
	c := newPlace(t).command(`cd "$HOME"; mkdir closed; echo x > closed/f; chmod 0 closed; p=$(printf 'd/%.0s' $(seq 900)); for i in 1 2 3; do mkdir -p $p && echo x > d/f && cd $p; done 2>/dev/null; ls "$HOME"`)
	s := wall(t, sandbox.Landlock)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	few := was
	few.Cur = 1000
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &few); err != nil {
		t.Fatal(err)
	}
	got, out := run(t, s, c)
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), "etui-run-*"))
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was); err != nil {
		t.Fatal(err)
	}
	if got.Exit != 0 || out != "closed\nd\n" {
		t.Errorf("exit %d: %.300s", got.Exit, out)
	}
	if len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}
