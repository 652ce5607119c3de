package main

import (
	"errors"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/policy"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// rulebook is what of the configuration takes effect while etui serves: the skills,
// the rules of visibility, and those of calls.
type rulebook struct {
	toolsets []catalog.Skill
	rules    *rules.Rules   // nil when there are none
	calls    *policy.Policy // nil when every call is allowed
}

// rulebookOf compiles the rules of a configuration. The error joins a
// [config.Error] for everything that is wrong.
func rulebookOf(c *config.Config) (r rulebook, err error) {
	r.toolsets = toolsets(c)
	var wrong, alsoWrong error
	r.rules, wrong = visibleRules(c.Visibility)
	r.calls, alsoWrong = callRules(c.Policy)
	return r, errors.Join(configErrors(wrong), configErrors(alsoWrong))
}

func visibleRules(c config.Visibility) (*rules.Rules, error) {
	var hidden []tool.Risk
	for risk, effect := range map[tool.Risk]string{tool.Read: c.Default.Read, tool.Write: c.Default.Write, tool.Destructive: c.Default.Destructive} {
		if effect == "deny" {
			hidden = append(hidden, risk)
		}
	}
	if len(c.Rules) == 0 && len(hidden) == 0 {
		return nil, nil
	}
	list := make([]rules.Rule, len(c.Rules))
	for i, r := range c.Rules {
		list[i] = rules.Rule{
			Name: r.Name, Allow: r.Allow, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: rules.Place(r.Place), WhenPlace: rules.Place(r.WhenPlace),
		}
	}
	return rules.Compile(list, hidden...)
}

func callRules(c config.Policy) (*policy.Policy, error) {
	defaults := map[tool.Risk]rules.Effect{
		tool.Read: rules.Effect(c.Default.Read), tool.Write: rules.Effect(c.Default.Write), tool.Destructive: rules.Effect(c.Default.Destructive),
	}
	list := make([]rules.Rule, len(c.Rules))
	for i, r := range c.Rules {
		list[i] = rules.Rule{
			Name: r.Name, Allow: r.Allow, Ask: r.Ask, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: rules.Place(r.Place), WhenPlace: rules.Place(r.WhenPlace),
		}
	}
	return policy.Compile(list, defaults)
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
		var e *rules.Error
		if errors.As(err, &e) {
			list[i] = config.Error{File: e.Place.File, Line: e.Place.Line, Column: e.Place.Column, Message: e.Reason}
		}
	}
	return errors.Join(list...)
}

// apply puts the rules in force.
func (r rulebook) apply(registry *catalog.Registry, calls *atomic.Pointer[policy.Policy]) ([]catalog.UnknownTarget, error) {
	var list catalog.Rules
	if r.rules != nil {
		list = r.rules
	}
	unknown, err := registry.Update(r.toolsets, list)
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
