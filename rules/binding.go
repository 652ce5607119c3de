package rules

import (
	"cmp"
	"encoding/binary"
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/tool"
)

// binding is what rules mean for the tools and skills of one catalog.
type binding struct {
	rules   *Rules
	catalog *catalog.Catalog
	classOf []int32 // by position
	skillOf []int32 // by place of the skill; nil when no rule names one
	classes []class
}

// class is tools that the same rules name.
type class struct {
	allow, deny, ask []int // numbers of rules
	denyDefault      []int
	otherwise        Effect
	byDefault        string // otherwise, in words
}

// bind finds what the rules name in a catalog.
func (r *Rules) bind(c *catalog.Catalog) *binding {
	b := &binding{rules: r, catalog: c, classOf: make([]int32, c.Len())}
	named := make([][]int, c.Len()) // by position: the rules that name it
	for i := range r.rules {
		for _, t := range r.rules[i].targets {
			for _, e := range t.find(c) {
				addRule(&named[e.Position()], i)
			}
		}
	}
	classes := classifier{binding: b, numbers: map[string]int32{}}
	for e := range c.All() {
		b.classOf[e.Position()] = classes.number(named[e.Position()], e.Definition.Risk)
	}
	if skills, any := r.namedSkills(c); any {
		for _, rules := range skills {
			b.skillOf = append(b.skillOf, classes.number(rules, ""))
		}
	}
	return b
}

// addRule adds a rule, unless it is the last one already.
func addRule(list *[]int, i int) {
	if n := len(*list); n == 0 || (*list)[n-1] != i {
		*list = append(*list, i)
	}
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
				// Full cannot be hidden: it means all tools.
				if s.Name != catalog.Full && t.match(s.Name) {
					addRule(&named[place], i)
					any = true
				}
			}
		}
	}
	return named, any
}

// classifier numbers the classes of a binding.
type classifier struct {
	*binding
	numbers map[string]int32
	key     []byte
}

// number returns the class of the tools of a risk that some rules name. Skills have
// the risk "".
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
	words := map[Effect]string{Allow: "allowed", Ask: "to be approved", Deny: "refused"}
	if r.kind == Visibility {
		words[Deny] = "hidden"
	}
	c.byDefault = fmt.Sprintf("tools of risk %s are %s by default", risk, words[c.otherwise])
	if risk == "" {
		c.byDefault = "skills are allowed by default"
	}
	for _, i := range rules {
		switch rule := &r.rules[i]; {
		case rule.Default:
			c.denyDefault = append(c.denyDefault, i)
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

// effect is what the rules of a class mean together, and the rule that decides; -1 for
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
	for _, i := range c.denyDefault {
		if o := r.rules[i].outcome(of); o.holds || o.err != nil {
			return Deny, i
		}
	}
	return c.otherwise, -1
}
