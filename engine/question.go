package engine

import (
	"context"
	"strings"

	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// takeQuestion answers a text: with a command, or with the turn that is returned. While a turn waits
// for the answer to a question of its own, a text is that answer.
func (j *job) takeQuestion(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) (needs *turnRun, ok bool) {
	m = j.engine.inbox.Newest(j.item.ID, m)
	if m.Origin != nil {
		switch gone, err := j.engine.subAgents.Orphan(ctx, m.Origin, s.Key); {
		case err != nil:
			return nil, j.refuse(ctx, err, yield)
		case gone:
			return nil, j.refuse(ctx, turn.ErrStopped, yield)
		}
	}
	if err := j.engine.answers.CheckResults(s, m); err != nil {
		return nil, j.refuse(ctx, err, yield)
	}
	if !j.commands(m, s) {
		if m = j.engine.answers.FromText(ctx, m, s); len(m.Answers) > 0 {
			return j.takeAnswer(ctx, m, s, yield)
		}
	}
	if m.Origin == nil { // else the names were checked before
		if err := j.engine.agents.CheckNames(j.agent, m, s); err != nil {
			return nil, j.refuse(ctx, err, yield)
		}
	}
	switch name, _, _ := strings.Cut(m.Text, " "); {
	case m.Text == message.Compact:
		return nil, j.compact(ctx, m, s, yield)
	case m.Text == message.Anew:
		return nil, j.anew(ctx, m, s, yield)
	case m.Text == message.Run && (s.Flow != nil || len(j.engine.agents.Workflows().Names()) > 0):
		return j.goOn(ctx, m, s, yield)
	case name == message.Switch:
		return nil, j.switchSkill(ctx, m, s, yield)
	}
	return &turnRun{job: j, mail: m, session: s}, false
}
