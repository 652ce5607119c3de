package selftest

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// stage is where the attacks take place: a workspace, and beside it what must not
// be reached. All of it lies in one folder.
type stage struct {
	dir, workspace, outside string
	canary                  string // a file in outside that holds the token
	token                   string // what only who has reached something can know
	close                   []func() error
}

// kept is the configuration of the stage, which nothing in it may change.
const kept = "# nobody changes this\n"

func newStage() (s *stage, err error) {
	s = &stage{token: rand.Text()}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("preparing the self-test: %w", err), s.Close())
		}
	}()
	if s.dir, err = os.MkdirTemp("", "etui-test-"); err != nil {
		return s, err
	}
	s.close = append(s.close, func() error { return os.RemoveAll(s.dir) })
	// Where etui is root, commands run as somebody else, who must get in.
	if err := os.Chmod(s.dir, 0o711); err != nil {
		return s, err
	}
	s.workspace, s.outside = filepath.Join(s.dir, "ws"), filepath.Join(s.dir, "out")
	s.canary = filepath.Join(s.outside, "canary")
	return s, errors.Join(
		os.Mkdir(s.workspace, 0o755), os.Mkdir(s.outside, 0o755), os.Mkdir(s.in("skills"), 0o755),
		os.WriteFile(s.canary, []byte(s.token+"\n"), 0o644), os.WriteFile(s.in("etui.yaml"), []byte(kept), 0o644),
	)
}

// Close clears everything away.
func (s *stage) Close() error {
	var errs []error
	for i := len(s.close) - 1; i >= 0; i-- {
		errs = append(errs, s.close[i]())
	}
	return errors.Join(errs...)
}

// in is a path in the workspace.
func (s *stage) in(name string) string { return filepath.Join(s.workspace, name) }

// touched reports whether anything outside of the workspace was changed.
func (s *stage) touched() bool {
	beside, err := os.ReadDir(s.outside)
	info, missing := os.Lstat(s.canary)
	text, unread := os.ReadFile(s.canary)
	return errors.Join(err, missing, unread) != nil || len(beside) != 1 || string(text) != s.token+"\n" || info.Mode() != 0o644
}

// configured reports whether what is protected in the workspace was changed.
func (s *stage) configured() bool {
	text, err := os.ReadFile(s.in("etui.yaml"))
	skills, missing := os.ReadDir(s.in("skills"))
	return errors.Join(err, missing) != nil || string(text) != kept || len(skills) != 0
}

// trusted reports whether there is what other programs, or etui, would trust.
func (s *stage) trusted() bool {
	for _, name := range []string{".vscode", ".envrc", "more/skills"} {
		if _, err := os.Lstat(s.in(name)); err == nil {
			return true
		}
	}
	return false
}

// repair undoes what an attack that was not stopped has done, for the next one.
func (s *stage) repair() error {
	return errors.Join(
		os.RemoveAll(s.outside), os.Mkdir(s.outside, 0o755), os.WriteFile(s.canary, []byte(s.token+"\n"), 0o644),
		os.RemoveAll(s.in("etui.yaml")), os.WriteFile(s.in("etui.yaml"), []byte(kept), 0o644),
		os.RemoveAll(s.in("skills")), os.Mkdir(s.in("skills"), 0o755),
	)
}

// victim is a program beside the commands, as others of the user's. It answers each
// line with the same line.
type victim struct {
	pid   string
	in    io.Writer
	lines *bufio.Reader
}

func newVictim(in io.Writer, out io.Reader) (*victim, error) {
	v := &victim{in: in, lines: bufio.NewReader(out)}
	pid, err := v.lines.ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("the program beside the commands has not started: %w", err)
	}
	v.pid = pid[:len(pid)-1]
	return v, nil
}

// lives reports whether nobody has killed it.
func (v *victim) lives() bool {
	if _, err := io.WriteString(v.in, "well?\n"); err != nil {
		return false
	}
	answer, err := v.lines.ReadString('\n')
	return err == nil && answer == "well?\n"
}
