//go:build !linux && !darwin

package sandbox

import (
	"context"
	"errors"
	"os"
)

// system is empty: other systems have no isolation.
type system struct{}

func (*system) close() error { return nil }

func (*Sandbox) probe(Mode) error { return errors.New("this system has none") }

func (*Sandbox) limited() string { return "" }

func (*Sandbox) isolated(context.Context, Mode, string, Command, view, []*os.File) (program, error) {
	return nil, ErrRefused
}

// enterable returns the folders of Config.Read that a program can reach: all.
func (s *Sandbox) enterable(Mode, view) (folders []folder, unseen []error) { return s.read, nil }

// openFolder opens a folder to hold it.
func openFolder(path string) (*os.File, error) { return os.Open(path) }

// at returns a path as it is: this system knows no folder but by its path.
func (v view) at(path string) string { return path }
