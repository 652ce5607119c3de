package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/outbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// takeAnswer lets a turn go on with what people say about its calls.
func (j *job) takeAnswer(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) (needs *turnRun, ok bool) {
	if text, is := approval.Parse(m.Text); is {
		return j.decided(ctx, m, s, text, yield)
	}
	begun, err := j.take(ctx, s, m)
	if err != nil {
		j.late(ctx, m, s.Key, err)
		return nil, j.refuse(ctx, err, yield)
	}
	if end, direct := given(s, begun.Answers); direct {
		end.ID, end.Result = j.item.ID, message.Result(nil, nil)
		if err := j.engine.box.Write(ctx, end); err != nil {
			return nil, j.refuse(ctx, err, yield)
		}
		return nil, true
	}
	return &turnRun{job: j, mail: begun, session: s}, false
}

// late tells somebody who answered in another conversation that somebody else was faster.
func (j *job) late(ctx context.Context, m message.Mail, key session.Key, why error) {
	from, err := j.engine.answers.From(m)
	again := j.item.Tries > 0 // it may be the answer that counted, before the process ended
	if err != nil || from == key || m.Background || again || !errors.Is(why, message.ErrNothingAwaited) {
		return
	}
	for _, said := range m.Answers {
		if _, err = j.engine.approvals.Get(ctx, said.ID); err == nil {
			continue
		}
		text := approval.Why(err, j.engine.inquiries.Language(ctx, m, from, ""))
		err = j.engine.outbox.Post(ctx, from, nil, text, fmt.Sprintf("late-%s-%d", said.ID, j.item.ID))
		if err != nil && !errors.Is(err, outbox.ErrNowhere) { // a client that reads no messages sees that nothing waits any more
			j.engine.config.Log.WarnContext(ctx, "somebody who answered too late is not told", "id", said.ID, "error",
				err)
		}
	}
}

// given keeps the answer to a call that a client made without a turn; false if it is to another one.
func given(s session.Session, answers []session.Answer) (end store.End, direct bool) {
	end.Session, end.State = s.Key, s.Clone()
	for i, a := range end.State.Awaits {
		if a.Apart != nil && a.Apart.Direct && len(answers) == 1 && answers[0].Call == a.Call {
			apart := *a.Apart
			apart.Given = &answers[0]
			end.State.Awaits[i].For, end.State.Awaits[i].Apart = session.Again, &apart
			return end, true
		}
	}
	return end, false
}

// decided answers a message that approves or denies a call: of its own conversation, whose
// turn goes on for it, or of another one, where that happens in the background.
func (j *job) decided(
	ctx context.Context, m message.Mail, s session.Session, text approval.Command, yield func(turn.Event, error) bool,
) (needs *turnRun, ok bool) {
	said, says, err := j.engine.answers.Decide(ctx, s, m, text)
	if err == nil && said.To == s.Key {
		if said, err = j.take(ctx, s, said); err == nil {
			return &turnRun{job: j, mail: said, session: s}, false
		}
		says = approval.Why(err, j.engine.inquiries.Language(ctx, m, s.Key, m.Text))
	} else if err == nil {
		waits := m.Wait && slices.ContainsFunc(
			s.Awaits, func(a session.Await) bool { return a.For == session.SubAgent && a.Session == said.To },
		)
		if waits { // before the sub-agent goes on: it may end at once
			j.ticket.ExpectFrom(said.To)
		}
		if err = j.engine.inbox.Submit(ctx, said.To, said); err != nil && waits {
			j.engine.box.Nothing(said.To)
		}
	}
	if errors.Is(err, ErrStore) {
		return nil, j.refuse(ctx, err, yield)
	}
	done := turn.End{Reply: says}
	if err := j.engine.box.Write(
		ctx, store.End{ID: j.item.ID, Result: message.Result(&done, nil), Deliver: len(m.Reply) > 0},
	); err != nil {
		return nil, j.refuse(ctx, err, yield)
	}
	return nil, yield(turn.Event{Text: done.Reply}, nil) && yield(turn.Event{Done: &done}, nil)
}

// take returns the message that a session's turn began with, with the answers of another one, and
// makes its agent that of the job.
func (j *job) take(ctx context.Context, s session.Session, m message.Mail) (message.Mail, error) {
	a, begun, err := j.engine.answers.Take(ctx, s, m)
	if err == nil {
		j.agent = a
	}
	return begun, err
}
