//go:build !linux && !darwin

package sandbox

import (
	"context"
	"errors"
	"os"
)

// system is what other systems need: nothing.
type system struct{}

func (*system) close() error { return nil }

func (*Sandbox) probe(Mode) error { return errors.New("there is none for this system") }

func (*Sandbox) limited() string { return "" }

func (*Sandbox) isolated(context.Context, Mode, string, Command, view, []*os.File) (program, error) {
	return nil, ErrRefused
}

// enterable are the folders of Config.Read that a program can get to: all.
func (s *Sandbox) enterable(Mode, view) (folders []folder, unseen []error) { return s.read, nil }
