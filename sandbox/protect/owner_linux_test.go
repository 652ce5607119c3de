package protect_test

import (
	"os"
	"slices"
	"syscall"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// TestOwner: protected names stay with their owner, also those that were given away while
// they had another name, and so do files that are restored.
func TestOwner(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	w := newWorkspace(t, sandbox.Landlock, map[string]string{"etui.yaml": "mine", "skills/a/x": "mine", "lib/.git/HEAD": "ref", "lib/.git/hooks/a": "mine", "main.go": "mine"})
	w.must(os.Lchown(w.path("skills/a/x"), 1234, 1234))
	_, err := w.Begin()
	w.must(err)
	kept := w.Kept()
	for _, name := range []string{"etui.yaml", "skills", "lib/.git/hooks"} {
		if !slices.Contains(kept, w.path(name)) {
			t.Errorf("%s is not kept", name)
		}
	}
	for _, name := range []string{"etui.yaml", "skills", "skills/a", "skills/a/x", "lib/.git/hooks", "lib/.git/hooks/a", "main.go"} {
		w.must(os.Lchown(w.path(name), ordinary, ordinary))
	}
	w.End()
	for name, want := range map[string]uint32{"etui.yaml": 0, "skills": 0, "skills/a": 0, "skills/a/x": 1234, "lib/.git/hooks": 0, "lib/.git/hooks/a": 0, "main.go": ordinary} {
		info, err := os.Stat(w.path(name))
		w.must(err)
		if uid := info.Sys().(*syscall.Stat_t).Uid; uid != want {
			t.Errorf("%s belongs to %d", name, uid)
		}
	}
}
