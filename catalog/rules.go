package catalog

import (
	"sync"

	"github.com/etui-run/etui/chat"
)

// Rules decide which callers may see which tools, beside the filters that tools
// were registered with. Package rules compiles them.
type Rules interface {
	// Guard finds the tools of a catalog that the rules name. It is called once for
	// each catalog; nil hides nothing.
	Guard(c *Catalog) Guard
}

// Switches are Rules that also switch tools off, for everybody.
type Switches interface {
	// Disabled are these tools, by name or as "group:" and a group.
	Disabled() []string
}

// Guard is what rules mean for the tools and skills of one catalog. It is safe for
// concurrent use, and because selection calls it, it does no I/O and takes no lock.
type Guard interface {
	// Denied reports which tools, by position, and which skills, by place in
	// [Catalog.Skills], the caller may not see; nil denies none. It also returns the
	// errors of rules that failed: what they guard is denied. The slices may not be
	// changed. The same facts have the same answer.
	Denied(f *chat.Facts) (tools, skills []bool, failed []error)
	// Reason tells operators which rule denies a tool to the caller.
	Reason(f *chat.Facts, e *Entry) string
	// SkillReason tells operators which rule denies the skill at a place.
	SkillReason(f *chat.Facts, place int) string
}

// SetRules replaces the rules; nil means none. The tools stay the same, so that
// selectors do not index them again.
func (r *Registry) SetRules(rules Rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = rules
	r.show(r.current.Load().toolIndex)
}

// Rules returns the rules in effect, or nil.
func (c *Catalog) Rules() Rules {
	if c.ruled == nil {
		return nil
	}
	return c.ruled.rules
}

// Disabled returns what the rules switch off, by name or as "group:" and a group.
func (c *Catalog) Disabled() []string {
	if s, ok := c.Rules().(Switches); ok {
		return s.Disabled()
	}
	return nil
}

// DisabledBy returns the tools that the rules switch off, each with what of [Catalog.Disabled] names it.
func (c *Catalog) DisabledBy() map[*Entry][]string {
	by := map[*Entry][]string{}
	for _, target := range c.Disabled() {
		tools, _ := c.Members(Skill{Tools: []string{target}})
		for _, e := range tools {
			by[e] = append(by[e], target)
		}
	}
	return by
}

// Denied returns which tools the rules deny to a caller, by position, and the errors
// of rules that failed. It is nil when the rules hide nothing.
func (c *Catalog) Denied(f *chat.Facts) (denied []bool, failed []error) {
	if g := c.guard(); g != nil {
		denied, _, failed = g.Denied(f)
	}
	return denied, failed
}

// WhyDenied tells operators which rule denies a tool to a caller.
func (c *Catalog) WhyDenied(f *chat.Facts, e *Entry) string {
	if g := c.guard(); g != nil {
		return g.Reason(f, e)
	}
	return ""
}

// DeniedSkills returns which skills the rules deny to a caller, by place in
// [Catalog.Skills]. It is nil when they name none.
func (c *Catalog) DeniedSkills(f *chat.Facts) (denied []bool) {
	if g := c.guard(); g != nil {
		_, denied, _ = g.Denied(f)
	}
	return denied
}

// WhySkillDenied tells operators which rule denies the skill at a place to a caller.
func (c *Catalog) WhySkillDenied(f *chat.Facts, place int) string {
	if g := c.guard(); g != nil {
		return g.SkillReason(f, place)
	}
	return ""
}

// ruleset holds the rules of a catalog, and their guard once it is needed.
type ruleset struct {
	rules Rules
	once  sync.Once
	guard Guard
}

func (c *Catalog) guard() Guard {
	if c.ruled == nil {
		return nil
	}
	c.ruled.once.Do(func() { c.ruled.guard = c.ruled.rules.Guard(c) })
	return c.ruled.guard
}
