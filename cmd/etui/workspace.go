package main

import (
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

// workspace is a folder with its configuration.
type workspace struct {
	file   string // the configuration, which may not exist
	found  bool   // it exists
	text   []byte // its content
	dir    string // the folder
	state  string // where the database is
	config *config.Config
	ports  []uint16 // that this process listens on
}

//go:embed demo
var demoFiles embed.FS

// open finds and reads the workspace that the flags mean.
func (a *app) open() (*workspace, error) {
	w := &workspace{file: a.config}
	if a.demo {
		dir, err := demoWorkspace()
		if err != nil {
			return nil, err
		}
		a.workspace = dir
	}
	if w.file == "" {
		w.file = filepath.Join(a.workspace, config.File)
	}
	file, err := filepath.Abs(w.file)
	if err != nil {
		return nil, err
	}
	w.file, w.dir = file, filepath.Dir(file)
	if a.workspace != "" && a.config != "" {
		if w.dir, err = filepath.Abs(a.workspace); err != nil {
			return nil, err
		}
	}
	if info, err := os.Stat(w.dir); err != nil || !info.IsDir() {
		return nil, usagef("there is no folder %s", w.dir)
	}
	optional := a.config == "" && !a.demo
	if w.config, err = config.Load(w.file, optional, os.Environ()); err != nil {
		return nil, err
	}
	w.text, err = os.ReadFile(w.file)
	w.found = err == nil
	w.state = config.Abs(w.file, w.config.State)
	if w.state == "" {
		w.state, err = stateFolder(w.dir)
	}
	if a.demo && w.config.State == "" {
		w.state = filepath.Dir(w.dir)
		err = nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return w, err
}

// hasSkills reports whether the workspace has a folder of skills.
func (w *workspace) hasSkills() bool {
	return slices.ContainsFunc(folders(w.config.Skills.Dir, workspaceFolders), func(dir string) bool {
		_, err := os.Stat(config.Abs(w.file, dir))
		return err == nil
	})
}

// as is the workspace with another configuration.
func (w *workspace) as(file string) (*workspace, error) {
	changed := *w
	var err error
	if changed.file, err = filepath.Abs(file); err != nil {
		return nil, err
	}
	changed.config, err = config.Load(changed.file, false, os.Environ())
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

// stateFolder is where a workspace's state is kept: outside of it, so that its
// tools cannot reach what other users said.
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

// inDemo says which of the examples the demo has: those that need nothing more.
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
