// Package workflow says how work goes through phases: which tools, instructions, model and
// limits each phase has, and what must have happened before another one begins.
//
// A [Workflow] is data. [Compile] checks workflows and makes a [Set] of [Plan]s of them. A
// plan judges a run, which is a [session.Flow]: it is a function of what is stored there,
// so any process comes to the same answer. It reads no clock, and no file but those that
// conditions name as disk, see [Plan.In].
//
// Conditions are written in CEL, compiled by package rules. They read what happened in the
// current visit of a phase: see [Variables]. A condition that fails, as one that reads a
// result that does not exist yet, does not hold.
//
// The phase of a run ends when a condition holds, by the host's own evidence. The model
// may say that it has finished, with finish_phase; only conditions that read finished
// believe it, and the host checks the rest of the condition.
package workflow

import (
	"cmp"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"sync/atomic"

	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/rules"
)

// The targets that end a run. No phase has these names.
const (
	Done   = "done"
	Failed = "failed"
)

// The outcomes of a run, beside [Done] and [Failed].
const (
	// Limit: a limit was reached, and nothing says what comes then.
	Limit = "limit"
	// Stopped: a person ended it.
	Stopped = "stopped"
)

// The limits that apply where none is set, and the bounds of a definition.
const (
	DefaultRounds    = 16  // of a visit
	DefaultVisits    = 8   // of a phase
	DefaultAllRounds = 200 // of a run
	MaxPhases        = 50
	MaxNext          = 20
	MaxRounds        = 10_000
	MaxInstructions  = 32 << 10 // bytes
)

// Workflow is named phases. The first one begins.
type Workflow struct {
	// Name is how messages and commands call it. Required.
	Name        string
	Description string
	Phases      []Phase
	// Limits bound a run; Visits is not used.
	Limits Limits
	// Offline, if not nil, answers where the agent's model is no language model, as a
	// script does: so people can see the workflow without a key.
	Offline model.Model
	// Place is where it is written, for messages; zero means unknown.
	Place rules.Place
}

// Phase is a part of a workflow.
type Phase struct {
	// Name is unique in the workflow. Required.
	Name string
	// Skill is the skill whose tools the phase has; empty means all. If the skill or one of
	// its tools does not exist, the phase has all tools; if it exists and the caller cannot
	// use it, as by the policy or because it is disabled, the phase has none. A warning says
	// so. It never gives a tool that the caller may not use.
	Skill string
	// Instructions are what the model reads when the phase begins.
	Instructions string
	// Model names the model that answers in the phase; empty means the agent's.
	Model  string
	Limits Limits
	// Next are the conditions that end the phase. The first one that holds counts.
	Next []Next
	// Otherwise is the phase that begins when a limit of this one is reached, or [Done] or
	// [Failed]; empty means that the run ends with the outcome [Limit].
	Otherwise string
	// Place is where it is written.
	Place rules.Place
}

// Next is a way from a phase to another one.
type Next struct {
	// When is a condition in CEL over [Variables]; empty means finished.
	When string
	// To names a phase, or is [Done] or [Failed]. Required.
	To string
	// Place is where it is written, and WhenPlace where its condition begins.
	Place, WhenPlace rules.Place
}

// Limits bound a visit of a phase, or a run. Zero means the default.
type Limits struct {
	// Rounds is how many answers the model may give: by default 16 in a visit, and 200 in a
	// run.
	Rounds int
	// Visits is how often a phase may begin, by default 8 times.
	Visits int
	// Tokens is how many tokens may be used, requests and answers together, as the provider
	// counts them; by default any number.
	Tokens int
}

// Variables lists what conditions may read.
func Variables() []rules.Variable {
	result := map[string]rules.ValueKind{"count": rules.Number, "failures": rules.Number, "failed": rules.Truth,
		"text": rules.Text, "data": rules.Values}
	file := map[string]rules.ValueKind{"size": rules.Number, "text": rules.Text, "data": rules.Values}
	return []rules.Variable{
		{Name: "input", Kind: rules.Text}, {Name: "target", Kind: rules.Text}, {Name: "params", Kind: rules.TextMap},
		{Name: "phase", Kind: rules.Text},
		{Name: "finished", Kind: rules.Truth}, {Name: "next", Kind: rules.Text}, {Name: "summary", Kind: rules.Text},
		{Name: "round", Kind: rules.Number}, {Name: "visit", Kind: rules.Number}, {Name: "calls", Kind: rules.Number},
		{Name: "failures", Kind: rules.Number}, {Name: "tokens", Kind: rules.Number},
		{Name: "visits", Kind: rules.Numbers},
		{Name: "reply", Kind: rules.Text}, {Name: "files", Kind: rules.Texts},
		{Name: "results", Kind: rules.Values, Fields: result}, {Name: "earlier", Kind: rules.Values, Fields: result},
		{Name: "disk", Kind: rules.Names, Fields: file},
	}
}

// Plan is a workflow that is ready to run. It is immutable.
type Plan struct {
	Workflow

	conditions map[string][]*rules.Condition // by phase, as in its Next
	disk       fs.FS
}

// MissingPlan returns the plan of a workflow that does not exist any more. It has no phase, so a run
// of it fails and says why.
func MissingPlan(name string) *Plan { return &Plan{Workflow: Workflow{Name: name}} }

// In returns the plan with the files that its conditions read as disk; nil means none. The
// files must not lead out of their folder, and opening one must not wait: os.Root's do the
// first.
func (p *Plan) In(disk fs.FS) *Plan {
	here := *p
	here.disk = disk
	return &here
}

// Set is workflows with different names. It is immutable; nil is empty.
type Set struct {
	plans  []*Plan
	byName map[string]*Plan
}

// Compile checks workflows. The error is a [*rules.Error] with the place of the first
// mistake.
func Compile(list ...Workflow) (*Set, error) {
	s := &Set{byName: map[string]*Plan{}}
	conditions := rules.NewConditions(Variables()...)
	for _, w := range list {
		if s.byName[w.Name] != nil {
			return nil, wrong(w.Place, "there are two workflows %q; give one another name", w.Name)
		}
		p, err := compile(w, conditions)
		if err != nil {
			return nil, err
		}
		s.plans, s.byName[w.Name] = append(s.plans, p), p
	}
	return s, nil
}

func wrong(at rules.Place, format string, args ...any) error {
	return &rules.Error{Place: at, Reason: fmt.Sprintf(format, args...)}
}

func compile(w Workflow, conditions *rules.Conditions) (*Plan, error) {
	switch {
	case w.Name == "":
		return nil, wrong(w.Place, "a workflow has no name")
	case len(w.Phases) == 0:
		return nil, wrong(w.Place, "the workflow %s has no phases; it needs at least one", w.Name)
	case len(w.Phases) > MaxPhases:
		return nil, wrong(w.Place, "the workflow %s has %d phases, at most %d are allowed", w.Name, len(w.Phases),
			MaxPhases)
	}
	if err := w.Limits.check(w.Place, "the workflow "+w.Name); err != nil {
		return nil, err
	}
	p := &Plan{Workflow: w, conditions: map[string][]*rules.Condition{}}
	p.Phases = slices.Clone(w.Phases)
	targets := []string{}
	for _, ph := range p.Phases {
		at := place(ph.Place, w.Place)
		switch {
		case ph.Name == "":
			return nil, wrong(at, "a phase of the workflow %s has no name", w.Name)
		case ph.Name == Done || ph.Name == Failed:
			return nil, wrong(at, "no phase can have the name %q: it ends a workflow", ph.Name)
		case slices.Contains(targets, ph.Name):
			return nil, wrong(at, "the workflow %s has two phases %q; give one another name", w.Name, ph.Name)
		case len(ph.Instructions) > MaxInstructions:
			return nil, wrong(at, "the instructions of the phase %s have %d bytes, at most %d are allowed; put more into a skill", ph.Name, len(ph.Instructions), MaxInstructions)
		case len(ph.Next) > MaxNext:
			return nil, wrong(at, "the phase %s names %d ways on, at most %d are allowed", ph.Name, len(ph.Next),
				MaxNext)
		case len(ph.Next) == 0 && ph.Otherwise == "":
			return nil, wrong(at, "the phase %s never ends: it needs next, as in [{to: done}]", ph.Name)
		}
		if err := ph.Limits.check(at, "the phase "+ph.Name); err != nil {
			return nil, err
		}
		targets = append(targets, ph.Name)
	}
	targets = append(targets, Done, Failed)
	for _, ph := range p.Phases {
		for _, n := range ph.Next {
			if err := known(n.To, targets, place(n.Place, ph.Place, w.Place),
				"next of the phase "+ph.Name); err != nil {
				return nil, err
			}
			at := place(n.WhenPlace, n.Place, ph.Place, w.Place)
			c, err := conditions.Compile(cmp.Or(n.When, "finished"), at)
			if err != nil {
				return nil, err
			}
			asked, _ := c.Names("visits")
			for _, name := range asked {
				if names := targets[:len(p.Phases)]; !slices.Contains(names, name) {
					return nil, wrong(at, "the condition reads visits.%s, and there is no such phase%s", name,
						nearest.Hint(name, slices.Values(names)))
				}
			}
			p.conditions[ph.Name] = append(p.conditions[ph.Name], c)
		}
		if ph.Otherwise != "" {
			if err := known(ph.Otherwise, targets, place(ph.Place, w.Place),
				"otherwise of the phase "+ph.Name); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

func (l Limits) check(at rules.Place, of string) error {
	for _, n := range []int{l.Rounds, l.Visits} {
		if n < 0 || n > MaxRounds {
			return wrong(at, "a limit of %s is %d; it must be from 1 to %d", of, n, MaxRounds)
		}
	}
	if l.Tokens < 0 {
		return wrong(at, "the limit of tokens of %s is %d; it must not be negative", of, l.Tokens)
	}
	return nil
}

func known(to string, targets []string, at rules.Place, where string) error {
	if to == "" {
		return wrong(at, "%s does not say to which phase it leads: add to", where)
	}
	if !slices.Contains(targets, to) {
		return wrong(at, "%s leads to %q, which is no phase%s", where, to, nearest.Hint(to, slices.Values(targets)))
	}
	return nil
}

// place returns the first place that is known.
func place(places ...rules.Place) rules.Place { return cmp.Or(places...) }

// Get finds a workflow by name.
func (s *Set) Get(name string) (*Plan, bool) {
	if s == nil {
		return nil, false
	}
	p, ok := s.byName[name]
	return p, ok
}

// All yields the workflows in their order.
func (s *Set) All() iter.Seq[*Plan] {
	if s == nil {
		return func(func(*Plan) bool) {}
	}
	return slices.Values(s.plans)
}

// Names returns the names of the workflows in their order.
func (s *Set) Names() (names []string) {
	for p := range s.All() {
		names = append(names, p.Name)
	}
	return names
}

// Phase finds a phase by name.
func (p *Plan) Phase(name string) (Phase, bool) {
	i := slices.IndexFunc(p.Phases, func(ph Phase) bool { return ph.Name == name })
	if i < 0 {
		return Phase{}, false
	}
	return p.Phases[i], true
}

// Table holds the workflows that are in effect. The zero value has none. It is safe for
// concurrent use.
type Table struct{ set atomic.Pointer[Set] }

// Load returns the workflows in effect; a nil table has none.
func (t *Table) Load() *Set {
	if t == nil {
		return nil
	}
	return t.set.Load()
}

// Store puts workflows in effect. Running workflows go on by the new definition.
func (t *Table) Store(s *Set) { t.set.Store(s) }
