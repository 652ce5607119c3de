package engine

import (
	"context"
	"strings"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/engine/internal/follow"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// following is where the events go of a turn that is taken up before a message is answered:
// to the sender of [Run], or of the message if the turn is its own.
func (j *job) following(m message.Mail, f *follow.Follower) hears {
	return func(item int64) func(turn.Event, error) bool {
		switch {
		case item != 0 && item == j.item.ID:
			return f.HandOpen
		case m.Text != message.Run:
			return silent
		}
		return func(e turn.Event, err error) bool {
			if e.Done != nil {
				j.resumed = e.Done
			}
			return f.Hand(e, err)
		}
	}
}

// goOn answers [Run] without a name: it goes on with the workflow of the session, or says how
// it ended.
func (j *job) goOn(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) (*turnRun, bool) {
	says := ""
	switch {
	case j.resumed != nil: // the sender has seen it
		if err := j.engine.box.Write(
			ctx, store.End{ID: j.item.ID, Result: message.Result(j.resumed, nil), Deliver: j.replies},
		); err != nil {
			return nil, j.refuse(ctx, err, yield)
		}
		return nil, true
	case s.Flow == nil:
		names := strings.Join(j.engine.agents.Workflows().Names(), ", ")
		says = phrase.In(m.Language, "No workflow has run here. %s NAME begins one: %s.", message.Run, names)
	case s.Turn.ID != "" && turn.PhaseOf(s) == turn.Waiting:
		var waiting []session.Await
		for _, a := range s.Awaits {
			if a.For == session.Approval && a.Apart == nil {
				waiting = append(waiting, a)
			}
		}
		waiting = j.engine.inquiries.Describe(ctx, m, s.Key, m.Text, waiting)
		return nil, j.ends(ctx, m, s, turn.End{Reply: approval.Text(waiting), Awaits: waiting, Flow: s.Flow.Brief()},
			yield)
	case s.Flow.Runs():
		m.Text = "Go on."
		return &turnRun{job: j, mail: m, session: s}, false
	default:
		says = strings.TrimSpace(
			s.Flow.Reply + "\n\n" + workflow.PastEnding(m.Language, s.Flow),
		)
	}
	return nil, j.ends(ctx, m, s, turn.End{Reply: says, Flow: s.Flow.Brief()}, yield)
}
