// Package preview shows what other rules would have meant for past turns, before they take effect:
// which tools they would have hidden or shown, and which calls they would have decided in another way.
// Nothing runs, and nothing is stored.
package preview

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
)

// Book is what a configuration says of people and tools.
type Book struct {
	// Catalog has the tools and the rules of visibility. Those of the two books compared have the same
	// tools.
	Catalog *catalog.Catalog
	Users   *identity.Users
	// Decide judges a call.
	Decide func(context.Context, rules.Attempt) rules.Decision
}

// Hidden is what becomes of a tool that a caller may not see, beside the effects of package rules.
const Hidden rules.Effect = "hidden"

// What a result has at most: turns that are looked at, decisions for all of them, changes of one turn,
// and tools.
const (
	maxTurns     = 100
	maxDecisions = 400_000
	maxOfTurn    = 20
	maxTools     = 200
)

// Result is what another book would have meant.
type Result struct {
	// Turns is how many past turns were looked at.
	Turns int `json:"turns"`
	// Tools are those that change, with the most turns first. More counts the others.
	Tools []ToolChange `json:"tools"`
	More  int          `json:"more,omitempty"`
	// Changed are the turns in which something changes, newest first.
	Changed []Turn `json:"changed"`
}

// ToolChange says in how many turns a tool would change in the same way.
type ToolChange struct {
	Change
	Turns int `json:"turns"`
	// Used is in how many of them the tool was sent or called.
	Used int `json:"used,omitempty"`
}

// Change is what becomes of a tool for a caller, before and after: hidden, allow, ask or deny.
type Change struct {
	Tool   string       `json:"tool"`
	Before rules.Effect `json:"before"`
	After  rules.Effect `json:"after"`
	// Why says which rule makes the difference.
	Why string `json:"why,omitempty"`
}

// Turn is a past turn with its changes.
type Turn struct {
	Past inspect.PastTurn `json:"past"`
	// Tools are the changes, those of tools that were sent or called first. More counts the others.
	Tools []Change `json:"tools"`
	More  int      `json:"more,omitempty"`
	// Calls are calls that were made, with their arguments, and would be decided in another way.
	Calls []Change `json:"calls,omitempty"`
}

// Compare says what a book would have meant for past turns. Groups returns the groups of an agent's
// tools. Roles and attributes that a client or a platform stated are not stored, and count as absent.
func Compare(ctx context.Context, before, after Book, groups func(agent string) string,
	past []inspect.PastTurn) (Result, error) {
	r := Result{Tools: []ToolChange{}, Changed: []Turn{}}
	most := min(maxTurns, max(1, maxDecisions/max(1, 2*before.Catalog.Len())))
	tools := map[Change]*ToolChange{}
	for _, p := range past[:min(len(past), most)] {
		t := compare(ctx, before, after, groups(p.Agent), p)
		if err := ctx.Err(); err != nil {
			return r, fmt.Errorf("the rules take too long for so many tools: %w", err)
		}
		r.Turns++
		for _, c := range t.Tools {
			if tools[c] == nil {
				tools[c] = &ToolChange{Change: c}
			}
			tools[c].Turns++
			if used(p, c.Tool) {
				tools[c].Used++
			}
		}
		if t.More = max(0, len(t.Tools)-maxOfTurn); t.More > 0 {
			t.Tools = t.Tools[:maxOfTurn]
		}
		if len(t.Tools)+len(t.Calls) > 0 {
			r.Changed = append(r.Changed, t)
		}
	}
	for _, c := range slices.SortedFunc(maps.Values(tools), func(x, y *ToolChange) int {
		return cmp.Or(cmp.Compare(y.Used, x.Used), cmp.Compare(y.Turns, x.Turns), strings.Compare(x.Tool, y.Tool),
			strings.Compare(x.Why, y.Why))
	}) {
		if len(r.Tools) == maxTools {
			r.More++
			continue
		}
		r.Tools = append(r.Tools, *c)
	}
	return r, nil
}

func used(p inspect.PastTurn, tool string) bool {
	return slices.Contains(p.Sent, tool) ||
		slices.ContainsFunc(p.Calls, func(c inspect.PastCall) bool { return c.Tool == tool })
}

// compare finds the changes of one turn, until ctx ends.
func compare(ctx context.Context, before, after Book, groups string, p inspect.PastTurn) Turn {
	t := Turn{Past: p, Tools: []Change{}}
	then, now := before.look(p), after.look(p)
	tools := slices.Collect(before.Catalog.All())
	if groups != "" {
		tools = before.Catalog.Groups(groups)
	}
	for _, e := range tools {
		if ctx.Err() != nil {
			return t
		}
		if c, ok := changed(then.judge(ctx, e, nil), now.judge(ctx, e, nil)); ok {
			c.Tool = e.Definition.Name
			t.Tools = append(t.Tools, c)
		}
	}
	slices.SortStableFunc(t.Tools, func(x, y Change) int { return cmp.Compare(order(p, x), order(p, y)) })
	for _, made := range p.Calls {
		name, args := made.Tool, made.Arguments
		if name == selection.CallTool {
			if reached, inner, err := meta.Target(args); err == nil {
				name, args = reached, inner
			}
		}
		e, ok := before.Catalog.Get(name)
		if !ok || args == nil {
			continue
		}
		if c, ok := changed(then.judge(ctx, e, args), now.judge(ctx, e, args)); ok {
			c.Tool = name
			t.Calls = append(t.Calls, c)
		}
	}
	return t
}

// order puts what a turn used first.
func order(p inspect.PastTurn, c Change) int {
	if used(p, c.Tool) {
		return 0
	}
	return 1
}

// outlook is a book for the caller of a turn.
type outlook struct {
	Book
	facts  chat.Facts
	hidden []bool // by number of the program's filter
	denied []bool // by rules
	off    map[*catalog.Entry][]string
}

func (b Book) look(p inspect.PastTurn) outlook {
	o := outlook{Book: b, facts: chat.Facts{
		Agent: p.Agent, Channel: p.Channel, User: p.User, Sender: p.User, Session: string(p.Session), Time: p.Time,
	}}
	_, name, ok := strings.Cut(p.User, ":")
	if ok {
		o.facts.User = name
	}
	u := b.Users.ByName(p.User)
	if u == nil && ok {
		u = b.Users.ByIdentity(p.User)
	}
	if u != nil {
		o.facts.User, o.facts.Sender = u.Name, u.Name
		o.facts.Roles, o.facts.Groups, o.facts.Attrs, o.facts.Language = u.Roles, u.Groups, u.Attrs, u.Language
	}
	o.hidden, _ = b.Catalog.Hidden(&o.facts)
	o.denied, _ = b.Catalog.Denied(&o.facts)
	o.off = b.Catalog.DisabledBy()
	return o
}

// judge says what becomes of a tool. Nil arguments are unknown.
func (o *outlook) judge(ctx context.Context, e *catalog.Entry, args []byte) rules.Decision {
	at := e.Position()
	now, _ := o.Catalog.Get(e.Definition.Name)
	switch {
	case o.off[now] != nil:
		return rules.Decision{Effect: Hidden, Reason: "tools.disabled: " + strings.Join(o.off[now], ", ")}
	case o.hidden[e.Filter()]:
		return rules.Decision{Effect: Hidden}
	case o.denied != nil && o.denied[at]:
		return rules.Decision{Effect: Hidden, Reason: o.Catalog.WhyDenied(&o.facts, now)}
	}
	return o.Decide(ctx, rules.Attempt{Facts: o.facts, Catalog: o.Catalog, Now: o.Catalog, Entry: e, Arguments: args})
}

// changed returns the difference between two decisions, and which of them tells why.
func changed(then, now rules.Decision) (Change, bool) {
	d := now
	if now.Effect == rules.Allow && now.Rule == "" { // a rule went
		d = then
	}
	why := cmp.Or(d.Reason, d.Rule)
	if d.Rule != "" && d.Reason != "" && d.Reason != d.Rule {
		why = d.Rule + ": " + d.Reason
	}
	return Change{Before: then.Effect, After: now.Effect, Why: why}, then.Effect != now.Effect
}
