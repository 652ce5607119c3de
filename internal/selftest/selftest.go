// Package selftest proves what holds on this machine. It attacks etui's own walls -
// the sandbox of commands, the file tools, the guard of requests - in ways that are
// live without them, looks at what was reached, and does everyday things that must
// work. What it attacks is made for that: a folder, a program and services of its
// own, which are gone when it ends.
package selftest

import (
	"fmt"
	"strings"
)

// Report is what came of a sample. It is sound when nothing Failed.
type Report struct {
	Attacks, Stopped int
	Tasks, Worked    int
	// Open are the attacks that were not stopped and that the sandbox's mode is
	// known not to stop.
	Open []string
	// Failed says what went otherwise than it should, as sentences.
	Failed []string
}

// String sums a report up: "15 of 15 attacks stopped, 6 of 6 everyday commands
// worked".
func (r Report) String() string {
	text := fmt.Sprintf("%d of %d attacks stopped, %d of %d everyday things worked", r.Stopped, r.Attacks, r.Worked, r.Tasks)
	if len(r.Open) > 0 {
		text += " (not stopped in this mode: " + strings.Join(r.Open, ", ") + ")"
	}
	return text
}

// Err joins what failed; nil when nothing did.
func (r Report) Err() error {
	if len(r.Failed) == 0 {
		return nil
	}
	return fmt.Errorf("%s: %s", r, strings.Join(r.Failed, "; "))
}

// attack takes down how an attack ended. An error says that it could not be tried,
// which proves nothing.
func (r *Report) attack(name string, stopped, known bool, err error) {
	r.Attacks++
	switch {
	case err != nil:
		r.Failed = append(r.Failed, fmt.Sprintf("could not try to %s: %v", name, err))
	case stopped:
		r.Stopped++
	case known:
		r.Open = append(r.Open, name)
	default:
		r.Failed = append(r.Failed, "not stopped: "+name)
	}
}

// task takes down how an everyday thing ended.
func (r *Report) task(name string, err error) {
	r.Tasks++
	if err != nil {
		r.Failed = append(r.Failed, fmt.Sprintf("did not work: %s (%v)", name, err))
		return
	}
	r.Worked++
}
