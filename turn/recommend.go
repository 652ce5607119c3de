package turn

import (
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
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

// tell decides which skills the model is told of. Where the recommender chooses
// them, those of the session's first question stand in the system prompt from
// then on, because a prompt that changes is not found in the provider's cache;
// what a later question needs is said in the note on its message.
func (t *run) tell() (opts prompt.Options, note string) {
	opts, note = t.in.Options, t.in.Note
	if !t.selector.Recommends() || len(opts.IncludeSkills) > 0 || opts.Strategy == prompt.Lite {
		return opts, note
	}
	all := t.selector.Catalog().Toolsets()
	if len(t.state.Skills) == 0 {
		if t.state.Skills = t.selected.Recommended; t.state.Skills == nil {
			t.state.Skills = skillNames(all)
		}
	}
	opts.IncludeSkills = t.state.Skills
	var more []string
	for _, name := range t.selected.Recommended {
		if !slices.Contains(t.state.Skills, name) && t.in.Text != "" {
			more = append(more, name)
		}
	}
	if len(more) > 0 {
		note = strings.TrimPrefix(note+"\nSkills that fit this message, to which the user can switch:\n"+prompt.SkillsSummary(all, more, nil), "\n")
	}
	return opts, note
}

func skillNames(skills []catalog.Toolset) []string {
	names := make([]string, len(skills))
	for i, s := range skills {
		names[i] = s.Name
	}
	return names
}
