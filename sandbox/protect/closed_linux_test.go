package protect_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// ordinary is the user that the tests of closed folders run as once more, when root runs
// them: no folder is closed to root.
const ordinary = 65534

func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // the tests are run by one
	}
	dir := t.TempDir()
	program, tmp := filepath.Join(dir, "tests"), filepath.Join(dir, "tmp")
	if copied, err := exec.Command("cp", os.Args[0], program).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, copied)
	}
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(dir), dir} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(tmp, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestClosed")
	cmd.Dir, cmd.Env = tmp, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "GORACE=atexit_sleep_ms=0"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as user %d: %v\n%s", ordinary, err, out)
	}
}

// TestClosedFolders: nothing hides in a folder that is closed when the command ends.
func TestClosedFolders(t *testing.T) {
	for _, mode := range []os.FileMode{0o000, 0o200, 0o300, 0o400, 0o600} {
		w := newWorkspace(t, sandbox.Landlock, nil)
		if _, err := w.Begin(); err != nil {
			t.Fatal(err)
		}
		w.write(map[string]string{"a/b/.git/HEAD": "ref: refs/heads/main", "a/b/.git/config": "evil", "a/b/.envrc": "evil", "a/x": "kept"})
		for _, name := range []string{"a/b/.git", "a/b", "a"} {
			w.must(os.Chmod(w.path(name), mode))
		}
		if done := w.End(); len(done) != 3 {
			t.Errorf("%v: it says %q", mode, done)
		}
		if got := w.files(); len(got) != 1 || got["a/x"] != "kept" {
			t.Errorf("%v: there is %v", mode, got)
		}
		if _, err := w.Begin(); err != nil {
			t.Errorf("%v: the next command: %v", mode, err)
		}
	}
}

// TestClosedWorkspace: a command that closes its own workspace changes nothing else by it.
func TestClosedWorkspace(t *testing.T) {
	for _, mode := range []os.FileMode{0o000, 0o400, 0o500, 0o777} {
		w := newWorkspace(t, sandbox.Landlock, map[string]string{"etui.yaml": "mine", ".vscode/tasks.json": "mine"})
		w.must(os.Chmod(w.dir, 0o750))
		if _, err := w.Begin(); err != nil {
			t.Fatal(err)
		}
		w.write(map[string]string{"etui.yaml": "evil", ".envrc": "evil", ".vscode/tasks.json": "evil"})
		w.must(os.Chmod(w.dir, mode))
		if done := w.End(); len(done) < 4 || done[0] != "the permissions of the workspace were changed; they are as before" {
			t.Errorf("%v: it says %q", mode, done)
		}
		if info, err := os.Stat(w.dir); err != nil || info.Mode().Perm() != 0o750 {
			t.Errorf("%v: %v, %v", mode, info.Mode(), err)
		}
		if got := w.files(); len(got) != 2 || got["etui.yaml"] != "mine" || got[".vscode/tasks.json"] != "mine" {
			t.Errorf("%v: there is %v", mode, got)
		}
	}
}
