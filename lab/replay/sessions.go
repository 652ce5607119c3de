package replay

import (
	"encoding/json"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
)

// FromSession makes a conversation from a stored session: the questions, and as
// needs the calls that did not fail, with their arguments and results. A session
// does not record who spoke and where; the caller fills that in. A turn that
// switched the skill has the new one from its beginning; if none did, the session's
// skill applies to all turns. A session without a question gives no turns.
func FromSession(s session.Session) Conversation {
	c := Conversation{ID: string(s.Key)}
	var last chat.Message // of the user
	targets := map[string]Need{}
	switched := false
	for _, m := range s.Messages {
		if m.Role == chat.User && m.Text != "" {
			t := Turn{Text: m.Text}
			if !last.Time.IsZero() && m.Time.After(last.Time) {
				t.Pause = Duration(m.Time.Sub(last.Time))
			}
			c.Turns = append(c.Turns, t)
			last = m
		}
		if len(c.Turns) == 0 {
			continue
		}
		t := &c.Turns[len(c.Turns)-1]
		if m.Role == chat.Assistant && m.Text != "" {
			t.Answer = m.Text
		}
		for _, call := range m.Calls {
			targets[call.ID] = target(call)
		}
		if r := m.Result; r != nil && !r.Failed {
			switch n := targets[r.CallID]; {
			case n.Name == selection.UseSkill:
				var to struct{ Name string }
				_ = json.Unmarshal(n.Arguments, &to) // the call succeeded, so they have a name
				t.Skill, switched = to.Name, true
			case n.Name != "" && !selection.Meta(n.Name) && len(t.Tools) < maxNeeds:
				n.Result = r.Text
				t.Tools = append(t.Tools, n)
			}
		}
	}
	if len(c.Turns) > maxTurns {
		c.Turns = c.Turns[len(c.Turns)-maxTurns:]
	}
	if len(c.Turns) > 0 && !switched {
		c.Turns[0].Skill = s.Skill
	}
	return c
}

// target returns the tool that a call reached.
func target(call chat.Call) Need {
	if call.Name != selection.CallTool {
		return Need{Name: call.Name, Arguments: call.Arguments}
	}
	var through struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if json.Unmarshal(call.Arguments, &through) != nil {
		return Need{}
	}
	return Need{Name: through.Name, Arguments: through.Arguments}
}
