package visibility

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// guard is what rules mean for the tools of one catalog.
type guard struct {
	rules   *Rules
	classOf []int32 // by position
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
	known := map[string]int32{}
	var key []byte
	for e := range c.All() {
		hidden := slices.Contains(r.hidden, e.Definition.Risk)
		key = key[:0]
		for _, i := range named[e.Position()] {
			key = binary.AppendUvarint(key, uint64(i))
		}
		key = fmt.Append(key, hidden)
		n, ok := known[string(key)]
		if !ok {
			n = int32(len(g.classes))
			known[string(key)] = n
			g.classes = append(g.classes, r.class(named[e.Position()], hidden))
		}
		g.classOf[e.Position()] = n
	}
	g.known = newCache[*verdict](min(maxKnown, max(minKnown, knownBytes/(c.Len()+256))))
	return g
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
	var room [keyRoom]byte
	key := g.rules.facts.key(room[:0], f)
	v, ok := g.known.get(key)
	if !ok {
		v = g.judge(f)
		g.known.put(key, v)
	}
	return v.denied, v.failed
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
	of, c := g.rules.outcomes(f), g.classes[g.classOf[e.Position()]]
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
		return fmt.Sprintf("no rule allows it, and tools of risk %s are hidden by default", e.Definition.Risk)
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
