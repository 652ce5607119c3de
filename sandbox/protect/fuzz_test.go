package protect_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/leftout"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/sandbox/protect"
)

// The words of FuzzGit: an operation is a letter and indexes into words and texts.
var (
	gitWords = []string{"HEAD", "objects", "refs", "commondir", "gitdir", "config", ".git", "worktrees", "modules", "a", "b", "..", ".GIT", "hooks", "x y", "packed-refs"}
	gitTexts = []string{"ref: refs/heads/main\n", "gitdir: ../a\n", "../a\n", "0123456789012345678901234567890123456789\n", "[core]\n\tbare = true\n\tworktree = ..\n", "", "gitdir: a/b\n", "..\n"}
)

// FuzzGit compares the guard with git: whatever a program leaves in an empty workspace, git
// finds no repository there when the program has ended.
func FuzzGit(f *testing.F) {
	git, err := exec.LookPath("git")
	if err != nil {
		leftout.Without(f, "git")
	}
	op := func(verb byte, text byte, path ...byte) []byte {
		return append([]byte{verb, text, byte(len(path))}, path...)
	}
	join := func(ops ...[]byte) (all []byte) {
		for _, o := range ops {
			all = append(all, o...)
		}
		return all
	}
	const (
		write, folder, link, move, closed = 0, 1, 2, 3, 4
		head, objects, refs, common       = 0, 1, 2, 3
		dotGit, a, b, dotGIT              = 6, 9, 10, 12
	)
	bare := func(at ...byte) []byte {
		in := func(name byte) []byte { return append(append([]byte(nil), at...), name) }
		return join(op(write, 0, in(head)...), op(folder, 0, in(objects)...), op(folder, 0, in(refs)...))
	}
	for _, seed := range [][]byte{
		bare(dotGit), bare(a), bare(a, b), bare(a, dotGit), bare(), bare(a, dotGIT),
		join(bare(a), op(write, 1, b, dotGit)), // a file that names a bare repository
		join(op(write, 0, b, head), op(write, 2, b, common), op(folder, 0, a, objects), op(folder, 0, a, refs)),          // HEAD and commondir
		join(op(folder, 0, a), op(link, a, b), op(write, 0, a, head), op(folder, 0, a, objects), op(folder, 0, a, refs)), // through a link
		join(op(folder, 0, a, objects), op(folder, 0, a, refs), op(write, 3, a, head)),
		join(bare(a), op(closed, 0, a)), join(bare(a, b), op(closed, 4, a)),
		join(bare(a), op(move, b, a)), join(op(folder, 0, dotGit), op(link, dotGit, a)),
		join(op(write, 0, a, head), op(link, b, a, objects), op(link, b, a, refs), op(folder, 0, b)), // links for folders
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, ops []byte) {
		if len(ops) > 200 {
			return
		}
		dir := t.TempDir()
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		g, err := protect.New(protect.Config{Dir: dir, Mode: sandbox.Landlock})
		if err != nil {
			t.Fatal(err)
		}
		defer g.Close()
		if _, err := g.Begin(); err != nil {
			t.Fatal(err)
		}
		for len(ops) >= 3 {
			verb, text, n := ops[0], ops[1], min(int(ops[2]%5), len(ops)-3)
			var parts []string
			for _, i := range ops[3 : 3+n] {
				parts = append(parts, gitWords[int(i)%len(gitWords)])
			}
			ops = ops[3+n:]
			name := filepath.Join(parts...)
			_ = root.MkdirAll(filepath.Dir(name), 0o755) // what fails is no attack
			switch verb % 5 {
			case write:
				_ = root.WriteFile(name, []byte(gitTexts[int(text)%len(gitTexts)]), 0o644)
			case folder:
				_ = root.MkdirAll(name, 0o755)
			case link:
				_ = root.Symlink(gitWords[int(text)%len(gitWords)], name)
			case move:
				_ = root.Rename(name, gitWords[int(text)%len(gitWords)])
			case closed:
				_ = root.Chmod(name, fs.FileMode(text&7)<<6)
			}
		}
		done := g.End()
		err = filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil || !e.IsDir() {
				return err
			}
			cmd := exec.CommandContext(t.Context(), git, "-C", name, "-c", "safe.directory=*", "rev-parse", "--git-dir")
			cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES=" + filepath.Dir(dir)}
			if out, err := cmd.Output(); err == nil {
				t.Errorf("git finds the repository %s in %s; the guard says %q", strings.TrimSpace(string(out)), name, done)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
}
