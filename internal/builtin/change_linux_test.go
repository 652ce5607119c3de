package builtin_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSwapped checks that nothing protected is written while a program keeps replacing
// a folder with a link.
func TestSwapped(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{".git/hooks/old": "x", "a/old": "x", "evil": "x"})
	a, link := filepath.Join(w.dir, "a"), filepath.Join(w.dir, "link")
	if err := os.Symlink(".git/hooks", link); err != nil {
		t.Fatal(err)
	}
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
					stopped <- err
					return
				}
			}
		}
	}()
	for range 300 {
		w.call("rename_file", `{"from":"evil","to":"a/pre-commit"}`)
		w.call("rename_file", `{"from":"a/pre-commit","to":"evil"}`)
		w.call("make_dir", `{"path":"a/dir"}`)
		w.call("append_file", `{"path":"a/old","content":"evil"}`)
	}
	for range 30 {
		w.call("write_file", `{"path":"a/post-commit","content":"evil"}`)
		w.call("remove_file", `{"path":"a/old"}`)
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(filepath.Join(w.dir, ".git/hooks"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "old" {
		t.Errorf("%v, %v", entries, err)
	}
	if text, _ := os.ReadFile(filepath.Join(w.dir, ".git/hooks/old")); string(text) != "x" {
		t.Errorf("%q", text)
	}
}
