package rules

import (
	"fmt"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

// guard hides what visibility rules deny to a caller.
type guard struct {
	*binding
	known *cache[*verdict]
}

var _ catalog.Guard = (*guard)(nil)

// verdict is what a caller may not see.
type verdict struct {
	tools  []bool // by position
	skills []bool // by place; nil when no rule names a skill
	failed []error
}

const (
	// maxKnown and knownBytes bound the cached verdicts, by number and by total size.
	// A huge catalog still gets minKnown.
	maxKnown, minKnown = 4096, 64
	knownBytes         = 16 << 20
)

// Guard implements [catalog.Rules].
func (r *Rules) Guard(c *catalog.Catalog) catalog.Guard {
	if r == nil || len(r.rules) == 0 && len(r.defaults) == 0 {
		return nil
	}
	return &guard{r.bind(c), newCache[*verdict](min(maxKnown, max(minKnown, knownBytes/(c.Len()+256))))}
}

// Denied implements [catalog.Guard]. It looks the verdict up when a caller with the
// same facts came before.
func (g *guard) Denied(f *chat.Facts) (tools, skills []bool, failed []error) {
	if g.rules.facts.size(f) > MaxFacts { // nothing so long is kept
		v := g.judge(f)
		return v.tools, v.skills, v.failed
	}
	var room [keyRoom]byte
	key := g.rules.facts.key(room[:0], f)
	v, ok := g.known.get(key)
	if !ok {
		v = g.judge(f)
		g.known.put(key, v)
	}
	return v.tools, v.skills, v.failed
}

func (g *guard) judge(f *chat.Facts) *verdict {
	of := g.rules.outcomes(f)
	byClass := make([]bool, len(g.classes))
	for i, c := range g.classes {
		effect, _ := g.rules.effect(c, of)
		byClass[i] = effect != Allow
	}
	v := &verdict{tools: make([]bool, len(g.classOf))}
	for position, class := range g.classOf {
		v.tools[position] = byClass[class]
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

// Reason implements [catalog.Guard].
func (g *guard) Reason(f *chat.Facts, e *catalog.Entry) string {
	return g.decide(f, g.classes[g.classOf[e.Position()]], nil).Reason
}

// SkillReason implements [catalog.Guard].
func (g *guard) SkillReason(f *chat.Facts, place int) string {
	return g.decide(f, g.classes[g.skillOf[place]], nil).Reason
}
