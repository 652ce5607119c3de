package selection

import (
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
)

const (
	// defaultSkillTokens is how long a list of skills is at most when nobody says.
	defaultSkillTokens = 1500
	// shortSkillLine is how much of a description a list tells that is too long with
	// all of them, and maxSkillLine how much a message does, in characters.
	shortSkillLine, maxSkillLine = 80, 250
)

// ListSkills lists skills for a system prompt, in at most so many tokens: each
// with its description, or with the beginning of it, or by names alone, or only
// how many there are, whatever is the most that fits. The skill of all tools goes
// without saying.
func ListSkills(skills []*catalog.Skill, tokens int) string {
	skills = slices.DeleteFunc(slices.Clone(skills), func(t *catalog.Skill) bool { return t.Name == catalog.Full })
	if len(skills) == 0 {
		return ""
	}
	for _, length := range []int{0, shortSkillLine} {
		if text, ok := skillLines(skills, length, tokens); ok {
			return text
		}
	}
	names := make([]string, len(skills))
	spent := chat.Tokens(skillNames)
	for i, t := range skills {
		names[i] = t.Name
		if spent += chat.Tokens(t.Name + ", "); spent > tokens {
			return fmt.Sprintf("%d skills, too many to list. Those that fit a message are told with it.", len(skills))
		}
	}
	return skillNames + strings.Join(names, ", ")
}

// skillNames begins the line of a list that has names alone.
const skillNames = "By name: "

func skillLines(skills []*catalog.Skill, length, tokens int) (text string, ok bool) {
	lines := make([]string, len(skills))
	for i, t := range skills {
		lines[i] = skillLine(t, length)
		if tokens -= chat.Tokens(lines[i] + "\n"); tokens < 0 {
			return "", false
		}
	}
	return strings.Join(lines, "\n"), true
}

// SkillLine tells of a skill in a line, for the message that it fits.
func SkillLine(t *catalog.Skill) string { return skillLine(t, maxSkillLine) }

// skillLine tells of a skill in a line, with at most so many characters of its
// description; 0 means all.
func skillLine(t *catalog.Skill, length int) string {
	line := "- " + t.Name
	if t.Description == "" {
		return line
	}
	description := t.Description
	if runes := []rune(description); length > 0 && len(runes) > length {
		description = string(runes[:length-1]) + "…"
	}
	return line + ": " + description
}

// saidIn returns what a list says of each skill: its line, or nothing where the
// list has names alone.
func saidIn(list string) map[string]string {
	said := map[string]string{}
	for line := range strings.SplitSeq(list, "\n") {
		if names, ok := strings.CutPrefix(line, skillNames); ok {
			for name := range strings.SplitSeq(names, ", ") {
				said[name] = ""
			}
		} else if text, ok := strings.CutPrefix(line, "- "); ok {
			name, _, _ := strings.Cut(text, ": ")
			said[name] = line
		}
	}
	return said
}

// Describes reports whether the system prompt tells what a skill is for.
func (sel *Selection) Describes(skill string) bool { return saidIn(sel.SkillList)[skill] != "" }

// listSkills decides what the system prompt says of skills, and which skills are
// told with the message. The list is fixed with the session's front, like the
// directory: it is made anew with that, and when it names a skill that may not be
// taken up any more. A request that names skills has a list of its own. What a list
// leaves out is told with the messages that it fits.
func (sel *Selection) listSkills() {
	if len(sel.selector.skills.list) == 0 {
		return
	}
	sel.SkillList = sel.Request.SkillList
	said := saidIn(sel.SkillList)
	if sel.anew || sel.SkillList == "" || len(sel.Request.IncludeSkills) > 0 || sel.withdrawn(said) {
		sel.SkillList = ListSkills(sel.listed(), sel.skillTokens())
		said = saidIn(sel.SkillList)
	}
	if sel.active() {
		return // an explicit choice wins
	}
	var fit []*catalog.Skill
	switch {
	case sel.Recommended != nil:
		for _, name := range sel.Recommended {
			fit = append(fit, sel.selector.skills.list[sel.selector.skills.byName[name]])
		}
	case sel.leftOut(said):
		fit = sel.fittingSkills(sel.limit)
	}
	for _, skill := range fit {
		if said[skill.Name] == "" {
			sel.AnnouncedSkills = append(sel.AnnouncedSkills, skill)
		}
	}
}

// listed returns the skills that a new list is made of: those that are recommended,
// else all that are offered.
func (sel *Selection) listed() (list []*catalog.Skill) {
	s := &sel.selector.skills
	for i, skill := range s.list {
		if sel.offered(i) && (sel.Recommended == nil || slices.Contains(sel.Recommended, skill.Name)) {
			list = append(list, skill)
		}
	}
	return list
}

func (sel *Selection) skillTokens() int {
	limit := sel.selector.config.Skills
	if share := int(float64(sel.Request.Window) * directoryShare); sel.Request.Window > 0 && share < limit {
		limit = share
	}
	return limit
}

// withdrawn reports whether a list names a skill that exists and may not be taken
// up in this session.
func (sel *Selection) withdrawn(said map[string]string) bool {
	for name := range said {
		if i, ok := sel.selector.skills.byName[name]; ok && !sel.offered(i) {
			return true
		}
	}
	return false
}

// leftOut reports whether there is a skill that a list does not describe.
func (sel *Selection) leftOut(said map[string]string) bool {
	for i, skill := range sel.selector.skills.list {
		if said[skill.Name] == "" && sel.offered(i) {
			return true
		}
	}
	return false
}
