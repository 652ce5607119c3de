package workdir

import (
	"embed"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/cmd/internal/folder"
	"github.com/etui-run/etui/examples"
	"github.com/etui-run/etui/phrase"
)

// OpenDemo reads the demo's workspace, which it makes where it is missing.
func OpenDemo(file string, environ []string) (*Workspace, error) {
	dir, err := demoWorkspace()
	if err != nil {
		return nil, err
	}
	w, err := open(dir, file, false, environ, file == "")
	if err == nil && w.Config.State == "" {
		w.State = filepath.Dir(w.Dir)
	}
	return w, err
}

//go:embed demo
var demoFiles embed.FS

// demoWorkspace makes the demo's workspace where it is missing, and returns its
// folder. The folder of skills is made once: a skill that was deleted stays away.
func demoWorkspace() (string, error) {
	home, err := folder.State()
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
		return "", phrase.Errorf("making the demo workspace: %w", err)
	}
	return dir, nil
}

// inDemo selects the examples that the demo has: those without further requirements.
func inDemo(path string) bool {
	switch first, _, _ := strings.Cut(path, "/"); first {
	case ".", "check_number.yaml", "check_number.wasm", "hash_text.yaml", "incident-report", "release-notes",
		"data-cleanup":
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
