package app

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/etui-run/etui/examples"
	"github.com/etui-run/etui/internal/config"
)

// Workspace is a folder with its configuration.
type Workspace struct {
	File   string // the configuration, which may not exist
	Found  bool   // it exists
	Text   []byte // its content
	Dir    string // the folder
	State  string // the state folder
	Config *config.Config

	ports []uint16 // that this process listens on
}

//go:embed demo
var demoFiles embed.FS

// Open finds and reads a workspace: the folder dir with its etui.yaml, or the
// configuration file wherever it is. Both may be empty: that is the current folder.
func Open(dir, file string) (*Workspace, error) {
	return open(dir, file, file == "")
}

// OpenDemo reads the demo's workspace, which it makes where it is missing.
func OpenDemo(file string) (*Workspace, error) {
	dir, err := demoWorkspace()
	if err != nil {
		return nil, err
	}
	w, err := open(dir, file, false)
	if err == nil && w.Config.State == "" {
		w.State = filepath.Dir(w.Dir)
	}
	return w, err
}

func open(dir, file string, optional bool) (*Workspace, error) {
	w := &Workspace{}
	var err error
	if w.File, err = filepath.Abs(cmp.Or(file, filepath.Join(dir, config.File))); err != nil {
		return nil, err
	}
	w.Dir = filepath.Dir(w.File)
	if dir != "" && file != "" {
		if w.Dir, err = filepath.Abs(dir); err != nil {
			return nil, err
		}
	}
	if info, err := os.Stat(w.Dir); err != nil || !info.IsDir() {
		return nil, Usagef("there is no folder %s", w.Dir)
	}
	if w.Config, err = config.Load(w.File, optional, os.Environ()); err != nil {
		return nil, err
	}
	if w.Text, err = os.ReadFile(w.File); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	w.Found = err == nil
	if w.State = config.Abs(w.File, w.Config.State); w.State == "" {
		w.State, err = stateFolder(w.Dir)
		return w, err
	}
	return w, nil
}

// UsageError is a mistake in how etui was called or set up.
type UsageError struct{ error }

// Unwrap returns the mistake itself.
func (e UsageError) Unwrap() error { return e.error }

// Usagef returns a [UsageError].
func Usagef(format string, args ...any) error { return UsageError{fmt.Errorf(format, args...)} }

// wrongf returns a mistake in the configuration.
func (w *Workspace) wrongf(format string, args ...any) error {
	return UsageError{fmt.Errorf("%s: %w", w.File, fmt.Errorf(format, args...))}
}

// Database is the file that conversations are stored in.
func (w *Workspace) Database() string { return filepath.Join(w.State, "etui.db") }

// HasSkills reports whether the workspace has a folder of skills.
func (w *Workspace) HasSkills() bool {
	return slices.ContainsFunc(folders(w.Config.Skills.Dir, workspaceFolders), func(dir string) bool {
		_, err := os.Stat(config.Abs(w.File, dir))
		return err == nil
	})
}

// As returns the workspace with another configuration file.
func (w *Workspace) As(file string) (*Workspace, error) {
	changed := *w
	var err error
	if changed.File, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	changed.Config, err = config.Load(changed.File, false, os.Environ())
	return &changed, err
}

// stateHome is the user's folder for state, by the XDG base directory
// specification.
func stateHome() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the state: %w; set state in etui.yaml or ETUI_STATE", err)
	}
	return filepath.Join(home, ".local", "state"), nil
}

// stateFolder returns where a workspace's state is kept: outside of the workspace, so
// that its tools cannot read what other users said.
func stateFolder(dir string) (string, error) {
	home, err := stateHome()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256([]byte(dir))
	name := strings.Map(func(r rune) rune {
		if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '-'
	}, filepath.Base(dir))
	return filepath.Join(home, "etui", name+"-"+hex.EncodeToString(sum[:4])), nil
}

// demoWorkspace makes the demo's workspace where it is missing, and returns its
// folder. The folder of skills is made once: a skill that was deleted stays away.
func demoWorkspace() (string, error) {
	home, err := stateHome()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(home, "etui", "demo", "workspace")
	_, err = os.Lstat(filepath.Join(dir, "skills"))
	withSkills := errors.Is(err, fs.ErrNotExist)
	own, err := fs.Sub(demoFiles, "demo")
	if err == nil {
		err = addFiles(dir, own, func(path string) bool { return withSkills || path != "skills" })
	}
	if err == nil && withSkills {
		err = addFiles(filepath.Join(dir, "skills"), examples.Skills(), inDemo)
	}
	if err != nil {
		return "", fmt.Errorf("making the demo workspace: %w", err)
	}
	return dir, nil
}

// inDemo selects the examples that the demo has: those without further requirements.
func inDemo(path string) bool {
	switch first, _, _ := strings.Cut(path, "/"); first {
	case ".", "check_number.yaml", "check_number.wasm", "hash_text.yaml", "incident-report", "release-notes", "data-cleanup":
		return true
	}
	return false
}

// addFiles writes the files that are wanted and missing into a folder.
func addFiles(dir string, files fs.FS, wanted func(path string) bool) error {
	return fs.WalkDir(files, ".", func(path string, e fs.DirEntry, err error) error {
		target := filepath.Join(dir, filepath.FromSlash(path))
		switch {
		case err != nil:
			return err
		case !wanted(path) && e.IsDir():
			return fs.SkipDir
		case !wanted(path):
			return nil
		case e.IsDir():
			return os.MkdirAll(target, 0o700)
		}
		if _, err := os.Lstat(target); err == nil {
			return nil // the user may have changed it
		}
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return err
		}
		return os.WriteFile(target, text, 0o600)
	})
}
