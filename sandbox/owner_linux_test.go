package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// TestKept: what is kept stays root's where root's workspace is given to the user of programs,
// and another program of that user cannot write it.
func TestKept(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root gives files away")
	}
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			p := newPlace(t)
			files := []string{"etui.yaml", "skills/a/run.sh", "lib/.git/hooks/pre-commit", "lib/.git/HEAD", "main.go"}
			for _, name := range files {
				path := filepath.Join(p.ws, name)
				if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("mine\n"), 0o644)); err != nil {
					t.Fatal(err)
				}
			}
			c := p.command(`cat etui.yaml skills/a/run.sh lib/.git/hooks/pre-commit; for f in etui.yaml skills/a/run.sh lib/.git/hooks/pre-commit; do chmod 666 $f; done 2>/dev/null; echo work > main.go && echo work > lib/.git/HEAD && echo done`)
			c.Kept = []string{p.ws + "/etui.yaml", p.ws + "/skills", p.ws + "/lib/.git/hooks"}
			c.Sealed = c.Kept[:2]
			if _, out := run(t, wall(t, m), c); out != "mine\nmine\nmine\ndone\n" {
				t.Errorf("output:\n%s", out)
			}
			for i, name := range files {
				info, err := os.Stat(filepath.Join(p.ws, name))
				if err != nil {
					t.Fatal(err)
				}
				if uid := info.Sys().(*syscall.Stat_t).Uid; uid != 0 && (i < 3 || m == sandbox.Strong) || i < 2 && info.Mode() != 0o644 {
					t.Errorf("%s belongs to %d and has mode %v", name, uid, info.Mode())
				}
			}
		})
	}
}
