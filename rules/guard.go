package rules

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
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
	allow, deny, ask []int // numbers of rules
	otherwise        Effect
	byDefault        string // that, in words
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
func (r *Rules) Guard(c *catalog.Catalog) catalog.Guard { return r.bind(c) }

// bind finds what the rules name in a catalog.
func (r *Rules) bind(c *catalog.Catalog) *guard {
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
		g.classOf[e.Position()] = classes.number(named[e.Position()], e.Definition.Risk)
	}
	if skills, any := r.namedSkills(c); any {
		for _, rules := range skills {
			g.skillOf = append(g.skillOf, classes.number(rules, ""))
		}
	}
	g.known = newCache[*verdict](min(maxKnown, max(minKnown, knownBytes/(c.Len()+256))))
	return g
}

// namedSkills returns the rules that name each skill, by its place, and whether
// any does.
func (r *Rules) namedSkills(c *catalog.Catalog) (named [][]int, any bool) {
	named = make([][]int, len(c.Skills()))
	for i := range r.rules {
		for _, t := range r.rules[i].targets {
			if t.kind != skillKind {
				continue
			}
			for place, s := range c.Skills() {
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

// number returns the class of what some rules name and what is of a risk; skills
// have none.
func (c *classifier) number(rules []int, risk tool.Risk) int32 {
	c.key = c.key[:0]
	for _, i := range rules {
		c.key = binary.AppendUvarint(c.key, uint64(i))
	}
	c.key = append(c.key, risk...)
	n, ok := c.numbers[string(c.key)]
	if !ok {
		n = int32(len(c.classes))
		c.numbers[string(c.key)] = n
		c.classes = append(c.classes, c.rules.class(rules, risk))
	}
	return n
}

func (r *Rules) class(rules []int, risk tool.Risk) class {
	c := class{otherwise: cmp.Or(r.defaults[risk], Allow)}
	c.byDefault = fmt.Sprintf("tools of risk %s are %s by default", risk, r.says(c.otherwise))
	if risk == "" {
		c.byDefault = "skills are allowed by default"
	}
	for _, i := range rules {
		switch rule := &r.rules[i]; {
		case len(rule.Deny) > 0:
			c.deny = append(c.deny, i)
		case len(rule.Ask) > 0:
			c.ask = append(c.ask, i)
		default:
			c.allow = append(c.allow, i)
		}
	}
	return c
}

// says puts an effect in words.
func (r *Rules) says(e Effect) string {
	switch {
	case e == Allow:
		return "allowed"
	case e == Ask:
		return "to be approved"
	case r.kind == "visibility rule":
		return "hidden"
	}
	return "refused"
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
		effect, _ := g.rules.effect(c, of)
		byClass[i] = effect == Deny
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

// effect is what rules mean together for a class, and which one decides; -1 for
// none.
func (r *Rules) effect(c class, of []outcome) (Effect, int) {
	for _, i := range c.deny {
		if o := r.rules[i].outcome(of); o.holds || o.err != nil {
			return Deny, i
		}
	}
	for _, i := range c.ask {
		if o := r.rules[i].outcome(of); o.holds || o.err != nil {
			return Ask, i
		}
	}
	for _, i := range c.allow {
		if r.rules[i].outcome(of).holds {
			return Allow, i
		}
	}
	if len(c.allow) > 0 {
		return Deny, -1
	}
	return c.otherwise, -1
}

// Reason implements [catalog.Guard].
func (g *guard) Reason(f *chat.Facts, e *catalog.Entry) string {
	return g.say(f, g.classes[g.classOf[e.Position()]], nil).Reason
}

// ReasonSkill implements [catalog.SkillGuard].
func (g *guard) ReasonSkill(f *chat.Facts, place int) string {
	return g.say(f, g.classes[g.skillOf[place]], nil).Reason
}

// Verdict is what rules say of one tool or skill.
type Verdict struct {
	Effect Effect
	// Rule is the name and place of the rule that decided; empty when none did.
	Rule string
	// Reason says to operators why.
	Reason string
	// Depends says that there are no arguments yet, and that it depends on them: some
	// calls may be judged in another way.
	Depends bool
}

// say judges a class, and says why. The arguments are nil where there is no call.
func (g *guard) say(f *chat.Facts, c class, arguments json.RawMessage) Verdict {
	of := g.rules.outcomes(f)
	made := g.rules.hear(of, c, f, arguments)
	effect, i := g.rules.effect(c, of)
	v := Verdict{Effect: effect}
	open := func(i int) bool { return errors.Is(g.rules.rules[i].outcome(of).err, errNoCall) }
	switch {
	case i >= 0:
		r := &g.rules.rules[i]
		v.Rule, v.Reason, v.Depends = r.String(), r.decided(effect, of), open(i)
		if made != nil && g.rules.readsCommand(r) && made.found() != "" {
			v.Reason += " (" + made.found() + ")"
		}
	case len(c.allow) > 0:
		v.Reason, v.Depends = g.unopened(c, of), slices.ContainsFunc(c.allow, open)
	case effect == Allow:
		v.Reason = c.byDefault
	default:
		v.Reason = "no rule allows it, and " + c.byDefault
	}
	return v
}

// readsCommand reports whether a rule asks what a command would do.
func (r *Rules) readsCommand(rule *rule) bool {
	if rule.condition < 0 {
		return false
	}
	reads := r.conditions[rule.condition].facts.has
	return reads[commandPrograms] || reads[commandRisks]
}

// decided says what a rule did that decided.
func (r *rule) decided(effect Effect, of []outcome) string {
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

// unopened says of what allow rules name why none of them opens it.
func (g *guard) unopened(c class, of []outcome) string {
	var names []string
	for _, i := range c.allow {
		r := &g.rules.rules[i]
		name := r.String()
		switch err := r.outcome(of).err; {
		case errors.Is(err, errNoCall):
			name += ", which depends on the arguments"
		case err != nil:
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

// Judge judges single tools and skills of one catalog. It is safe for concurrent
// use.
type Judge struct{ guard *guard }

// Judge finds what the rules name in a catalog.
func (r *Rules) Judge(c *catalog.Catalog) *Judge { return &Judge{r.bind(c)} }

// Tool judges a call of a tool of the catalog. The arguments are a JSON object; nil
// means that there is no call yet.
func (j *Judge) Tool(f *chat.Facts, e *catalog.Entry, arguments json.RawMessage) Verdict {
	return j.guard.say(f, j.guard.classes[j.guard.classOf[e.Position()]], arguments)
}

// Skill judges the skill at a place in [catalog.Catalog.Skills], as Tool does.
func (j *Judge) Skill(f *chat.Facts, place int, arguments json.RawMessage) Verdict {
	if j.guard.skillOf == nil {
		return Verdict{Effect: Allow, Reason: "no rule names it"}
	}
	return j.guard.say(f, j.guard.classes[j.guard.skillOf[place]], arguments)
}
