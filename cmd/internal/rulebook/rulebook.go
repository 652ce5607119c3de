// Package rulebook is the part of a configuration that takes effect while etui serves: people,
// toolsets, tools that are switched off, rules and workflows, all of it in one step.
package rulebook

import (
	"context"
	"errors"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/workflow"
)

// Book is what a configuration says of them. The registry keeps it with its catalog.
type Book struct {
	people    []config.User
	channels  []string // whose identities people have
	users     *identity.Users
	toolsets  []catalog.Skill
	disabled  []string // tools and groups
	visible   *rules.Rules
	calls     *rules.Rules
	approvers []approver
	flows     *workflow.Set
}

// Compile compiles the rules and workflows of a configuration. The error joins a
// [config.Error] for every mistake.
func Compile(c *config.Config) (*Book, error) {
	flows, wrong := compileFlows(c)
	r, err := CompileRules(c, flows)
	return r, errors.Join(err, wrong)
}

// CompileRules compiles the rules of a configuration, beside workflows that are compiled already.
func CompileRules(c *config.Config, flows *workflow.Set) (*Book, error) {
	visible := make([]config.CallRule, len(c.Visibility.Rules))
	for i, r := range c.Visibility.Rules {
		visible[i] = config.CallRule{Name: r.Name, Allow: r.Allow, Deny: r.Deny, When: r.When, Reason: r.Reason,
			ConditionPlace: r.ConditionPlace}
	}
	r := &Book{people: c.Users, channels: channelsOf(c), toolsets: toolsets(c), disabled: c.Tools.Disabled,
		flows: flows}
	var unclear, wrong, alsoWrong, notApprovers error
	r.users, unclear = usersOf(c.Users)
	r.visible, wrong = compileRules(rules.Visibility, visible, config.CallDefaults(c.Visibility.Default),
		guestsOf(c)...)
	if r.calls, alsoWrong = compileRules(rules.Policy, c.Policy.Rules, c.Policy.Default); r.calls != nil {
		r.calls.Preapprove(c.Policy.Skills...)
	}
	r.approvers, notApprovers = approversOf(c)
	return r, errors.Join(unclear, wrong, alsoWrong, notApprovers)
}

// guestsOf returns what holds for guests until a rule of the configuration allows them more.
// Anybody can be a guest, once there are channels.
func guestsOf(c *config.Config) []rules.Rule {
	if len(c.Channels) == 0 {
		return nil
	}
	return []rules.Rule{{
		Name: "guests", Default: true, Deny: closedToGuests,
		When:   `"guest" in platform.roles || user.id == "" && !(channel in ["", "cli", "api"])`,
		Reason: "guests have no files, programs, memory and MCP servers until a rule allows them",
	}}
}

var closedToGuests = []string{"group:file", "group:shell", "group:memory", "source:mcp"}

func compileRules(kind rules.Kind, from []config.CallRule, defaults config.CallDefaults,
	more ...rules.Rule) (*rules.Rules, error) {
	list := make([]rules.Rule, len(from), len(from)+len(more))
	for i, r := range from {
		list[i] = rules.Rule{
			Name: r.Name, Allow: r.Allow, Ask: r.Ask, Deny: r.Deny, When: r.When, Reason: r.Reason,
			Place: rules.Place(r.Place), WhenPlace: rules.Place(r.WhenPlace),
		}
	}
	compiled, err := rules.Compile(kind, append(list, more...), map[tool.Risk]rules.Effect{
		tool.Read: rules.Effect(defaults.Read), tool.Write: rules.Effect(defaults.Write),
		tool.Destructive: rules.Effect(defaults.Destructive),
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

var (
	_ catalog.Rules    = (*Book)(nil)
	_ catalog.Switches = (*Book)(nil)
)

// Guard implements [catalog.Rules].
func (r *Book) Guard(c *catalog.Catalog) catalog.Guard { return r.visible.Guard(c) }

// Disabled implements [catalog.Switches].
func (r *Book) Disabled() []string { return r.disabled }

// Status returns the rules of visibility.
func (r *Book) Status() []rules.Status { return r.visible.Status() }

// Of returns the book in effect with a catalog; an empty one before the first is.
func Of(c *catalog.Catalog) *Book {
	if r, ok := c.Rules().(*Book); ok {
		return r
	}
	return &Book{}
}

// Users returns the people.
func (r *Book) Users() *identity.Users { return r.users }

// Policy returns the rules about calls.
func (r *Book) Policy() []rules.Status { return r.calls.Status() }

// Decide judges a call by the policy that is in effect with the rules that admitted it.
func Decide(ctx context.Context, a rules.Attempt) rules.Decision {
	return Of(a.Now).calls.Decide(ctx, a)
}

// Apply puts the people, toolsets and rules into effect, and the workflows.
func (r *Book) Apply(registry *catalog.Registry, flows *workflow.Table) error {
	_, err := registry.Update(r.toolsets, r)
	if err == nil {
		flows.Store(r.flows)
	}
	return err
}

// Warnings returns one for each target of a rule that names nothing, for each fact that
// nothing supplies, and for each identity without a key or a channel.
func (r *Book) Warnings(c *catalog.Catalog, keys *identity.Keys, channels bool) []error {
	supplied := supplied(r.users, keys, channels)
	list := slices.Concat(r.visible.Unknown(c), r.calls.Unknown(c), r.visible.UnsuppliedFacts(supplied),
		r.calls.UnsuppliedFacts(supplied))
	for _, a := range r.approvers {
		list = slices.Concat(list, a.rules.Unknown(c), a.rules.UnsuppliedFacts(ofApprovers(supplied)))
	}
	return append(list, emptyClaims(r.people, keys, r.channels)...)
}

func toolsets(c *config.Config) []catalog.Skill {
	list := make([]catalog.Skill, len(c.Skills.Toolsets))
	for i, s := range c.Skills.Toolsets {
		list[i] = catalog.Skill{Name: s.Name, Description: s.Description, Tools: s.Tools, Aliases: s.Aliases,
			Examples: s.Examples, Channels: s.Channels}
	}
	return list
}
