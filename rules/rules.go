// Package rules decides by rules which tools exist for a caller and which calls of
// them may run.
//
// A [Rule] names tools, and says what holds for them under a condition on the facts
// about the caller:
//
//	allow: [group:admin]
//	when:  '"admin" in user.roles'
//
// [Compile] makes a list of rules ready for one of two purposes. [Visibility] rules
// say which tools exist for a caller: they go into a catalog with
// [catalog.Registry.SetRules]. [Policy] rules say whether a call of a visible tool may
// run: [Rules.Decide] judges it. Together, the rules of one list mean for one tool and one
// caller:
//
//  1. A deny rule that names the tool and holds hides the tool, or refuses the call.
//     Deny wins.
//  2. Else an ask rule that names the tool and holds makes the call wait for an
//     approval. Visibility has no ask rules.
//  3. Else, when allow rules name the tool, one of them must hold: otherwise the tool
//     is hidden, or the call refused.
//  4. Else a deny rule that is a default and holds hides the tool, or refuses the call.
//  5. Else the default of the tool's risk decides, which is to allow.
//
// A rule whose condition fails - a missing attribute, too much work - still guards
// what it names: an allow rule that fails does not allow, ask and deny rules that fail
// ask and deny. Filters that tools were registered with must agree as well.
//
// Conditions are written in CEL (cel.dev) over these facts: user.id, channel, chat,
// agent, session and skill are strings, user.roles, user.groups and platform.roles are
// lists of strings, attrs is a map of strings, and time a timestamp, in whole seconds. Conditions of policy rules may
// also read the call: args is a map of its arguments, so that has(args.path) asks
// whether there is one; command.programs and command.risks are those of the [Command]
// among them. Such a rule asks a question or spares one. It is no wall: the sandbox is.
//
// Conditions are compiled and checked once, and bounded: [MaxRules] rules, conditions
// of [MaxCondition] characters and a cost of [MaxCost] for each evaluation. Facts of more
// than [MaxFacts] bytes make the conditions fail that read them, and so do texts that are
// too long for the pattern of a matches, which must be a literal.
//
// Judging takes no lock and reads no clock. Outcomes of conditions on the caller are
// cached by the facts that they read, in tables of fixed size.
package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

const (
	// MaxRules is how many rules a list may have.
	MaxRules = 10_000
	// MaxTargets is how many targets a rule may name.
	MaxTargets = 1000
	// MaxCondition is how long a condition may be, in characters.
	MaxCondition = 4096
	// MaxCost bounds the work of one condition for one caller, in CEL's units:
	// about one for each call and each element looked at, and well below a
	// millisecond in all. Compile refuses a condition that could reach it for a
	// caller with 64 roles and attributes; one that does reach it fails.
	MaxCost = 10_000
	// MaxFacts is how long the facts that conditions read of a caller may be together, in
	// bytes. With longer ones, the conditions that read them fail.
	MaxFacts = 64 << 10
	// MaxCallCost is MaxCost for a condition that reads the arguments or the command
	// of a call: a text costs a tenth for each character, and may be long. Evaluating
	// it takes a fraction of a second at most.
	MaxCallCost = 1_000_000
)

// Kind is what a list of rules decides. Its text is the list's key in etui.yaml.
type Kind string

// The kinds.
const (
	Visibility Kind = "visibility" // which tools and skills exist for a caller
	Policy     Kind = "policy"     // whether a call may run
)

// Effect is what rules say of a tool or a call.
type Effect string

// The effects. Ask is one of policy rules alone: the call may run once somebody has
// approved it.
const (
	Allow Effect = "allow"
	Ask   Effect = "ask"
	Deny  Effect = "deny"
)

// Rule says what holds for some tools. Exactly one of Allow, Deny and, in policy
// rules, Ask names them.
type Rule struct {
	// Name is what messages call the rule; it may be empty.
	Name string
	// Allow, Deny and Ask name tools: by name, or as group:, source:, risk: or skill:
	// and the name of one. Names may be patterns as path.Match has them. A target that
	// names a skill names the skill itself and its tools, but not the tools that its
	// instructions ask for.
	Allow, Deny, Ask []string
	// Default makes a deny rule a default: it decides only where no allow rule names the
	// tool, before the default of the risk.
	Default bool
	// When is the condition; empty means always.
	When string
	// Reason is shown to operators where the rule decides; it may be empty.
	Reason string
	// Place is where the rule begins, and WhenPlace where its condition begins, for
	// messages. Zero means unknown.
	Place, WhenPlace Place
}

func (r *Rule) String() string {
	at := r.Place // short, for people who know the folder
	if at.File != "" {
		at.File, at.Column = filepath.Base(at.File), 0
	}
	switch place := at.String(); {
	case r.Name == "" && place == "":
		return "a rule without a name"
	case r.Name == "":
		return "the rule at " + place
	case place == "":
		return "rule " + r.Name
	default:
		return "rule " + r.Name + " (" + place + ")"
	}
}

// Place is a place in a file. Line and Column begin at 1; 0 means unknown.
type Place struct {
	File         string
	Line, Column int
}

// String returns the place as compilers write it: etui.yaml:3:5.
func (p Place) String() string {
	switch {
	case p.File == "" || p.Line == 0:
		return p.File
	case p.Column == 0:
		return fmt.Sprintf("%s:%d", p.File, p.Line)
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// plus is the place of a character of a text that begins at p. The line counts
// from 1, the column from 0.
func (p Place) plus(line, column int) Place {
	switch {
	case p.Line == 0 || line < 1:
	case line > 1:
		p.Line, p.Column = p.Line+line-1, 0
	case p.Column > 0:
		p.Column += max(column, 0)
	}
	return p
}

// Error is a mistake in a rule.
type Error struct {
	Place Place
	// Reason says what is wrong, in which rule, and what would be right.
	Reason string
}

func (e *Error) Error() string {
	if e.Place.File == "" {
		return e.Reason
	}
	return e.Place.String() + ": " + e.Reason
}

// Rules are compiled rules. They are immutable but for their counters and caches, and
// safe for concurrent use. A nil *Rules hides nothing and allows every call.
type Rules struct {
	kind       Kind
	rules      []rule
	conditions []*condition // each text once
	families   []*family
	facts      factSet // all that conditions read of a caller
	defaults   map[tool.Risk]Effect

	preapproved []string // see Preapprove

	bound [4]atomic.Pointer[binding] // for Decide: running turns hold older catalogs
	next  atomic.Uint32              // chooses the place in bound to reuse
}

// rule is a Rule that is ready to judge.
type rule struct {
	Rule
	targets   []target
	condition int // -1: always
}

// family is the conditions that read the same facts: their outcomes are cached
// together.
type family struct {
	facts      factSet
	conditions []int
	known      *cache[[]outcome]
}

// outcome is what a condition says of a caller. One that failed has an error.
type outcome struct {
	holds bool
	err   error
}

// Compile checks rules and makes them ready. The defaults say by risk what holds for
// tools that no rule names; a risk that they leave out is allowed. The error joins an
// [*Error] for every mistake.
func Compile(kind Kind, list []Rule, defaults map[tool.Risk]Effect) (*Rules, error) {
	if len(list) > MaxRules {
		return nil, &Error{list[MaxRules].Place,
			fmt.Sprintf("there are %d rules, at most %d are allowed", len(list), MaxRules)}
	}
	r := &Rules{kind: kind, defaults: maps.Clone(defaults)}
	maps.DeleteFunc(r.defaults, func(_ tool.Risk, e Effect) bool { return e == Allow || e == "" })
	c := newCompiler(kind == Policy)
	var errs []error
	for _, rule := range list {
		if err := r.add(c, rule); err != nil {
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	r.conditions = c.conditions
	r.group()
	return r, nil
}

func (r *Rules) add(c *compiler, from Rule) error {
	made := rule{Rule: from, condition: -1}
	fail := func(at Place, format string, args ...any) error {
		return &Error{at, fmt.Sprintf("%s: ", r.nameOf(from)) + fmt.Sprintf(format, args...)}
	}
	targets := slices.Concat(from.Allow, from.Ask, from.Deny)
	asks := len(from.Ask) > 0
	switch n := len(targets); {
	case asks && r.kind == Visibility:
		return fail(from.Place, "nobody can be asked what a caller may see: name tools under allow or under deny")
	case n == 0 && r.kind == Visibility:
		return fail(from.Place, "it must name tools under allow or under deny")
	case n == 0:
		return fail(from.Place, "it must name tools under allow, ask or deny")
	case len(from.Allow) > 0 && len(from.Deny) > 0:
		return fail(from.Place, "it has both allow and deny: make two rules of it")
	case len(from.Allow)+len(from.Deny) > 0 && asks:
		return fail(from.Place, "it has both ask and another effect: make two rules of it")
	case n > MaxTargets:
		return fail(from.Place, "it names %d targets, at most %d are allowed", n, MaxTargets)
	}
	for _, text := range targets {
		t, err := parseTarget(text)
		if err != nil {
			return fail(from.Place, "%v", err)
		}
		made.targets = append(made.targets, t)
	}
	if text := strings.TrimRight(from.When, " \t\r\n"); text != "" {
		n, err := c.compile(text)
		if err != nil {
			return fail(from.WhenPlace.plus(err.line, err.column), "%s", err.reason)
		}
		made.condition = n
	}
	r.rules = append(r.rules, made)
	return nil
}

// nameOf names a rule in a message that begins with its place.
func (r *Rules) nameOf(rule Rule) string {
	return strings.TrimSuffix(fmt.Sprintf("%s rule %s", r.kind, rule.Name), " ")
}

// group sorts the conditions into families. The more families there are, the smaller
// are their caches.
func (r *Rules) group() {
	families := map[string]*family{}
	for i, c := range r.conditions {
		if c.facts.ofCall() {
			continue // no two calls are the same
		}
		name := c.facts.name()
		f := families[name]
		if f == nil {
			f = &family{facts: c.facts}
			families[name] = f
			r.families = append(r.families, f)
		}
		f.conditions = append(f.conditions, i)
		r.facts = r.facts.union(c.facts)
	}
	for _, f := range r.families {
		f.known = newCache[[]outcome](min(1024, max(16, 1<<14/len(r.families))))
	}
}

// outcomes evaluates each condition for a caller. It leaves open those that read a
// call, see [Rules.callOutcomes].
func (r *Rules) outcomes(f *chat.Facts) []outcome {
	all := make([]outcome, len(r.conditions))
	for _, family := range r.families {
		if size := family.facts.size(f); size > MaxFacts {
			for _, n := range family.conditions {
				all[n] = r.conditions[n].failed(fmt.Errorf("the facts that it reads have %d bytes, at most %d are looked at", size, MaxFacts))
			}
			continue
		}
		var room [keyRoom]byte
		key := family.facts.key(room[:0], f)
		known, ok := family.known.get(key)
		if !ok {
			known = make([]outcome, len(family.conditions))
			for i, n := range family.conditions {
				known[i] = r.conditions[n].evaluate(f, nil)
			}
			family.known.put(key, known)
		}
		for i, n := range family.conditions {
			all[n] = known[i]
		}
	}
	return all
}

// callOutcomes evaluates the conditions of a class that read a call, and returns the
// call, or nil where no condition reads it.
func (r *Rules) callOutcomes(of []outcome, c class, f *chat.Facts, arguments json.RawMessage) (made *call) {
	var err error
	for _, i := range slices.Concat(c.deny, c.ask, c.allow) {
		n := r.rules[i].condition
		if n < 0 || !r.conditions[n].facts.ofCall() {
			continue
		}
		if made == nil && err == nil {
			made, err = newCall(arguments)
		}
		size := r.conditions[n].facts.size(f)
		switch {
		case err != nil:
			of[n] = outcome{err: err}
		case size > MaxFacts:
			of[n] = r.conditions[n].failed(fmt.Errorf("the facts that it reads have %d bytes, at most %d are looked at",
				size, MaxFacts))
		default:
			of[n] = r.conditions[n].evaluate(f, made)
		}
	}
	return made
}

// outcome is that of the rule's condition.
func (r *rule) outcome(of []outcome) outcome {
	if r.condition < 0 {
		return outcome{holds: true}
	}
	return of[r.condition]
}

// Status is what operators see of a rule.
type Status struct {
	// Rule is its name and place.
	Rule   string   `json:"rule"`
	Allow  []string `json:"allow,omitempty"`
	Deny   []string `json:"deny,omitempty"`
	Ask    []string `json:"ask,omitempty"`
	When   string   `json:"when,omitempty"`
	Reason string   `json:"reason,omitempty"`
	// Failures counts how often its condition failed. Callers with the same facts
	// count once while their outcome is cached.
	Failures int64 `json:"failures"`
}

// Status reports on each rule, in order.
func (r *Rules) Status() []Status {
	list := []Status{}
	if r == nil {
		return list
	}
	for i := range r.rules {
		rule := &r.rules[i]
		s := Status{Rule: rule.String(), Allow: rule.Allow, Deny: rule.Deny, Ask: rule.Ask, When: rule.When,
			Reason: rule.Reason}
		if rule.condition >= 0 {
			s.Failures = r.conditions[rule.condition].failures.Load()
		}
		list = append(list, s)
	}
	return list
}

// UnsuppliedFacts returns a warning for every rule whose condition reads a fact that nothing
// can supply here. Supplied reports whether something can, given the name of a fact as
// conditions write it: user.groups, or attrs.plan for one attribute.
func (r *Rules) UnsuppliedFacts(supplied func(fact string) bool) (warnings []error) {
	if r == nil {
		return nil
	}
	for i := range r.rules {
		rule := &r.rules[i]
		if rule.condition < 0 || rule.Default { // a default is for whatever comes
			continue
		}
		for _, name := range r.conditions[rule.condition].facts.names() {
			if !supplied(name) {
				warnings = append(warnings, &Error{rule.WhenPlace,
					fmt.Sprintf("%s: it reads %s, which nothing here supplies; the condition sees it empty",
						r.nameOf(rule.Rule), name)})
			}
		}
	}
	return warnings
}

// Unknown returns a warning for every target that names nothing in a catalog. That is
// no error: the tool may be registered later.
func (r *Rules) Unknown(c *catalog.Catalog) (warnings []error) {
	if r == nil {
		return nil
	}
	for i := range r.rules {
		rule := &r.rules[i]
		for _, t := range rule.targets {
			if t.kind != riskKind && !rule.Default && !t.names(c) {
				warnings = append(warnings, &Error{rule.Place, r.nameOf(rule.Rule) + ": " + t.missing(c)})
			}
		}
	}
	return warnings
}
