package skill

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Decision is what an operator decided about the skills of a name. The zero value
// decides nothing.
type Decision struct {
	// State is Enabled or Disabled; empty leaves it to the skill's file.
	State State `json:"state,omitempty"`
	// Version is the one in effect, if it exists; empty means the highest.
	Version string `json:"version,omitempty"`
	// Removed are the sources whose skills are removed.
	Removed []string `json:"removed,omitempty"`
	// By, At and Why say who decided, when and why.
	By  string    `json:"by,omitempty"`
	At  time.Time `json:"at,omitzero"`
	Why string    `json:"why,omitempty"`
}

// IsZero reports whether d decides nothing.
func (d Decision) IsZero() bool { return d.State == "" && d.Version == "" && len(d.Removed) == 0 }

// disabled says who disabled a skill and why.
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

// say changes the decision about a name. The caller holds the lock.
func (a Actor) say(name string, f func(*Decision)) {
	d := a.said[name]
	f(&d)
	if a.who != "program" {
		d.By, d.Why = a.who, a.why
	}
	d.At = time.Now()
	a.said[name] = d
}

// Decide replaces the decisions about some skills, by name, in one step. A decision
// about a skill that does not exist waits for it. The zero Decision takes back what
// was decided before.
func (a Actor) Decide(decisions map[string]Decision) {
	a.changing.Lock()
	defer a.changing.Unlock()
	touched := map[string]bool{}
	for name, d := range decisions {
		a.said[name] = d
		if d.IsZero() {
			delete(a.said, name)
		}
		a.log.Info("skill decided on", "skill", name, "state", d.State, "version", d.Version, "removed", d.Removed,
			"by", cmp.Or(d.By, a.who), "why", cmp.Or(d.Why, a.why))
		if n := a.names[name]; n != nil {
			touched[name] = true
		}
	}
	a.publish(touched)
}

// Limit sets which skills may be enabled at all: f returns, as a sentence, why one
// may not, or nothing. Such a skill stays loaded. f is called for all skills now and
// for every skill that changes.
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

// Use chooses the version of a skill that is in effect; the empty version means the
// highest again. The error is ErrNotFound if there is no such version.
func (a Actor) Use(name, version string) error {
	if version != "" && !slices.Contains(a.versions(name), version) {
		return fmt.Errorf("skill %q, version %q: %w", name, version, ErrNotFound)
	}
	return a.change(name, "version chosen",
		func(*candidates) { a.say(name, func(d *Decision) { d.Version = version }) })
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
