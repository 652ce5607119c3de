package turn

import (
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
)

// maxUses is how many of a session's calls the recommender looks at, the newest.
const maxUses = 200

// uses returns the calls of a conversation that did what they were asked to,
// with the time of the message that led to them.
func uses(messages []chat.Message) []selection.Use {
	var used []selection.Use
	var now time.Time
	calls := map[string]chat.Call{}
	for _, m := range messages {
		if m.Role == chat.User {
			now = m.Time
			clear(calls) // results answer calls of their own turn
		}
		for _, c := range m.Calls {
			calls[c.ID] = c
		}
		if m.Result != nil && !m.Result.Failed {
			if c, ok := calls[m.Result.CallID]; ok {
				used = append(used, selection.Use{Tool: reached(c), Time: now})
			}
		}
	}
	return used[max(0, len(used)-maxUses):]
}

// reached is the name of the tool that a call means.
func reached(c chat.Call) string {
	if c.Name == selection.CallTool {
		if name, _, err := target(c.Arguments); err == nil {
			return name
		}
	}
	return c.Name
}

// note is what the host says with the message, and the skills that fit it and
// that the system prompt does not describe: that one stays as it is, because a
// prompt that changes is not found in the provider's cache. What a message that is
// still sent said before is not said again.
func (t *run) note() string {
	var said string
	if t.in.Outcome != nil {
		said = t.in.Outcome.Note()
	}
	if t.in.Text == "" || t.in.Options.Strategy == prompt.Lite {
		return said
	}
	var more []string
	for _, skill := range t.selected.AnnouncedSkills {
		line := selection.SkillLine(skill)
		if !slices.ContainsFunc(t.in.kept, func(m chat.Message) bool { return strings.Contains(m.Note, line) }) {
			more = append(more, line)
		}
	}
	if len(more) == 0 {
		return said
	}
	return strings.TrimPrefix(said+"\nSkills that fit this message, to be taken up with "+selection.UseSkill+":\n"+strings.Join(more, "\n"), "\n")
}
