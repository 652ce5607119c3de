package main

import (
	"errors"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// rulebook is the part of the configuration that takes effect while etui serves:
// toolsets and rules.
type rulebook struct {
	toolsets []catalog.Skill
	visible  *rules.Rules
	calls    *rules.Rules
}

// rulebookOf compiles the rules of a configuration. The error joins a
// [config.Error] for every mistake.
func rulebookOf(c *config.Config) (rulebook, error) {
	visible := make([]config.CallRule, len(c.Visibility.Rules))
	for i, r := range c.Visibility.Rules {
		visible[i] = config.CallRule{Name: r.Name, Allow: r.Allow, Deny: r.Deny, When: r.When, Reason: r.Reason, Place: r.Place, WhenPlace: r.WhenPlace}
	}
	r := rulebook{toolsets: toolsets(c)}
	var wrong, alsoWrong error
	r.visible, wrong = compileRules(rules.Visibility, visible, config.CallDefaults(c.Visibility.Default))
	r.calls, alsoWrong = compileRules(rules.Policy, c.Policy.Rules, c.Policy.Default)
	return r, errors.Join(wrong, alsoWrong)
}

func compileRules(kind rules.Kind, from []config.CallRule, defaults config.CallDefaults) (*rules.Rules, error) {
	list := make([]rules.Rule, len(from))
	for i, r := range from {
		list[i] = rules.Rule{
			Name: r.Name, Allow: r.Allow, Ask: r.Ask, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: rules.Place(r.Place), WhenPlace: rules.Place(r.WhenPlace),
		}
	}
	compiled, err := rules.Compile(kind, list, map[tool.Risk]rules.Effect{
		tool.Read: rules.Effect(defaults.Read), tool.Write: rules.Effect(defaults.Write), tool.Destructive: rules.Effect(defaults.Destructive),
	})
	return compiled, configErrors(err)
}

// configErrors turns mistakes in rules into mistakes in a configuration.
func configErrors(err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	list := []error{err}
	if ok {
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

// apply puts the toolsets and rules into effect.
func (r rulebook) apply(registry *catalog.Registry, calls *atomic.Pointer[rules.Rules]) ([]catalog.UnknownTarget, error) {
	unknown, err := registry.Update(r.toolsets, r.visible)
	if err == nil {
		calls.Store(r.calls)
	}
	return unknown, err
}

// unknown returns a warning for each target of a rule that names nothing.
func (r rulebook) unknown(c *catalog.Catalog) []error {
	return append(r.visible.Unknown(c), r.calls.Unknown(c)...)
}
