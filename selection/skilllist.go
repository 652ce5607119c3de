package selection

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

const (
	// shortSkillLine is how much of each description a list has, in characters, when
	// it is too long with full descriptions. maxSkillLine is how much a message has.
	shortSkillLine, maxSkillLine = 80, 250
)

// ListSkills lists skills for a system prompt, in at most the given number of
// tokens: each with its description, or with the beginning of it, or names alone,
// or only how many there are, whatever is the most that fits. [catalog.Full] is
// left out.
func ListSkills(skills []*catalog.Skill, tokens int) string {
	skills = slices.DeleteFunc(slices.Clone(skills), func(t *catalog.Skill) bool { return t.Name == catalog.Full })
	if len(skills) == 0 {
		return ""
	}
	for _, length := range []int{math.MaxInt, shortSkillLine} {
		if text, ok := linesWithin(tokens, len(skills),
			func(i int) string { return skillLine(skills[i], length) }); ok {
			return text
		}
	}
	names := make([]string, len(skills))
	spent := chat.Tokens(skillNames)
	for i, t := range skills {
		names[i] = t.Name
		if spent += chat.Tokens(t.Name + ", "); spent > tokens {
			return fmt.Sprintf("%d skills, too many to list. Skills that fit a message are described with it.",
				len(skills))
		}
	}
	return skillNames + strings.Join(names, ", ")
}

// skillNames begins the line of a list of names alone.
const skillNames = "By name: "

// SkillLine describes a skill in a line, for the message that it fits.
func SkillLine(t *catalog.Skill) string { return skillLine(t, maxSkillLine) }

// skillLine describes a skill in a line, with at most length characters of its
// description.
func skillLine(t *catalog.Skill, length int) string {
	description := strings.Join(strings.Fields(t.Description), " ") // it adds no lines to the list
	if description == "" {
		return "- " + t.Name
	}
	return "- " + t.Name + ": " + shorten(description, length)
}

// saidIn returns the line of each skill in a list; empty in a list of names
// alone.
func (s *skills) saidIn(list string) map[string]string {
	said := map[string]string{}
	for line := range strings.SplitSeq(list, "\n") {
		if names, ok := strings.CutPrefix(line, skillNames); ok {
			for name := range strings.SplitSeq(names, ", ") {
				said[name] = ""
			}
		} else if text, ok := strings.CutPrefix(line, "- "); ok {
			said[s.named(text)] = line
		}
	}
	return said
}

// named returns the name of the skill that a line describes: the longest one with which
// its text begins, because a name may hold a colon. It is empty for a skill that is gone.
func (s *skills) named(text string) (name string) {
	if _, ok := s.byName[text]; ok {
		return text
	}
	for at := strings.Index(text, ": "); at >= 0; {
		if _, ok := s.byName[text[:at]]; ok {
			name = text[:at]
		}
		next := strings.Index(text[at+1:], ": ")
		if next < 0 {
			break
		}
		at += 1 + next
	}
	return name
}

// Describes reports whether the system prompt describes a skill.
func (sel *Selection) Describes(skill string) bool {
	return sel.selector.skills.saidIn(sel.SkillList)[skill] != ""
}

// listSkills makes the system prompt's list of skills and decides which skills are
// described with the message. Like the directory, the list changes only when the
// session's front is made anew or when it names a skill that may no longer be
// taken up. A request that names skills has its own list. Skills that the list
// leaves out are described with the messages that they fit.
func (sel *Selection) listSkills() {
	if len(sel.selector.skills.list) == 0 {
		return
	}
	list := skillList{sel}
	sel.SkillList = sel.Request.SkillList
	said := sel.selector.skills.saidIn(sel.SkillList)
	if sel.anew || sel.SkillList == "" || len(sel.Request.IncludeSkills) > 0 || list.withdrawn(said) {
		sel.SkillList = ListSkills(list.skills(), sel.Request.within(sel.selector.config.Skills, directoryShare))
		said = sel.selector.skills.saidIn(sel.SkillList)
	}
	if sel.active() {
		return // nothing is recommended beside an explicit choice
	}
	var fit []*catalog.Skill
	switch {
	case sel.Recommended != nil:
		for _, name := range sel.Recommended {
			fit = append(fit, sel.selector.skills.list[sel.selector.skills.byName[name]])
		}
	case list.leftOut(said):
		fit = recommender{sel}.fittingSkills(sel.limit)
	}
	for _, skill := range fit {
		if said[skill.Name] == "" {
			sel.AnnouncedSkills = append(sel.AnnouncedSkills, skill)
		}
	}
}

// skillList is the text that names the skills of a selection.
type skillList struct{ sel *Selection }

// skills returns the skills of a new list: the recommended skills, or all offered
// ones.
func (l skillList) skills() (list []*catalog.Skill) {
	s := &l.sel.selector.skills
	for i, skill := range s.list {
		if l.sel.offered(i) && (l.sel.Recommended == nil || slices.Contains(l.sel.Recommended, skill.Name)) {
			list = append(list, skill)
		}
	}
	return list
}

// withdrawn reports whether a list names a skill that exists but may not be taken
// up.
func (l skillList) withdrawn(said map[string]string) bool {
	for name := range said {
		if i, ok := l.sel.selector.skills.byName[name]; ok && !l.sel.offered(i) {
			return true
		}
	}
	return false
}

// leftOut reports whether a list does not describe all offered skills.
func (l skillList) leftOut(said map[string]string) bool {
	for i, skill := range l.sel.selector.skills.list {
		if said[skill.Name] == "" && l.sel.offered(i) {
			return true
		}
	}
	return false
}
