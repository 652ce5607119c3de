package engine

import (
	"context"
	"crypto/rand"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// This file makes a request that a program repeats one message, also without an
// IdempotencyKey: see [Message.Received].

// lingering is how long a turn goes on when its sender has gone: programs repeat a request within
// some seconds.
const lingering = 10 * time.Second

// goOnWith makes a question that the same sender has just asked, and that got no answer because
// its turn failed or was cancelled, the turn of a message: it goes on where that one ended.
func (r *turnRun) goOnWith() {
	j := r.job
	m, s := &r.mail, &r.session
	at := len(s.Messages) - 1
	for at >= 0 && s.Messages[at].Role != chat.User {
		at--
	}
	if at < 0 || s.Turn.ID != "" || s.Flow.Runs() || m.Workflow != "" || len(s.Awaits)+len(m.Results) > 0 ||
		m.History != nil || m.Outcome != nil || len(m.Answers) > 0 {
		return
	}
	asked, last := s.Messages[at], s.Messages[len(s.Messages)-1]
	if last.Role == chat.Assistant && len(last.Calls) == 0 || asked.Text != m.Text ||
		asked.User != j.engine.people.Sender(m.Caller()).Record() || asked.Channel != m.Channel ||
		!slices.EqualFunc(asked.Files, m.Files, func(a, b chat.File) bool { return a.SHA256 == b.SHA256 }) ||
		j.engine.config.Now().Sub(asked.Time) > mailbox.LostFor {
		return
	}
	s.Turn = session.Turn{ID: rand.Text(), Request: m.Stored()}
	m.Text, m.Files, j.left = "", nil, true
}

// linger ends a turn some time after its sender has gone, unless the sender has come back or
// another one has joined; at once when the conversation goes on with another message.
func (s *sender) linger(ctx context.Context, end context.CancelCauseFunc) (stop func()) {
	left, item := make(chan struct{}), s.job.item
	gone := context.AfterFunc(ctx, func() {
		defer panics.Log(s.engine.config.Log, "waiting for a sender to come back")
		s.job.unheard.Store(true)
		for alone := mailbox.LookAgain; ; alone += mailbox.LookAgain {
			select {
			case <-time.After(mailbox.LookAgain):
			case <-left:
				return
			}
			switch {
			case s.engine.box.Answers.Senders(item.ID) > 1:
				alone = 0
			case s.goesOn(item), alone >= lingering && !s.engine.box.Wanted(item.Session):
				end(context.Cause(ctx))
				return
			}
		}
	})
	return func() { gone(); close(left) }
}

// goesOn reports whether people have sent something else to the session of an item.
func (s *sender) goesOn(item store.Item) bool {
	ctx, cancel := context.WithTimeout(s.engine.box.Life(), maxStore)
	defer cancel()
	list, err := s.engine.config.Store.Items(ctx,
		store.ItemFilter{Session: item.Session, State: store.Waiting, Limit: 2})
	return err == nil &&
		slices.ContainsFunc(list, func(i store.Item) bool { return i.ID != item.ID && i.Priority == store.People })
}
