package catalog

import (
	"slices"
	"sync"

	"github.com/etui-run/etui/chat"
)

// Rules say which callers may see which tools, beside the filters that tools
// were registered with. Package visibility makes them from a configuration.
type Rules interface {
	// Guard finds the tools of a catalog that the rules name. It is called once
	// for a catalog.
	Guard(c *Catalog) Guard
}

// Guard is what rules mean for the tools of one catalog. It is safe for
// concurrent use, and like everything that selecting asks it does no I/O and
// waits for no lock.
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

// SetRules makes rules the only ones; nil means none. The tools stay what they
// are, so that a selector need not index them again.
func (r *Registry) SetRules(rules Rules) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.rules = rules
	r.show(r.current.Load().tools)
}

// Update does what SetToolsets and SetRules do, in one step: rules may name
// toolsets. It answers as SetToolsets does.
func (r *Registry) Update(toolsets []Skill, rules Rules) (unknown []UnknownTarget, err error) {
	if err := checkAll(toolsets); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.set(slices.Clone(toolsets), rules)
	return r.unknown(), nil
}

func (r *Registry) set(toolsets []Skill, rules Rules) {
	r.toolsets, r.rules = toolsets, rules
	r.skills = skillsOf(toolsets, r.suppliers)
	r.show(r.current.Load().tools)
}

// Rules returns the rules in force, or nil.
func (c *Catalog) Rules() Rules {
	if c.ruled == nil {
		return nil
	}
	return c.ruled.rules
}

// SameTools reports whether two catalogs hold the same tools at the same
// positions, whatever their toolsets and rules are.
func (c *Catalog) SameTools(o *Catalog) bool {
	return len(c.entries) == len(o.entries) && (len(c.entries) == 0 || &c.entries[0] == &o.entries[0])
}

// SameSkills reports whether two catalogs hold the same toolsets in the same order.
func (c *Catalog) SameSkills(o *Catalog) bool {
	a, b := c.Skills(), o.Skills()
	return len(a) == len(b) && &a[0] == &b[0]
}

// Denied asks the rules about a caller, see [Guard]. It is nil when there are
// no rules.
func (c *Catalog) Denied(f *chat.Facts) (denied []bool, failed []error) {
	if g := c.guard(); g != nil {
		denied, _, failed = g.Denied(f)
	}
	return denied, failed
}

// WhyDenied tells an operator which rule denies a tool to a caller, or nothing
// when there are no rules.
func (c *Catalog) WhyDenied(f *chat.Facts, e *Entry) string {
	if g := c.guard(); g != nil {
		return g.Reason(f, e)
	}
	return ""
}

// DeniedSkills asks the rules which skills a caller may not see, by place in
// [Catalog.Skills], see [SkillGuard]. It is nil when there are none.
func (c *Catalog) DeniedSkills(f *chat.Facts) (denied []bool) {
	if g := c.guard(); g != nil {
		_, denied, _ = g.Denied(f)
	}
	return denied
}

// WhySkillDenied tells an operator which rule denies the skill at a place to a
// caller.
func (c *Catalog) WhySkillDenied(f *chat.Facts, place int) string {
	if g := c.guard(); g != nil {
		return g.SkillReason(f, place)
	}
	return ""
}

// ruled holds the rules of a catalog, and their guard once somebody asks.
type ruled struct {
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
