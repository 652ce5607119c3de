package skill

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Decision is what somebody has said about the skills of a name. The zero value
// says nothing.
type Decision struct {
	// State is Enabled or Disabled; empty means as the skill itself asks for.
	State State `json:"state,omitempty"`
	// Version is the only one to be in force while there is one; empty means the
	// highest.
	Version string `json:"version,omitempty"`
	// Removed are the sources that the skill is not to come from.
	Removed []string `json:"removed,omitempty"`
	// By, At and Why say who decided, when and for what reason.
	By  string    `json:"by,omitempty"`
	At  time.Time `json:"at,omitzero"`
	Why string    `json:"why,omitempty"`
}

// IsZero reports whether nothing is decided.
func (d Decision) IsZero() bool { return d.State == "" && d.Version == "" && len(d.Removed) == 0 }

// disabled says in words that somebody disabled a skill.
func (d Decision) disabled() string {
	text := "disabled"
	if d.By != "" {
		text += " by " + d.By
	}
	if d.Why != "" {
		text += ": " + d.Why
	}
	return text
}

// say changes what is decided about a name. The caller holds the lock.
func (a Actor) say(name string, f func(*Decision)) {
	d := a.said[name]
	f(&d)
	if a.who != "program" {
		d.By, d.Why = a.who, a.why
	}
	d.At = time.Now()
	a.said[name] = d
}

// Decide replaces what is decided about some skills, by name, in one step. They
// need not be there: a decision waits for its skill. The zero Decision takes back
// what was decided before.
func (a Actor) Decide(decisions map[string]Decision) {
	a.changing.Lock()
	defer a.changing.Unlock()
	touched := map[string]bool{}
	for name, d := range decisions {
		a.said[name] = d
		if d.IsZero() {
			delete(a.said, name)
		}
		a.log.Info("skill decided on", "skill", name, "state", d.State, "version", d.Version, "removed", d.Removed, "by", cmp.Or(d.By, a.who), "why", cmp.Or(d.Why, a.why))
		if n := a.names[name]; n != nil {
			touched[name] = true
		}
	}
	a.publish(touched)
}

// Limit sets which skills may be enabled at all: f says, as a sentence, why one
// may not, and nothing when it may. A skill that may not stays loaded. f is asked
// again when it is set and for every skill that changes.
func (a Actor) Limit(f func(*Entry) string) {
	a.changing.Lock()
	defer a.changing.Unlock()
	a.limit = f
	touched := map[string]bool{}
	for name := range a.names {
		touched[name] = true
	}
	a.publish(touched)
}

// Use puts one version of a skill in force, whatever others there are; the empty
// version is the highest one again. ErrNotFound says that there is no such
// version.
func (a Actor) Use(name, version string) error {
	if version != "" && !slices.Contains(a.versions(name), version) {
		return fmt.Errorf("skill %q, version %q: %w", name, version, ErrNotFound)
	}
	return a.change(name, "version chosen", func(*named) { a.say(name, func(d *Decision) { d.Version = version }) })
}

func (a Actor) versions(name string) (list []string) {
	a.changing.Lock()
	defer a.changing.Unlock()
	if n := a.names[name]; n != nil {
		for _, c := range n.candidates {
			list = append(list, c.details.Version)
		}
	}
	return list
}
