package visibility

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// guard is what rules mean for the tools and skills of one catalog.
type guard struct {
	rules   *Rules
	classOf []int32 // by position
	skillOf []int32 // by place of the skill; nil when no rule names one
	classes []class
	known   *cache[*verdict]
}

// class is tools that the same rules name.
type class struct {
	allow, deny []int // numbers of rules
	hidden      bool  // by default
}

// verdict is what a caller may not see.
type verdict struct {
	denied []bool // by position
	skills []bool // by place
	failed []error
}

const (
	// maxKnown and knownBytes bound the verdicts that are kept: by their number,
	// and by their size together, but for the last few dozen of a huge catalog.
	maxKnown, minKnown = 4096, 64
	knownBytes         = 16 << 20
)

// Guard implements [catalog.Rules].
func (r *Rules) Guard(c *catalog.Catalog) catalog.Guard {
	g := &guard{rules: r, classOf: make([]int32, c.Len())}
	named := make([][]int, c.Len()) // by position: the rules that name it
	for i := range r.rules {
		for _, t := range r.rules[i].targets {
			for _, e := range t.find(c) {
				list := named[e.Position()]
				if len(list) == 0 || list[len(list)-1] != i {
					named[e.Position()] = append(list, i)
				}
			}
		}
	}
	classes := classifier{guard: g, numbers: map[string]int32{}}
	for e := range c.All() {
		g.classOf[e.Position()] = classes.number(named[e.Position()], slices.Contains(r.hidden, e.Definition.Risk))
	}
	if skills, any := r.namedSkills(c); any {
		for _, rules := range skills {
			g.skillOf = append(g.skillOf, classes.number(rules, false))
		}
	}
	g.known = newCache[*verdict](min(maxKnown, max(minKnown, knownBytes/(c.Len()+256))))
	return g
}

// namedSkills returns the rules that name each skill, by its place, and whether
// any does.
func (r *Rules) namedSkills(c *catalog.Catalog) (named [][]int, any bool) {
	named = make([][]int, len(c.Toolsets()))
	for i := range r.rules {
		for _, t := range r.rules[i].targets {
			if t.kind != skillKind {
				continue
			}
			for place, s := range c.Toolsets() {
				// Full is no skill that could be hidden: it is all tools.
				if list := named[place]; s.Name != catalog.Full && t.match(s.Name) && (len(list) == 0 || list[len(list)-1] != i) {
					named[place], any = append(list, i), true
				}
			}
		}
	}
	return named, any
}

// classifier numbers classes while a guard is made.
type classifier struct {
	*guard
	numbers map[string]int32
	key     []byte
}

// number returns the class of what some rules name and what is hidden by default
// or not.
func (c *classifier) number(rules []int, hidden bool) int32 {
	c.key = c.key[:0]
	for _, i := range rules {
		c.key = binary.AppendUvarint(c.key, uint64(i))
	}
	c.key = fmt.Append(c.key, hidden)
	n, ok := c.numbers[string(c.key)]
	if !ok {
		n = int32(len(c.classes))
		c.numbers[string(c.key)] = n
		c.classes = append(c.classes, c.rules.class(rules, hidden))
	}
	return n
}

func (r *Rules) class(rules []int, hidden bool) class {
	c := class{hidden: hidden}
	for _, i := range rules {
		if len(r.rules[i].Deny) > 0 {
			c.deny = append(c.deny, i)
		} else {
			c.allow = append(c.allow, i)
		}
	}
	return c
}

// Denied implements [catalog.Guard]. For a caller like one who came before it
// looks the answer up.
func (g *guard) Denied(f *chat.Facts) ([]bool, []error) {
	v := g.verdict(f)
	return v.denied, v.failed
}

// DeniedSkills implements [catalog.SkillGuard].
func (g *guard) DeniedSkills(f *chat.Facts) []bool { return g.verdict(f).skills }

func (g *guard) verdict(f *chat.Facts) *verdict {
	var room [keyRoom]byte
	key := g.rules.facts.key(room[:0], f)
	v, ok := g.known.get(key)
	if !ok {
		v = g.judge(f)
		g.known.put(key, v)
	}
	return v
}

func (g *guard) judge(f *chat.Facts) *verdict {
	of := g.rules.outcomes(f)
	byClass := make([]bool, len(g.classes))
	for i, c := range g.classes {
		byClass[i] = g.rules.denies(c, of)
	}
	v := &verdict{denied: make([]bool, len(g.classOf))}
	for position, class := range g.classOf {
		v.denied[position] = byClass[class]
	}
	for _, class := range g.skillOf {
		v.skills = append(v.skills, byClass[class])
	}
	for i := range g.rules.rules {
		r := &g.rules.rules[i]
		if err := r.outcome(of).err; err != nil {
			v.failed = append(v.failed, fmt.Errorf("%s failed, what it guards is hidden: %w", r, err))
		}
	}
	return v
}

// denies reports whether the rules hide the tools of a class: this is what rules
// mean together.
func (r *Rules) denies(c class, of []outcome) bool {
	for _, i := range c.deny {
		if o := r.rules[i].outcome(of); o.holds || o.err != nil {
			return true
		}
	}
	for _, i := range c.allow {
		if r.rules[i].outcome(of).holds {
			return false
		}
	}
	return len(c.allow) > 0 || c.hidden
}

// Reason implements [catalog.Guard].
func (g *guard) Reason(f *chat.Facts, e *catalog.Entry) string {
	return g.reason(f, g.classes[g.classOf[e.Position()]], fmt.Sprintf("tools of risk %s are hidden by default", e.Definition.Risk))
}

// ReasonSkill implements [catalog.SkillGuard].
func (g *guard) ReasonSkill(f *chat.Facts, place int) string {
	return g.reason(f, g.classes[g.skillOf[place]], "skills are not hidden by default")
}

func (g *guard) reason(f *chat.Facts, c class, byDefault string) string {
	of := g.rules.outcomes(f)
	for _, i := range c.deny {
		r := &g.rules.rules[i]
		switch o := r.outcome(of); {
		case o.err != nil:
			return fmt.Sprintf("%s failed, which denies: %v", r, o.err)
		case o.holds && r.Reason != "":
			return fmt.Sprintf("%s denies: %s", r, r.Reason)
		case o.holds:
			return fmt.Sprintf("%s denies", r)
		}
	}
	if len(c.allow) == 0 {
		return "no rule allows it, and " + byDefault
	}
	var names []string
	for _, i := range c.allow {
		r := &g.rules.rules[i]
		name := r.String()
		if err := r.outcome(of).err; err != nil {
			name += fmt.Sprintf(", which failed: %v", err)
		}
		names = append(names, name)
	}
	if len(names) == 1 && g.rules.rules[c.allow[0]].outcome(of).err == nil {
		return "allowed only by " + names[0] + ", which does not hold"
	}
	if len(names) == 1 {
		return "allowed only by " + names[0]
	}
	return "allowed only by " + strings.Join(names, "; ") + ": none holds"
}
