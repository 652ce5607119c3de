package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/printable"
)

// system is empty: macOS needs no state.
type system struct{}

func (*system) close() error { return nil }

const sandboxExec = "/usr/bin/sandbox-exec"

// probe tries whether a mode works here.
func (s *Sandbox) probe(m Mode) error {
	if m != Seatbelt {
		return errors.New("only Linux has it")
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, sandboxExec, "-p", profile(view{}, os.TempDir()), "/usr/bin/true")
	cmd.Env = []string{}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", sandboxExec, err, printable.Excerpt(out, nil))
	}
	return nil
}

// limited has nothing to add to the description of the mode.
func (s *Sandbox) limited() string { return "" }

// isolated starts a program under sandbox-exec, with a temporary folder of its own.
func (s *Sandbox) isolated(_ context.Context, _ Mode, path string, c Command, v view, files []*os.File) (program,
	error) {
	home, err := os.MkdirTemp("", "etui-run-")
	if err != nil {
		return nil, err
	}
	if home, err = filepath.EvalSymlinks(home); err != nil {
		return nil, err
	}
	env := environment(map[string]string{"PATH": v.path(), "HOME": home, "TMPDIR": home}, c.Env)
	args := append([]string{sandboxExec, "-p", profile(v, home), path}, c.Args[1:]...)
	p, err := direct(args, sandboxExec, v.dir, env, files)
	if err != nil {
		os.RemoveAll(home)
		return nil, err
	}
	return tidy{p, home}, nil
}

// tidy removes the temporary folder at the program's end.
type tidy struct {
	program
	home string
}

func (t tidy) wait() (ending, error) {
	e, err := t.program.wait()
	return e, errors.Join(err, os.RemoveAll(t.home))
}

// profile writes what a program may do in Seatbelt's language.
func profile(v view, home string) string {
	var b strings.Builder
	b.WriteString(`(version 1)
(deny default)
(allow process-fork process-exec sysctl-read file-read-metadata)
(allow signal process-info* (target same-sandbox))
(allow mach-lookup (global-name "com.apple.system.opendirectoryd.libinfo") (global-name "com.apple.system.notification_center"))
(allow ipc-posix-sem ipc-posix-shm)
(allow file-read* (literal "/") (subpath "/usr") (subpath "/bin") (subpath "/sbin") (subpath "/System") (subpath "/Library/Apple")
  (subpath "/Library/Developer") (subpath "/Applications/Xcode.app") (subpath "/opt/homebrew") (subpath "/private/etc/ssl")
  (subpath "/private/var/db/timezone") (literal "/private/etc/passwd") (literal "/private/etc/protocols") (literal "/private/etc/services")
  (subpath "/dev/fd") (literal "/dev/random") (literal "/dev/urandom") (literal "/dev/zero"))
(allow file-read* file-write-data (literal "/dev/null") (literal "/dev/tty") (literal "/dev/dtracehelper"))
(allow file-write-data (subpath "/dev/fd"))
`)
	for _, path := range v.readable {
		fmt.Fprintf(&b, "(allow file-read* (subpath %s))\n", quoted(path))
	}
	for _, path := range append([]string{home}, v.writable...) {
		fmt.Fprintf(&b, "(allow file-read* file-write* (subpath %s))\n", quoted(path))
	}
	for _, path := range v.sealed { // the last matching rule counts
		fmt.Fprintf(&b, "(deny file-write* (subpath %s))\n", quoted(path))
		for folder := filepath.Dir(path); !slices.Contains(v.writable, folder); folder = filepath.Dir(folder) {
			fmt.Fprintf(&b, "(deny file-write-unlink (literal %s))\n", quoted(folder)) // nor moved away
		}
	}
	for _, path := range v.hidden {
		fmt.Fprintf(&b, "(deny file-read* (subpath %s))\n", quoted(path))
	}
	return b.String()
}

// quoted writes a text as a string of the profile.
func quoted(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// enterable returns the folders of Config.Read that a program can reach: all.
func (s *Sandbox) enterable(Mode, view) (folders []folder, unseen []error) { return s.read, nil }

// openFolder opens a folder to hold it.
func openFolder(path string) (*os.File, error) { return os.Open(path) }

// at returns a path as it is: this system knows no folder but by its path.
func (v view) at(path string) string { return path }
