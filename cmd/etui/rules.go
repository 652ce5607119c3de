package main

import (
	"errors"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/policy"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/visibility"
)

// rulebook is what of the configuration takes effect while etui serves: the skills,
// the rules of visibility, and those of calls.
type rulebook struct {
	toolsets []catalog.Toolset
	rules    *visibility.Rules // nil when there are none
	calls    *policy.Policy    // nil when every call is allowed
}

// rulebookOf compiles the rules of a configuration. The error joins a
// [*config.Error] for everything that is wrong.
func rulebookOf(c *config.Config) (r rulebook, err error) {
	r.toolsets = toolsets(c)
	var wrong, alsoWrong error
	r.rules, wrong = visibleRules(c.Visibility)
	r.calls, alsoWrong = callRules(c.Policy)
	return r, errors.Join(configErrors(wrong), configErrors(alsoWrong))
}

func visibleRules(c config.Visibility) (*visibility.Rules, error) {
	var hidden []tool.Risk
	for risk, effect := range map[tool.Risk]string{tool.Read: c.Default.Read, tool.Write: c.Default.Write, tool.Destructive: c.Default.Destructive} {
		if effect == "deny" {
			hidden = append(hidden, risk)
		}
	}
	if len(c.Rules) == 0 && len(hidden) == 0 {
		return nil, nil
	}
	rules := make([]visibility.Rule, len(c.Rules))
	for i, r := range c.Rules {
		rules[i] = visibility.Rule{
			Name: r.Name, Allow: r.Allow, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: visibility.Place(r.Place), WhenPlace: visibility.Place(r.WhenPlace),
		}
	}
	return visibility.Compile(rules, hidden...)
}

func callRules(c config.Policy) (*policy.Policy, error) {
	defaults := map[tool.Risk]visibility.Effect{
		tool.Read: visibility.Effect(c.Default.Read), tool.Write: visibility.Effect(c.Default.Write), tool.Destructive: visibility.Effect(c.Default.Destructive),
	}
	rules := make([]visibility.Rule, len(c.Rules))
	for i, r := range c.Rules {
		rules[i] = visibility.Rule{
			Name: r.Name, Allow: r.Allow, Ask: r.Ask, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: visibility.Place(r.Place), WhenPlace: visibility.Place(r.WhenPlace),
		}
	}
	return policy.Compile(rules, defaults)
}

// configErrors gives what is wrong with rules the form of all that is wrong with
// a configuration.
func configErrors(err error) error {
	if err == nil {
		return nil
	}
	list := []error{err}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		list = joined.Unwrap()
	}
	for i, err := range list {
		var e *visibility.Error
		if errors.As(err, &e) {
			list[i] = &config.Error{File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Reason: e.Reason}
		}
	}
	return errors.Join(list...)
}

// apply puts the rules in force.
func (r rulebook) apply(registry *catalog.Registry, calls *atomic.Pointer[policy.Policy]) ([]catalog.UnknownTarget, error) {
	var rules catalog.Rules
	if r.rules != nil {
		rules = r.rules
	}
	unknown, err := registry.Update(r.toolsets, rules)
	if err == nil {
		calls.Store(r.calls)
	}
	return unknown, err
}

// unknown returns a warning for each target of a rule that names nothing.
func (r rulebook) unknown(c *catalog.Catalog) []error {
	warnings := r.calls.Unknown(c)
	if r.rules != nil {
		warnings = append(r.rules.Unknown(c), warnings...)
	}
	return warnings
}
