package turn

import (
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn/internal/arguments"
)

// maxUses bounds the calls of a session that the recommender looks at, newest first.
const maxUses = 200

// uses returns the successful calls of a conversation with the time of the message that
// led to them.
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
			if !c.Client {
				calls[c.ID] = c
			}
		}
		if m.Result != nil && !m.Result.Failed {
			if c, ok := calls[m.Result.CallID]; ok {
				used = append(used, selection.Use{Tool: reached(c), Time: now})
			}
		}
	}
	return used[max(0, len(used)-maxUses):]
}

// reached returns the name of the tool that a call means.
func reached(c chat.Call) string {
	if c.Name == selection.CallTool {
		if name, _, err := arguments.Target(c.Arguments); err == nil {
			return name
		}
	}
	return c.Name
}

// note returns the host's words with the message: an outcome, and the skills that fit
// the message and are missing in the system prompt. The system prompt itself stays the
// same, because a changed one is not found in the provider's cache. Lines that an
// earlier message still shows are not repeated.
func (f *front) note() string {
	c := f.conv
	var said string
	if c.in.Outcome != nil {
		said = c.in.Outcome.Note()
	}
	if c.in.Text == "" || c.in.Options.Strategy == prompt.Lite {
		return said
	}
	var more []string
	for _, skill := range f.selected.AnnouncedSkills {
		line := selection.SkillLine(skill)
		if !slices.ContainsFunc(c.in.kept, func(m chat.Message) bool {
			return strings.Contains("\n"+m.Note+"\n", "\n"+line+"\n")
		}) {
			more = append(more, line)
		}
	}
	if len(more) == 0 {
		return said
	}
	return strings.TrimPrefix(said+"\nSkills that fit this message, to be taken up with "+selection.UseSkill+":\n"+strings.Join(more, "\n"), "\n")
}
