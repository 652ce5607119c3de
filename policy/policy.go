// Package policy decides whether a call of a tool that the caller may see is let
// through, refused, or needs somebody's approval.
//
// Its rules are written like those of package visibility, and name the same tools
// and facts; see there for targets, conditions and bounds. What they mean together,
// for one tool and one caller:
//
//  1. A deny rule that names the tool and holds refuses the call. Deny wins.
//  2. Else an ask rule that names the tool and holds asks for an approval.
//  3. Else, when allow rules name the tool, the call runs if one of them holds, and
//     is refused if none does.
//  4. Else the default of its risk decides, which is to allow.
//
// A rule whose condition fails guards what it names: an allow rule does not open,
// ask and deny rules do what they say.
//
// Conditions may also read the call: its arguments, and what its shell command would
// do, see [rules.CompileCalls]. Such a rule asks or spares a question; it is no
// wall, which the sandbox is.
package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// Call is a call that is about to run.
type Call struct {
	// Facts are about the caller.
	Facts chat.Facts
	// Catalog holds the tool.
	Catalog *catalog.Catalog
	// Entry is the tool that the call reaches, by whatever name it was called. It is
	// nil where Skill is to be taken up instead.
	Entry *catalog.Entry
	Skill string
	// Arguments are a JSON object that fits the tool's schema. Nil means that there is no
	// call yet, and that somebody asks what would become of one.
	Arguments json.RawMessage
}

// Decision is the answer to a call. Its zero value refuses.
type Decision struct {
	Effect rules.Effect
	// Rule is the name and place of the rule that decided; empty when none did.
	Rule string
	// Reason says to operators why. It may have words of the arguments.
	Reason string
	// Depends says that there were no arguments, and that it depends on them.
	Depends bool
}

// Refused is the error of a call that is not let through. Its text is for the model
// and the user: it names no rules.
type Refused struct {
	// Name is the tool or the skill.
	Name string
	Decision
}

func (e *Refused) Error() string {
	if e.Effect == rules.Ask {
		return fmt.Sprintf("%s was not called: the call needs an approval, and approvals cannot be given here yet. The operator can allow it under policy in etui.yaml", e.Name)
	}
	return fmt.Sprintf("%s was not called: the operator's policy does not allow this call here. Calling it again will not help; tell the user", e.Name)
}

// Policy judges calls. It is safe for concurrent use, and nil allows every call.
type Policy struct {
	rules *rules.Rules
	// known are the judges of the catalogs that were asked for last: turns that are
	// under way hold older ones.
	known [4]atomic.Pointer[bound]
	turn  atomic.Uint32 // chooses whose place is taken
}

type bound struct {
	catalog *catalog.Catalog
	judge   *rules.Judge
}

// Compile checks rules and makes them ready. The defaults say by risk what holds
// for tools about which no rule decides; a risk that they leave out is allowed. The
// error joins a [*visibility.Error] for everything that is wrong.
func Compile(list []rules.Rule, defaults map[tool.Risk]rules.Effect) (*Policy, error) {
	compiled, err := rules.CompileCalls(list, defaults)
	if err != nil {
		return nil, err
	}
	return &Policy{rules: compiled}, nil
}

// Decide judges a call. It does not wait, and the same call has the same answer.
func (p *Policy) Decide(_ context.Context, c Call) Decision {
	switch {
	case p == nil:
		return Decision{Effect: rules.Allow, Reason: "there is no policy"}
	case c.Entry != nil:
		return Decision(p.judge(c.Catalog).Tool(&c.Facts, c.Entry, c.Arguments))
	}
	place := slices.IndexFunc(c.Catalog.Skills(), func(s catalog.Skill) bool { return s.Name == c.Skill })
	if place < 0 {
		return Decision{Effect: rules.Deny, Reason: "there is no such skill"}
	}
	return Decision(p.judge(c.Catalog).Skill(&c.Facts, place, c.Arguments))
}

func (p *Policy) judge(c *catalog.Catalog) *rules.Judge {
	for i := range p.known {
		if b := p.known[i].Load(); b != nil && b.catalog == c {
			return b.judge
		}
	}
	b := &bound{c, p.rules.Judge(c)}
	p.known[p.turn.Add(1)%uint32(len(p.known))].Store(b)
	return b.judge
}

// Status tells how the rules do, in their order.
func (p *Policy) Status() []rules.Status {
	if p == nil {
		return []rules.Status{}
	}
	return p.rules.Status()
}

// Unknown returns a warning for every target that names nothing in a catalog.
func (p *Policy) Unknown(c *catalog.Catalog) []error {
	if p == nil {
		return nil
	}
	return p.rules.Unknown(c)
}
