package sandbox_test

import (
	"bufio"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etui-run/etui/sandbox"
)

// replaced is a workspace that another program replaces by a foreign folder with the same
// names in it.
type replaced struct {
	place
	foreign, away string
	held          *os.File
}

func newReplaced(t *testing.T) replaced {
	t.Helper()
	p := newPlace(t)
	r := replaced{place: p, foreign: p.outside + "/foreign", away: p.outside + "/away"}
	for _, dir := range []string{p.ws, r.foreign} {
		if err := errors.Join(os.MkdirAll(dir+"/sub", 0o755), os.Mkdir(dir+"/kept", 0o755), os.WriteFile(dir+"/file", []byte("of "+filepath.Base(dir)+"\n"), 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(r.foreign+"/file", old, old); err != nil {
		t.Fatal(err)
	}
	var err error
	if r.held, err = os.Open(p.ws); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.held.Close() })
	return r
}

// swap puts the foreign folder, or a link to it, at the workspace's path.
func (r *replaced) swap(t *testing.T, link bool) {
	put := os.Rename
	if link {
		put = os.Symlink
	}
	if err := errors.Join(os.Rename(r.ws, r.away), put(r.foreign, r.ws)); err != nil {
		t.Error(err)
	}
}

// untouched checks that a program did not reach the foreign folder.
func (r *replaced) untouched(t *testing.T, uid int, out string) {
	t.Helper()
	var names []string
	_ = filepath.WalkDir(r.ws+"/", func(path string, d os.DirEntry, err error) error {
		if err != nil {
			t.Error(err)
			return nil
		}
		info, err := d.Info()
		if err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != uid {
			t.Errorf("%s has another owner: %v", path, err)
		}
		names = append(names, d.Name())
		return nil
	})
	info, err := os.Stat(r.ws + "/file")
	if err != nil || info.Mode().Perm() != 0o644 || time.Since(info.ModTime()) < time.Minute {
		t.Errorf("the foreign file was changed: %v, %v", info, err)
	}
	text, err := os.ReadFile(r.ws + "/file")
	if string(text) != "of foreign\n" || len(names) != 4 || strings.Contains(out, "of foreign") {
		t.Errorf("the program reached %v, %q, %v: %s", names, text, err, out)
	}
}

// TestWallKeepsItsFolder: a program gets the folder that its caller holds open, also if
// another program replaces it while the program is being started.
func TestWallKeepsItsFolder(t *testing.T) {
	const steps = 2
	for _, m := range walls {
		for step := range steps + 1 {
			for _, link := range []bool{false, true} {
				r, s := newReplaced(t), wall(t, m)
				s.Status()
				at := 0
				sandbox.Between(s, func() {
					if at++; at == step {
						r.swap(t, link)
					}
				})
				if step == 0 {
					r.swap(t, link)
				}
				c := r.command("cat ../file " + r.ws + "/file; echo x > made; echo x > " + r.ws + "/made; echo x >> " + r.ws + "/file; chmod 777 " + r.ws + "/file; touch " + r.ws + "/file; echo x > ../kept/made; pwd -P; true")
				c.Dir, c.Folder, c.Sealed = r.ws+"/sub", r.held, []string{r.ws + "/kept"}
				got, err := s.Run(t.Context(), c)
				out := got.Stdout.String() + got.Stderr.String()
				r.untouched(t, os.Getuid(), out)
				if step != 0 && at != steps {
					t.Fatalf("starting a program has %d steps, and %d are known", at, steps)
				}
				switch _, made := os.Stat(r.away + "/sub/made"); {
				case step == 0:
					if err == nil || !strings.Contains(err.Error(), "was replaced") {
						t.Errorf("%s: it ran, or does not say why not: %v", m, err)
					}
				case m == sandbox.Strong && (os.Getuid() != 0):
					if !errors.Is(err, syscall.ESTALE) && !errors.Is(err, syscall.ENOTDIR) {
						t.Errorf("%s: it ran: %v: %s", m, err, out)
					}
				case err != nil || made != nil || !strings.Contains(out, "of ws\n"):
					t.Errorf("%s, step %d: it did not run in the folder that is held: %v, %v: %s", m, step, err, made, out)
				}
				if _, err := os.Stat(r.away + "/kept/made"); m == sandbox.Strong && err == nil {
					t.Errorf("%s, step %d: a sealed folder was written", m, step)
				}
			}
		}
	}
}

// In mode Landlock the helper makes changes for the program. It makes none in a folder that
// has replaced the workspace of a program that runs, and goes on to do so in the workspace.
func TestWallChangesItsFolder(t *testing.T) {
	for _, m := range []sandbox.Mode{sandbox.Landlock, oldLandlock} {
		r := newReplaced(t)
		c := r.command("exec 2>&1; id -u; read line; chmod 777 " + r.ws + "/file; chmod 777 " + r.ws + "; touch " + r.ws + "/file; perl -e 'open F, \">new\"; unlink \"new\"; chmod 0600, *F or print \"no chmod\"'; chmod 700 sub; echo done")
		c.Folder = r.held
		p, err := wall(t, m).Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(p.Stdout)
		user, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err, p.Complaint())
		}
		uid := os.Getuid()
		if uid == 0 { // what the program's user could change as well
			info, err := os.Stat(r.ws)
			if err != nil {
				t.Fatal(err)
			}
			uid = int(info.Sys().(*syscall.Stat_t).Uid)
			for _, name := range []string{"", "/file", "/sub", "/kept"} {
				if err := os.Chown(r.foreign+name, uid, uid); err != nil {
					t.Fatal(err)
				}
			}
		}
		r.swap(t, false)
		if _, err := io.WriteString(p.Stdin, "go\n"); err != nil {
			t.Fatal(err)
		}
		out, _ := io.ReadAll(lines)
		p.Close()
		r.untouched(t, uid, string(out))
		if info, err := os.Stat(r.away + "/sub"); err != nil || info.Mode().Perm() != 0o700 || !strings.HasSuffix(string(out), "done\n") || strings.Contains(string(out), "no chmod") {
			t.Errorf("%s, as %s: its own folder was not changed: %v, %v: %s", m, strings.TrimSpace(user), info, err, out)
		}
	}
}
