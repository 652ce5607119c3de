package selection

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// Stage is a step of the selection. A tool's stage is the one that dropped it, or
// [Sent].
type Stage uint8

// The stages, in the order in which they run. Sent comes first so that nothing
// has dropped a tool whose stage is zero.
const (
	Sent       Stage = iota
	Enabled          // it is switched off in the configuration
	Groups           // it is in none of the agent's groups
	Visibility       // it exists only on other channels, or its filter or a rule hides it from this caller
	Toolset          // it is not part of the active skill
	Requested        // the request excludes it, or includes only others
	Rank             // others fit the question better
	Budget           // its definition is too long for what was left
)

// Stages lists the stages in the order in which they run.
func Stages() []Stage {
	return []Stage{Enabled, Groups, Visibility, Toolset, Requested, Rank, Budget, Sent}
}

func (s Stage) String() string {
	return [...]string{"sent", "enabled", "groups", "visibility", "skill", "request", "rank", "budget"}[s]
}

// earlier returns the stage that runs first, of two that judged a tool before it was
// ranked: what one caller may not see is not left out by the toolset of another.
func earlier(a, b Stage) Stage {
	if a == Sent || b != Sent && b < a {
		return b
	}
	return a
}

// compareSent puts Sent before the other stages.
func compareSent(a, b Stage) int { return cmp.Compare(min(a, 1), min(b, 1)) }

// MarshalText writes the stage's name.
func (s Stage) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Stage) UnmarshalText(text []byte) error {
	i := slices.IndexFunc(Stages(), func(stage Stage) bool { return stage.String() == string(text) })
	if i < 0 {
		return fmt.Errorf("unknown stage %q", text)
	}
	*s = Stages()[i]
	return nil
}

// Usable reports whether a tool at this stage may be called: it was sent, or
// only ranking or budget left it out.
func (s Stage) Usable() bool { return s == Sent || s >= Rank }

// seen reports whether a tool at this stage is one that the caller may see: with another
// toolset and another request it could be sent.
func (s Stage) seen() bool { return s == Sent || s >= Toolset }

// stages are those of all tools, by position: where each was dropped, or Sent.
type stages []Stage

// admitted says which tools are admitted.
func (list stages) admitted() []bool {
	admitted := make([]bool, len(list))
	for i, stage := range list {
		admitted[i] = stage == Sent
	}
	return admitted
}

// count counts the tools of each stage.
func (list stages) count() []int {
	counts := make([]int, len(Stages()))
	for _, stage := range list {
		counts[stage]++
	}
	return counts
}

// admit decides which tools may be used and which skills the caller may know of.
func (sel *Selection) admit() {
	sel.admitTools()
	sel.hideSkills()
}

func (sel *Selection) admitTools() {
	a := sel.selector.admission(&sel.Request)
	c := sel.selector.catalog
	a.hidden, a.failed = c.Hidden(&sel.Request.Facts)
	a.denied, sel.failedRules = c.Denied(&sel.Request.Facts)
	sel.bounds = nil
	for _, b := range sel.Request.Bounds {
		bound := sel.selector.begin(b.request())
		bound.admit()
		sel.bounds = append(sel.bounds, bound)
	}
	for i := range sel.stages {
		sel.stages[i] = a.judge(i)
		for _, b := range sel.bounds {
			sel.stages[i] = earlier(sel.stages[i], b.stages[i])
		}
		if sel.stages[i].seen() {
			sel.all++
			sel.allTokens += int(sel.selector.tokens[i])
		}
		if sel.stages[i] == Sent {
			sel.usable++
			sel.usableTokens += int(sel.selector.tokens[i])
		}
	}
	sel.own = a
}

// Admit judges one tool by name, as Select does, for a call that the model makes.
// It returns the tool and its stage; a nil entry means that no tool has that name.
// [Stage.Usable] reports whether the call may proceed.
func (s *Selector) Admit(req Request, name string) (*catalog.Entry, Stage) {
	e, ok := s.catalog.Get(name)
	if !ok {
		return nil, Enabled
	}
	a := s.admission(&req)
	if visible, _ := e.Visible(&req.Facts); !visible {
		a.hidden = make([]bool, e.Filter()+1)
		a.hidden[e.Filter()] = true
	}
	a.denied, _ = s.catalog.Denied(&req.Facts)
	stage := a.judge(e.Position())
	for _, b := range req.Bounds {
		_, bound := s.Admit(b.request(), name)
		stage = earlier(stage, bound)
	}
	return e, stage
}

// admission holds what decides which tools a request may use, ready for looking
// up.
type admission struct {
	selector         *Selector
	req              *Request
	groups           set
	toolset          set
	allTools, known  bool
	include, exclude set
	away             []bool        // by list of channels: the question came from none of them
	hidden           []bool        // by number of filter: it refused or panicked
	failed           map[int]error // by number of filter
	denied           set           // the rules refused
}

func (s *Selector) admission(req *Request) admission {
	a := admission{selector: s, req: req}
	if req.Groups != "" {
		a.groups = s.setOf(s.catalog.Groups(req.Groups))
	}
	a.away = s.away(req.Facts.Channel)
	a.readSkill(&req.Facts)
	a.include, a.exclude = s.members(req.Include), s.members(req.Exclude)
	return a
}

// readSkill looks the active skill up. A skill that a rule hides from the caller
// lets nothing through, like a skill that does not exist.
func (a *admission) readSkill(facts *chat.Facts) {
	s := a.selector
	if facts.Skill == "" || facts.Skill == catalog.Full {
		a.allTools, a.known = true, true
		return
	}
	i, ok := s.skills.byName[facts.Skill]
	if a.known = ok && s.skills.list[i].On(facts.Channel) &&
		!set(s.catalog.DeniedSkills(facts)).has(s.skills.places[i]); !a.known {
		return
	}
	if a.allTools = s.skills.allTools(i); !a.allTools {
		a.toolset = s.setOf(s.skills.tools[i])
	}
}

// judge returns the stage at which the tool at a position is dropped, or Sent.
func (a *admission) judge(i int) Stage {
	filter := int(a.selector.filters[i])
	switch {
	case a.selector.disabled.has(i):
		return Enabled
	case a.groups != nil && !a.groups[i]:
		return Groups
	case a.away != nil && a.away[a.selector.places[i]]:
		return Visibility
	case filter < len(a.hidden) && a.hidden[filter] || a.denied.has(i):
		return Visibility
	case !a.allTools && !a.toolset.has(i):
		return Toolset
	case a.exclude.has(i) || len(a.req.Include) > 0 && !a.include.has(i):
		return Requested
	}
	return Sent
}
