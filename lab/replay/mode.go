package replay

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Mode is how tools reach the model: one of the modes below, or one of
// [selection.Modes], which then replaces the configured one.
type Mode string

// The modes that a gateway does not have.
const (
	// All declares every tool that the caller may use in every request, as without a
	// selection.
	All Mode = "all"
	// Naive declares the best tools for each question, chosen again each time, beside
	// those for searching and calling the others.
	Naive Mode = "naive"
	// Configured is what the configuration says.
	Configured Mode = "configured"
)

// Modes lists all modes but Configured, those of [selection.Modes] last.
func Modes() []Mode {
	list := []Mode{All, Naive}
	for _, m := range selection.Modes() {
		if m != selection.Auto {
			list = append(list, Mode(m))
		}
	}
	return append(list, Mode(selection.Auto))
}

// ModeNames names all modes.
func ModeNames() string {
	var names []string
	for _, m := range append(Modes(), Configured) {
		names = append(names, string(m))
	}
	return strings.Join(names, ", ")
}

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	if slices.Contains(append(Modes(), Configured), Mode(name)) {
		return Mode(name), nil
	}
	return "", fmt.Errorf("there is no mode %q; it is one of %s", name, ModeNames())
}

// ParseModes reads modes' names, each once.
func ParseModes(names []string) ([]Mode, error) {
	var list []Mode
	for _, name := range names {
		m, err := ParseMode(name)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(list, m) {
			list = append(list, m)
		}
	}
	return list, nil
}

// apply sets this mode in a configuration.
func (m Mode) apply(g *engine.Config) {
	switch m {
	case Configured:
		return
	case All:
		g.Selection.Off = true
	case Naive:
		g.Selection.Mode, g.Selection.Directory = selection.Preselect, -1
		g.Store = forgetful{g.Store}
	default:
		g.Selection.Mode, g.Selection.Off = selection.Mode(m), false
	}
	for i := range g.Agents {
		g.Agents[i].Mode = g.Selection.Mode
	}
}

// forgetful is a store that forgets what a session has shown to the model, so that
// every question is like the first one.
type forgetful struct{ store.Store }

// Load implements [session.Store].
func (f forgetful) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	s, err := f.Store.Load(ctx, key, limit)
	s.State = session.State{Skill: s.Skill}
	return s, err
}
