// Package sandbox runs programs. It is the only package that may start one.
//
// It isolates nothing yet. A [Sandbox] of mode [Auto] therefore refuses to run
// anything, and one of mode [Off], which a person has to ask for, runs programs
// with the rights of etui's user. In every mode a program
//
//   - is started from a list of arguments, never through a shell,
//   - sees PATH, HOME, LANG, TMPDIR and TERM and what its [Command] names of the
//     environment, and no file that etui has open,
//   - is the head of a session of its own, all of which is killed when it ends, when
//     its context ends, and when it is closed. Only a program that leaves that
//     session on purpose survives, and its output is not waited for. On Windows the
//     program alone is killed.
package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Mode says how programs are kept apart from the machine.
type Mode string

// The modes.
const (
	// Auto takes the strongest isolation that this machine has, and runs nothing
	// where it has none.
	Auto Mode = "auto"
	// Off isolates nothing: programs run with the rights of etui's user.
	Off Mode = "off"
)

// Modes returns all modes, as the configuration may name them.
func Modes() []Mode { return []Mode{Auto, Off} }

// ErrRefused says that no program is run here, and what changes that.
var ErrRefused = errors.New(`programs are not run: etui cannot isolate them yet. Write "sandbox: {mode: off}" in etui.yaml to run them with all your rights`)

// ErrNotFound says that a program cannot be found or is not executable.
var ErrNotFound = errors.New("no such program")

// Config says how to run programs. The zero value is mode Auto.
type Config struct {
	// Mode is Auto when it is empty.
	Mode Mode
}

// Sandbox runs programs. It is safe for concurrent use.
type Sandbox struct {
	mode   Mode
	places chan struct{} // taken by the programs that Run waits for
}

// maxRunning is how many programs Run runs at once. Further ones wait, as long
// as their context lets them.
const maxRunning = 16

// waitDelay is how long output is waited for after a program and its session
// have ended.
const waitDelay = time.Second

// New makes a sandbox, or says that there is no such mode.
func New(c Config) (*Sandbox, error) {
	if c.Mode == "" {
		c.Mode = Auto
	}
	if !slices.Contains(Modes(), c.Mode) {
		return nil, fmt.Errorf("sandbox: there is no mode %q; use auto or off", c.Mode)
	}
	return &Sandbox{mode: c.Mode, places: make(chan struct{}, maxRunning)}, nil
}

// Mode is how programs are kept apart.
func (s *Sandbox) Mode() Mode { return s.mode }

// Ready returns nil when programs are run here, and otherwise ErrRefused.
func (s *Sandbox) Ready() error {
	if s.mode != Off {
		return ErrRefused
	}
	return nil
}

// Command is a program to run.
type Command struct {
	// Args are the program and its arguments. [Find] says how the program is found.
	Args []string
	// Dir is the folder that it runs in, as an absolute path.
	Dir string
	// Env is what its environment holds beside the few names that every program
	// gets, and instead of them.
	Env map[string]string
	// Stdin is what Run gives it to read. Start does not use it.
	Stdin []byte
	// Hide takes out of what Process.Complaint and Process.Err tell what must not be
	// shown. Nil shows all.
	Hide func(string) string
	// MaxOutput is how many bytes Run keeps of its standard output, half of them
	// from the beginning and half from the end. Zero means 1 MiB.
	MaxOutput int
}

// Find looks a program up. A name without a slash stands for a program in PATH, a
// relative path for one in dir, which links do not leave. The error wraps
// ErrNotFound.
func Find(dir, program string) (string, error) {
	switch {
	case program == "":
		return "", fmt.Errorf("%w: it has no name", ErrNotFound)
	case filepath.IsAbs(program), !strings.ContainsAny(program, `/\`):
		path, err := exec.LookPath(program)
		if err != nil {
			return "", fmt.Errorf("%w: %w", ErrNotFound, err)
		}
		return path, nil
	}
	if err := beneath(dir, program); err != nil {
		return "", fmt.Errorf("%w: %s: %w", ErrNotFound, program, err)
	}
	return filepath.Join(dir, program), nil
}

// beneath checks that a path is an executable file in dir.
func beneath(dir, path string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Stat(filepath.Clean(path))
	var perr *fs.PathError
	switch {
	case errors.As(err, &perr):
		return perr.Err
	case err != nil:
		return err
	case !info.Mode().IsRegular():
		return errors.New("it is no file")
	case info.Mode()&0o111 == 0 && runtime.GOOS != "windows":
		return errors.New("it is not executable; use chmod +x")
	}
	return nil
}

// prepare makes a command ready to start. When ctx ends its session is killed.
func (s *Sandbox) prepare(ctx context.Context, c Command) (*exec.Cmd, error) {
	if err := s.Ready(); err != nil {
		return nil, err
	}
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("%w: the command is empty", ErrNotFound)
	}
	path, err := Find(c.Dir, c.Args[0])
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, c.Args[1:]...)
	cmd.Dir, cmd.Env, cmd.WaitDelay = c.Dir, environment(c.Env), waitDelay
	ownSession(cmd)
	cmd.Cancel = func() error { return killSession(cmd) }
	return cmd, nil
}

// environment is what a program sees of etui's, with what is its own.
func environment(own map[string]string) []string {
	names := []string{"PATH", "HOME", "LANG", "TMPDIR", "TERM"}
	if runtime.GOOS == "windows" {
		names = append(names, "PATHEXT", "SYSTEMROOT", "COMSPEC", "TEMP", "TMP", "USERPROFILE")
	}
	env := make([]string, 0, len(names)+len(own))
	for _, name := range names {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		env = append(env, name+"="+own[name]) // of two with one name, the last one holds
	}
	return env
}
