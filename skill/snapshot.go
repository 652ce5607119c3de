package skill

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/tool"
)

// State is a stage of a skill's life.
type State string

// The states. A registered skill is loaded; only an enabled one can be used.
const (
	Loaded   State = "loaded"
	Enabled  State = "enabled"
	Disabled State = "disabled"
	Removed  State = "removed"
)

// Scope is how near to the user a skill's source is. Of two skills with one name the
// nearer one is in effect.
type Scope int

// The scopes, from far to near.
const (
	Builtin   Scope = iota // of the program
	Global                 // of the user, for all workspaces
	Workspace              // of this workspace
)

func (s Scope) String() string { return [...]string{"builtin", "global", "workspace"}[s] }

// MarshalText writes the scope's name.
func (s Scope) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Scope) UnmarshalText(text []byte) error {
	for _, scope := range []Scope{Builtin, Global, Workspace} {
		if scope.String() == string(text) {
			*s = scope
			return nil
		}
	}
	return fmt.Errorf("unknown scope %q", text)
}

// Entry is a skill of a table at one moment. It is immutable.
type Entry struct {
	Skill   Skill
	Details Details
	State   State
	// Why says, as a sentence, why the skill is not enabled; empty when it is.
	Why   string
	Scope Scope
	// Source is the skill's file, or "program:" and its name if the program
	// registered it.
	Source string
	// Since is when this version was loaded.
	Since time.Time
	// Shadows are other skills of the same name, hidden by this one. The first of
	// them would take its place.
	Shadows []*Entry
	// Err is why the newest version of the source cannot be used; the entry is then
	// the last good one. Nil when nothing is wrong.
	Err error

	definition tool.Definition
	schema     func() (*tool.Schema, error) // of the parameters, compiled on first use
}

// Name returns the skill's name.
func (e *Entry) Name() string { return e.Skill.Name() }

// Snapshot is the content of a table at one moment. It is immutable.
type Snapshot struct {
	byName map[string]*Entry
	list   []*Entry         // by name
	failed map[string]error // sources without a skill, by source

	// Built on first use.
	all, enabled func() []Skill
	tools        func() []tool.Definition
}

// Get returns the skill of a name that is in effect, in any state.
func (s *Snapshot) Get(name string) (*Entry, bool) {
	e, ok := s.byName[name]
	return e, ok
}

// All returns the skills in effect by name, in any state. Removed ones stay among
// them until their source changes. The caller must not change the slice.
func (s *Snapshot) All() []*Entry { return s.list }

// Failed returns, by source, why sources without any skill cannot be used. The
// caller must not change the map.
func (s *Snapshot) Failed() map[string]error { return s.failed }

func newSnapshot(byName map[string]*Entry, list []*Entry, failed map[string]error) *Snapshot {
	s := &Snapshot{byName: byName, list: list, failed: failed}
	s.all = sync.OnceValue(func() []Skill { return gather(list, isPresent, func(e *Entry) Skill { return e.Skill }) })
	s.enabled = sync.OnceValue(func() []Skill {
		return gather(list, isEnabled,
			func(e *Entry) Skill { return e.Skill })
	})
	s.tools = sync.OnceValue(func() []tool.Definition {
		return gather(list, isEnabled, func(e *Entry) tool.Definition { return e.definition })
	})
	return s
}

func isPresent(e *Entry) bool { return e.State != Removed }
func isEnabled(e *Entry) bool { return e.State == Enabled }

// gather returns a part of each wanted entry.
func gather[T any](list []*Entry, wanted func(*Entry) bool, part func(*Entry) T) []T {
	all := make([]T, 0, len(list))
	for _, e := range list {
		if wanted(e) {
			all = append(all, part(e))
		}
	}
	return all
}

// merge updates a sorted list with the entries of the changed names, in order.
func merge(old []*Entry, changed []string, byName map[string]*Entry) []*Entry {
	list := make([]*Entry, 0, len(byName))
	for _, name := range changed {
		i, found := slices.BinarySearchFunc(old, name,
			func(e *Entry, name string) int { return strings.Compare(e.Name(), name) })
		list, old = append(list, old[:i]...), old[i:]
		if found {
			old = old[1:]
		}
		if now := byName[name]; now != nil {
			list = append(list, now)
		}
	}
	return append(list, old...)
}
