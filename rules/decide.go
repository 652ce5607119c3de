package rules

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// Attempt is a call that is about to run, or the use of a skill.
type Attempt struct {
	// Facts are about the caller.
	Facts chat.Facts
	// Catalog holds the tool or the skill.
	Catalog *catalog.Catalog
	// Now is the catalog in effect. The call was admitted by its rules, and Facts are of
	// the same moment: a host whose rules change together keeps its policy with it.
	Now *catalog.Catalog
	// Entry is the tool that the call reaches, by whatever name it was called. It is
	// nil when Skill is to be activated instead.
	Entry *catalog.Entry
	Skill string
	// Arguments are a JSON object that fits the tool's schema. Nil means that there is
	// no call yet: the decision is a forecast.
	Arguments json.RawMessage
}

// Decision is the answer to an attempt. Its zero value refuses.
type Decision struct {
	Effect Effect
	// Rule is the name and place of the rule that decided; empty when none did.
	Rule string
	// Reason tells operators why. It may quote the arguments.
	Reason string
	// Depends says that there were no arguments and that some could change the
	// decision.
	Depends bool
}

// Refusal is the error of a call that may not run. Its text is for the model and the
// user: it names no rules.
type Refusal struct {
	// Name is the tool or the skill.
	Name string
	Decision
}

func (e *Refusal) Error() string {
	if e.Effect == Ask {
		return fmt.Sprintf("%s was not called: the call needs an approval, and nobody can give it here. The operator can allow it under policy in etui.yaml", e.Name)
	}
	return fmt.Sprintf("%s was not called: the operator's policy does not allow this call here. Calling it again will not help; tell the user", e.Name)
}

// Decide judges an attempt. It does not wait, and decides the same for equal attempts.
func (r *Rules) Decide(_ context.Context, a Attempt) Decision {
	if r == nil {
		return Decision{Effect: Allow, Reason: "there is no policy"}
	}
	b := r.binding(a.Catalog)
	if a.Entry != nil {
		d := b.decide(&a.Facts, b.classes[b.classOf[a.Entry.Position()]], a.Arguments)
		if d.Effect == Ask && d.Rule == "" {
			return r.preapprove(a, d)
		}
		return d
	}
	place := slices.IndexFunc(a.Catalog.Skills(), func(s catalog.Skill) bool { return s.Name == a.Skill })
	switch {
	case place < 0:
		return Decision{Effect: Deny, Reason: "there is no such skill"}
	case b.skillOf == nil:
		return Decision{Effect: Allow, Reason: "no rule names it"}
	}
	return b.decide(&a.Facts, b.classes[b.skillOf[place]], a.Arguments)
}

// binding returns the binding to a catalog, which is cached for the last few.
func (r *Rules) binding(c *catalog.Catalog) *binding {
	for i := range r.bound {
		if b := r.bound[i].Load(); b != nil && b.catalog == c {
			return b
		}
	}
	b := r.bind(c)
	r.bound[r.next.Add(1)%uint32(len(r.bound))].Store(b)
	return b
}

// decide judges a class. The arguments are nil where there is no call.
func (b *binding) decide(f *chat.Facts, c class, arguments json.RawMessage) Decision {
	r := b.rules
	of := r.outcomes(f)
	made := r.callOutcomes(of, c, f, arguments)
	effect, i := r.effect(c, of)
	d := Decision{Effect: effect}
	open := func(i int) bool { return errors.Is(r.rules[i].outcome(of).err, errNoCall) }
	switch {
	case i >= 0:
		rule := &r.rules[i]
		d.Rule, d.Reason, d.Depends = rule.String(), rule.reason(effect, of), open(i)
		if made != nil && r.readsCommand(rule) && made.found() != "" {
			d.Reason += " (" + made.found() + ")"
		}
	case len(c.allow) > 0:
		d.Reason, d.Depends = r.notAllowed(c, of), slices.ContainsFunc(c.allow, open)
	case effect == Allow:
		d.Reason = c.byDefault
	default:
		d.Reason = "no rule allows it, and " + c.byDefault
	}
	return d
}

// readsCommand reports whether a rule's condition reads the command.
func (r *Rules) readsCommand(rule *rule) bool {
	if rule.condition < 0 {
		return false
	}
	reads := r.conditions[rule.condition].facts.has
	return reads[commandPrograms] || reads[commandRisks]
}

// reason says why a rule had an effect.
func (r *rule) reason(effect Effect, of []outcome) string {
	does := map[Effect]string{Allow: "allows", Ask: "asks for an approval", Deny: "denies"}[effect]
	switch o := r.outcome(of); {
	case errors.Is(o.err, errNoCall):
		return strings.TrimSuffix(fmt.Sprintf("%s %s, depending on the arguments: %s", r, does, r.Reason), ": ")
	case o.err != nil:
		return fmt.Sprintf("%s failed, which %s: %v", r, does, o.err)
	case r.Reason != "":
		return fmt.Sprintf("%s %s: %s", r, does, r.Reason)
	}
	return fmt.Sprintf("%s %s", r, does)
}

// notAllowed says why none of the allow rules of a class allows it.
func (r *Rules) notAllowed(c class, of []outcome) string {
	var names []string
	for _, i := range c.allow {
		rule := &r.rules[i]
		name := rule.String()
		switch err := rule.outcome(of).err; {
		case errors.Is(err, errNoCall):
			name += ", which depends on the arguments"
		case err != nil:
			name += fmt.Sprintf(", which failed: %v", err)
		case len(c.allow) == 1:
			name += ", which does not hold"
		}
		names = append(names, name)
	}
	reason := "allowed only by " + strings.Join(names, "; ")
	if len(names) > 1 {
		reason += ": none holds"
	}
	return reason
}
