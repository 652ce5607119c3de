package selection

import (
	"iter"
	"slices"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/tool"
)

// skills are a catalog's skills, ready for ranking, without [catalog.Full].
type skills struct {
	list   []*catalog.Skill
	places []int              // of each, in [catalog.Catalog.Skills]
	tools  [][]*catalog.Entry // of each: the tools that it shows, in order; nil for all
	all    []bool             // of each: it shows all tools
	byName map[string]int     // the place in list
	index  *rank.Index
}

func newSkills(c *catalog.Catalog) skills {
	all := c.Skills()
	s := skills{
		byName: make(map[string]int, len(all)), list: make([]*catalog.Skill, 0, len(all)),
		places: make([]int, 0, len(all)), tools: make([][]*catalog.Entry, 0, len(all)),
	}
	for i := range all {
		t := &all[i]
		if t.Name == catalog.Full {
			continue
		}
		tools, all := c.ToolsOf(*t)
		if all {
			tools = nil
		}
		s.byName[t.Name], s.all = len(s.list), append(s.all, all)
		s.list, s.places, s.tools = append(s.list, t), append(s.places, i), append(s.tools, tools)
	}
	return s
}

// definitions returns the skills as the ranking reads them, like tools.
func (s skills) definitions() []*tool.Definition {
	texts := make([]tool.Definition, len(s.list))
	list := make([]*tool.Definition, len(s.list))
	for i, t := range s.list {
		texts[i] = tool.Definition{Name: t.Name, Description: t.Description, Aliases: t.Aliases, Examples: t.Examples,
			Translations: t.Translations, Body: t.Body}
		list[i] = &texts[i]
	}
	return list
}

// allTools reports whether the skill at a place shows all tools while it is active.
func (s skills) allTools(i int) bool { return s.all[i] }

// hideSkills hides skills from the caller: skills that exist only on other channels,
// skills that a rule hides, and skills that have no tool that the caller could use while they are active. A skill
// without tools is not hidden, because its tools may only be away for now.
func (sel *Selection) hideSkills() {
	s := &sel.selector.skills
	denied := sel.selector.catalog.DeniedSkills(&sel.Request.Facts)
	sel.hidden = make([]hideReason, len(s.list))
	for i, skill := range s.list {
		ruled, tools := set(denied).has(s.places[i]), s.tools[i]
		bounded := slices.ContainsFunc(sel.bounds, func(b *Selection) bool { return b.hidden[i] != notHidden })
		away := !skill.On(sel.Request.Facts.Channel)
		if !away && !ruled && !bounded && (len(tools) == 0 || slices.ContainsFunc(tools, sel.Visible)) {
			continue
		}
		active := withSkill(sel.Request.Facts, skill.Name)
		switch {
		case away:
			sel.hidden[i] = byChannel
		case bounded:
			sel.hidden[i] = byBound
		case ruled && set(sel.selector.catalog.DeniedSkills(active)).has(s.places[i]):
			sel.hidden[i] = byRule
		case len(tools) > 0 && !slices.ContainsFunc(tools, sel.Visible) && !sel.opens(active, tools):
			sel.hidden[i] = byTools
		default:
			continue
		}
		sel.HiddenSkills = append(sel.HiddenSkills, skill.Name)
	}
}

// hideReason is why a skill is hidden from the caller.
type hideReason uint8

const (
	notHidden hideReason = iota
	byRule
	byTools
	byBound
	byChannel
)

// Visible reports whether the caller may see a tool. The active skill, the request
// and the ranking do not matter.
func (sel *Selection) Visible(e *catalog.Entry) bool {
	stage := sel.Stage(e)
	return stage == Sent || stage > Visibility
}

// opens reports whether rules and filters would let the caller, and all bounds, see at
// least one of the tools with these facts and their skill.
func (sel *Selection) opens(facts *chat.Facts, tools []*catalog.Entry) bool {
	denied, _ := sel.selector.catalog.Denied(facts)
	asked, visible := 0, true // the last filter and its answer
	for _, e := range tools {
		if sel.Stage(e) != Visibility || !e.On(facts.Channel) || set(denied).has(e.Position()) {
			continue
		}
		if e.Filter() != asked {
			asked = e.Filter()
			visible, _ = e.Visible(facts)
		}
		if visible && !slices.ContainsFunc(sel.bounds, func(b *Selection) bool {
			return !b.Visible(e) && !b.opens(withSkill(b.Request.Facts, facts.Skill), []*catalog.Entry{e})
		}) {
			return true
		}
	}
	return false
}

// withSkill returns a caller's facts with another active skill.
func withSkill(facts chat.Facts, skill string) *chat.Facts {
	facts.Skill = skill
	return &facts
}

// offered reports whether the model may take up the skill at a place: the caller
// may see it, the request lets it through, and it is not reserved for people.
func (sel *Selection) offered(i int) bool {
	req, name := &sel.Request, sel.selector.skills.list[i].Name
	return sel.hidden[i] == notHidden && !sel.selector.skills.list[i].Manual &&
		!slices.Contains(req.ExcludeSkills, name) &&
		(len(req.IncludeSkills) == 0 || slices.Contains(req.IncludeSkills, name)) &&
		!slices.ContainsFunc(sel.bounds, func(b *Selection) bool { return !b.offered(i) })
}

// ActiveSkill returns the name of the active skill; empty when it is hidden from the caller.
func (sel *Selection) ActiveSkill() string {
	name := sel.Request.Facts.Skill
	if slices.Contains(sel.HiddenSkills, name) {
		return ""
	}
	return name
}

// HidesSkill reports whether a skill exists and is hidden from the caller.
func (s *Selector) HidesSkill(facts chat.Facts, groups, name string) bool {
	if _, ok := s.skills.byName[name]; !ok {
		return false
	}
	sel := s.begin(Request{Facts: facts, Groups: groups})
	sel.admit()
	return slices.Contains(sel.HiddenSkills, name)
}

// AdmitSkill finds a skill that a model may take up, as Select judges it. It treats
// a skill that is hidden from the caller like one that does not exist.
func (s *Selector) AdmitSkill(req Request, name string) (catalog.Skill, bool) {
	if name == catalog.Full {
		return s.catalog.Skill(name)
	}
	i, ok := s.skills.byName[name]
	if !ok {
		return catalog.Skill{}, false
	}
	sel := s.begin(req)
	sel.admit()
	return *s.skills.list[i], sel.offered(i)
}

// OfferedSkills yields the names of the skills that may be taken up.
func (sel *Selection) OfferedSkills() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, skill := range sel.selector.skills.list {
			if sel.offered(i) && !yield(skill.Name) {
				return
			}
		}
	}
}
