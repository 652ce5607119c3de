package skill

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/tool"
)

// State is where a skill stands in its life.
type State string

// The states. A skill that is registered is loaded; it can be used once it is
// enabled.
const (
	Loaded   State = "loaded"
	Enabled  State = "enabled"
	Disabled State = "disabled"
	Removed  State = "removed"
)

// Scope is how near to the user a skill's source is. Of two skills with one
// name the nearer one is in force.
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

// Entry is a skill of a table, as it stood when it was read. It is immutable.
type Entry struct {
	Skill   Skill
	Details Details
	State   State
	// Why says, as a sentence, why the skill is not enabled; empty when it is.
	Why   string
	Scope Scope
	// Source is the file that the skill came from; empty for one that the program
	// registered itself.
	Source string
	// Since is when it came to be in this form.
	Since time.Time
	// Shadows are skills of the same name that are not in force because of this
	// one, the next to be in force first.
	Shadows []*Entry
	// Err is why the newest form of the source could not be used; this entry is
	// then the last good one. Nil when nothing is wrong.
	Err error

	definition tool.Definition
	schema     func() (*tool.Schema, error) // of the parameters, compiled when first asked for
}

// Name is the skill's.
func (e *Entry) Name() string { return e.Skill.Name() }

// Snapshot is what a table held at one moment. It is immutable.
type Snapshot struct {
	byName map[string]*Entry
	list   []*Entry         // by name
	failed map[string]error // sources that give nothing, by source

	// What is made when it is first asked for.
	all, enabled func() []Skill
	tools        func() []tool.Definition
}

// Get finds the skill of a name that is in force, whatever its state.
func (s *Snapshot) Get(name string) (*Entry, bool) {
	e, ok := s.byName[name]
	return e, ok
}

// All returns the skills in force by name, whatever their state, those that were
// removed among them until their source changes. The slice is not to be changed.
func (s *Snapshot) All() []*Entry { return s.list }

// Failed returns why sources that give no skill at all do not, by source. The map
// is not to be changed.
func (s *Snapshot) Failed() map[string]error { return s.failed }

func newSnapshot(byName map[string]*Entry, list []*Entry, failed map[string]error) *Snapshot {
	s := &Snapshot{byName: byName, list: list, failed: failed}
	s.all = sync.OnceValue(func() []Skill { return gather(list, isPresent, func(e *Entry) Skill { return e.Skill }) })
	s.enabled = sync.OnceValue(func() []Skill { return gather(list, isEnabled, func(e *Entry) Skill { return e.Skill }) })
	s.tools = sync.OnceValue(func() []tool.Definition {
		return gather(list, isEnabled, func(e *Entry) tool.Definition { return e.definition })
	})
	return s
}

func isPresent(e *Entry) bool { return e.State != Removed }
func isEnabled(e *Entry) bool { return e.State == Enabled }

// gather returns a part of each entry that is wanted.
func gather[T any](list []*Entry, wanted func(*Entry) bool, part func(*Entry) T) []T {
	all := make([]T, 0, len(list))
	for _, e := range list {
		if wanted(e) {
			all = append(all, part(e))
		}
	}
	return all
}

// merge brings a sorted list up to date with what has changed, in order.
func merge(old []*Entry, changed []string, byName map[string]*Entry) []*Entry {
	list := make([]*Entry, 0, len(byName))
	for _, name := range changed {
		i, found := slices.BinarySearchFunc(old, name, func(e *Entry, name string) int { return strings.Compare(e.Name(), name) })
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
