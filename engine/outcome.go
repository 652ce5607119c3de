package engine

import (
	"context"
	"errors"
	"time"

	"github.com/etui-run/etui/mailbox"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// maxStore is how long the store may be away when an outcome comes. After
// that the outcome counts as lost.
const maxStore = time.Minute

// takeOutcome stores the outcome of a call for the next turn to see. A sender who waits for it has a
// turn at once, unless one waits for a person.
func (j *job) takeOutcome(ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool) (needs *turnRequest, ok bool) {
	if m.Wait && s.Turn.ID == "" && s.Waits(m.Outcome.Call.ID, session.Outcome) {
		j.engine.pending.Delete(pending{j.key, m.Outcome.Call.ID})
		return &turnRequest{m, s}, false
	}
	_, j.kept = j.engine.storeOutcome(ctx, j.key, s.State, *m.Outcome, j.item.ID)
	return nil, j.kept == nil || !errors.Is(j.kept, store.ErrLost) && yield(turn.Event{}, j.kept) && false
}

// receiveOutcome receives the outcome of a call that went on. It may come before the turn of the
// call has ended. The outcome is a message of the inbox: for the sender, who may wait for
// it, or for the next turn of the session to see.
func (j *job) receiveOutcome(asked message.Mail, o turn.Outcome) {
	j.engine.box.Running.Begin()
	go func() {
		defer j.engine.box.Running.End()
		err := j.engine.box.Guard("storing the outcome of a call", j.key, func() error {
			ctx, cancel := context.WithTimeout(context.Background(), maxStore)
			defer cancel()
			asked.Text, asked.Files, asked.Answers, asked.IdempotencyKey = "", nil, nil, ""
			asked.Kind, asked.Outcome = message.KindOutcome, o.Storable()
			for pause := mailbox.FirstPause; ; pause = min(2*pause, mailbox.LastPause) {
				item, _, err := j.engine.inbox.Accept(ctx, j.key, asked)
				if err == nil {
					j.ticket.Hand(item)
				}
				if !errors.Is(err, ErrStore) {
					return err
				}
				select { // one that was stored all the same is not awaited any more when it comes again
				case <-time.After(pause):
				case <-ctx.Done():
					return err
				case <-j.engine.box.Life().Done():
					return err
				}
			}
		})
		if err != nil {
			j.engine.config.Log.Error("the outcome of a call could not be stored", "session", j.key, "error", err)
		}
	}()
}

// pending names a call of this process that goes on after its turn.
type pending struct {
	session session.Key
	call    string
}

// storeOutcome stores an outcome that its session awaits, and ends its item; 0 means that
// it has none. The caller has the session to itself.
func (e *Engine) storeOutcome(ctx context.Context, key session.Key, s session.State, o turn.Outcome, item int64) (session.State, error) {
	end := store.End{ID: item, Result: message.Result(nil, nil)}
	if s.Waits(o.Call.ID, session.Outcome) { // else its call was not stored, its session was deleted, or it came before
		e.pending.Delete(pending{key, o.Call.ID})
		s, end.Messages = o.Arrived(s, e.config.Now())
		end.Session, end.State = key, s
	}
	return s, e.box.Write(ctx, end)
}
