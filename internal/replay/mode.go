package replay

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/etui-run/etui/gateway"
	"github.com/etui-run/etui/session"
)

// Mode is how tools are brought to the model.
type Mode string

// The modes that are no modes of etui, to compare with.
const (
	// All declares every tool that the caller may use, in every request: what is
	// done without a selection.
	All Mode = "all"
	// Naive declares the best tools for each question anew.
	Naive Mode = "naive"
	// Etui is etui as it is configured.
	Etui Mode = "etui"
)

// Modes lists all modes.
func Modes() []Mode { return []Mode{All, Naive, Etui} }

// ParseMode reads a mode's name.
func ParseMode(name string) (Mode, error) {
	names := make([]string, len(Modes()))
	for i, m := range Modes() {
		if string(m) == name {
			return m, nil
		}
		names[i] = string(m)
	}
	return "", fmt.Errorf("there is no mode %q; it is one of %s", name, strings.Join(names, ", "))
}

func (m Mode) apply(g *gateway.Config) {
	switch m {
	case All:
		g.Selection.Direct, g.Selection.Budget, g.Selection.WindowShare = math.MaxInt, math.MaxInt, 1e6 // of any window
	case Naive:
		g.Store = forgetful{g.Store}
	}
}

// forgetful is a store that forgets which tools a session began with, so that
// every question is a first one.
type forgetful struct{ session.Store }

// Load implements [session.Store].
func (f forgetful) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	s, err := f.Store.Load(ctx, key, limit)
	s.State = session.State{Skill: s.Skill}
	return s, err
}
