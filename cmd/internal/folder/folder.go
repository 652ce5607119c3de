// Package folder says where folders are: behind links, inside one another, and for the state that
// programs keep.
package folder

import (
	"fmt"
	"os"
	"path/filepath"
)

// Real returns where a folder is, with links resolved. A missing end stays as it is named.
func Real(dir string) string {
	for at, below := filepath.Clean(dir), ""; ; {
		if place, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(place, below)
		}
		if at == filepath.Dir(at) {
			return filepath.Clean(dir)
		}
		at, below = filepath.Dir(at), filepath.Join(filepath.Base(at), below)
	}
}

// WithReal returns paths as they are named and, where a link leads elsewhere, where they are.
func WithReal(paths []string) []string {
	for _, path := range paths {
		if place := Real(path); place != filepath.Clean(path) {
			paths = append(paths, place)
		}
	}
	return paths
}

// RealFile returns where a file is, without links among its folders.
func RealFile(file string) string {
	return filepath.Join(Real(filepath.Dir(file)), filepath.Base(file))
}

// Within reports whether path is dir or lies in it.
func Within(dir, path string) bool {
	below, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(below)
}

// Exists reports whether there is something at a path.
func Exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// State returns the user's folder for state, by the XDG base directory specification.
func State() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return dir, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("finding a place for the state: %w; set state in etui.yaml or ETUI_STATE", err)
	}
	return filepath.Join(home, ".local", "state"), nil
}
