package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSwapped checks that nothing protected is written while a program keeps replacing
// a folder with a link.
func TestSwapped(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{".git/hooks/old": "x", "a/old": "x", "evil": "x"})
	stop := w.swap(t, "a", ".git/hooks")
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
	stop()
	entries, err := os.ReadDir(filepath.Join(w.dir, ".git/hooks"))
	if err != nil || len(entries) != 1 || entries[0].Name() != "old" {
		t.Errorf("%v, %v", entries, err)
	}
	if text, _ := os.ReadFile(filepath.Join(w.dir, ".git/hooks/old")); string(text) != "x" {
		t.Errorf("%q", text)
	}
}

// TestSwappedReading checks that nothing hidden is read while a program keeps replacing a folder
// with a link.
func TestSwappedReading(t *testing.T) {
	t.Parallel()
	w := open(t, map[string]string{"state/said": "said by others", "a/said": "mine"}, "state")
	stop := w.swap(t, "a", "state")
	read := 0
	for range 200 {
		for tool, in := range map[string]string{"read_file": `{"path":"a/said"}`, "search_text": `{"pattern":"by"}`} {
			switch got := w.call(tool, in); {
			case !strings.HasPrefix(got, "!") && strings.Contains(got, "said by others"):
				t.Fatalf("%s gives what is hidden: %s", tool, got)
			case strings.Contains(got, "mine"):
				read++
			}
		}
	}
	stop()
	if read == 0 {
		t.Error("nothing was read at all")
	}
}

// swap keeps exchanging a folder with a link until stop is called.
func (w *workspace) swap(t *testing.T, folder, target string) (stop func()) {
	t.Helper()
	a, link := filepath.Join(w.dir, folder), filepath.Join(w.dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	end, ended := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-end:
				ended <- nil
				return
			default:
				if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, link, unix.RENAME_EXCHANGE); err != nil {
					ended <- err
					return
				}
			}
		}
	}()
	return func() {
		close(end)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}
