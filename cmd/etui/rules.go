package main

import (
	"errors"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/visibility"
)

// policy is what of the configuration takes effect while etui serves: the
// skills, and the rules of visibility.
type policy struct {
	toolsets []catalog.Toolset
	rules    *visibility.Rules // nil when there are none
}

// policyOf compiles the policy of a configuration. The error joins a
// [*config.Error] for everything that is wrong.
func policyOf(c *config.Config) (policy, error) {
	p := policy{toolsets: toolsets(c)}
	var hidden []tool.Risk
	for risk, effect := range map[tool.Risk]string{tool.Read: c.Visibility.Default.Read, tool.Write: c.Visibility.Default.Write, tool.Destructive: c.Visibility.Default.Destructive} {
		if effect == "deny" {
			hidden = append(hidden, risk)
		}
	}
	if len(c.Visibility.Rules) == 0 && len(hidden) == 0 {
		return p, nil
	}
	rules := make([]visibility.Rule, len(c.Visibility.Rules))
	for i, r := range c.Visibility.Rules {
		rules[i] = visibility.Rule{
			Name: r.Name, Allow: r.Allow, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: visibility.Place(r.Place), WhenPlace: visibility.Place(r.WhenPlace),
		}
	}
	var err error
	p.rules, err = visibility.Compile(rules, hidden...)
	return p, configErrors(err)
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

// apply puts the policy in force, in one step.
func (p policy) apply(registry *catalog.Registry) ([]catalog.UnknownTarget, error) {
	if p.rules == nil {
		return registry.Update(p.toolsets, nil)
	}
	return registry.Update(p.toolsets, p.rules)
}

// unknown returns a warning for each target of a rule that names nothing.
func (p policy) unknown(c *catalog.Catalog) []error {
	if p.rules == nil {
		return nil
	}
	return p.rules.Unknown(c)
}
