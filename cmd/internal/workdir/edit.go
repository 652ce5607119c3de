package workdir

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/sandbox/protect"
)

// findRunning finds the workspaces where commands of other processes run.
func (w *Workspace) findRunning() error {
	for _, file := range w.disorders(w.Dir) {
		list, err := protect.FindRunning(filepath.Dir(file))
		if err != nil {
			return err
		}
		w.running = append(w.running, list...)
	}
	return nil
}

// read reads the configuration: while a command runs that could have changed it, as it was
// before.
func (w *Workspace) read() ([]byte, error) { return w.readFile(w.File) }

// readFile reads a file that configures etui, as it was before a command ran that could have written it.
func (w *Workspace) readFile(name string) ([]byte, error) {
	for _, r := range w.running {
		switch text, there, known := r.Before(name); {
		case known && !there:
			return nil, phrase.Errorf("%s is new, and a command runs that could have written it: %w", name,
				fs.ErrNotExist)
		case known:
			return text, nil
		}
	}
	if err := Ours(name); err != nil {
		return nil, err
	}
	return config.Read(name)
}

// changing reports whether a command runs that has changed a file or folder.
func (w *Workspace) changing(path string) bool {
	return slices.ContainsFunc(w.running, func(r protect.Workspace) bool { return !r.Unchanged(path) })
}

// Edit is a person's change of etui.yaml.
type Edit struct {
	Before, Now []byte
	// Waits reports that commands run which could have made it, so that etui takes it up only
	// when it is accepted.
	Waits bool

	file    string
	running []protect.Workspace
}

// Edit returns the change from the configuration to what a file says; an empty name is that
// of etui.yaml itself. No command may have written any other.
func (w *Workspace) Edit(from string) (*Edit, error) {
	if from == "" {
		from = w.File
	} else if abs, err := filepath.Abs(from); err != nil || folder.Within(folder.Real(w.Dir), folder.Real(abs)) {
		return nil, config.Usagef("%s is in the workspace, where a command can write it; name a file outside, or none",
			from)
	}
	e := &Edit{Before: w.Text, file: w.File, running: w.running}
	var err error
	if e.Now, err = config.Read(from); err != nil {
		return nil, err
	}
	for _, r := range w.running {
		_, _, known := r.Before(w.File)
		e.Waits = e.Waits || known
	}
	_, err = config.Parse(w.File, e.Now, w.Environ)
	return e, err
}

// Accept puts the change in effect: it says to the processes whose commands run that it is a
// person's, and writes it once more if a command has changed it meanwhile.
func (e *Edit) Accept() error {
	for _, r := range e.running {
		if _, _, known := r.Before(e.file); !known {
			continue
		}
		if err := r.Accept(e.file, e.Now); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(filepath.Dir(e.file))
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	name := filepath.Base(e.file)
	switch info, err := root.Lstat(name); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case !info.Mode().IsRegular() && !e.Waits:
		return config.Usagef("%s is no regular file; change what it leads to", e.file)
	case !info.Mode().IsRegular(): // a command put a link or a pipe there
		if err := root.RemoveAll(name); err != nil {
			return err
		}
	default:
		if now, err := root.ReadFile(name); err == nil && bytes.Equal(now, e.Now) {
			return nil
		}
	}
	return root.WriteFile(name, e.Now, 0o600) // in place: another file would not be sealed
}
