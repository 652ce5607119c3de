package engine

import (
	"context"
	"errors"
	"sync"
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
func (j *job) takeOutcome(
	ctx context.Context, m message.Mail, s session.Session, yield func(turn.Event, error) bool,
) (needs *turnRun, ok bool) {
	if m.Wait && s.Turn.ID == "" && s.Waits(m.Outcome.Call.ID, session.Outcome) {
		j.engine.outcomes.forget(j.key, m.Outcome.Call.ID)
		return &turnRun{job: j, mail: m, session: s}, false
	}
	_, j.kept = j.engine.outcomes.store(ctx, j.key, s.State, *m.Outcome, j.item.ID)
	return nil, j.kept == nil || !errors.Is(j.kept, store.ErrLost) && yield(turn.Event{}, j.kept) && false
}

// receiveOutcome receives the outcome of a call that went on. It may come before the turn of the
// call has ended. The outcome is a message of the inbox: for the sender, who may wait for
// it, or for the next turn of the session to see.
func (r *turnRun) receiveOutcome(o turn.Outcome) {
	j := r.job
	asked := r.mail
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

// outcomes are what becomes of calls that go on after their turns.
type outcomes struct {
	box   *mailbox.Box
	now   func() time.Time
	calls sync.Map // of pending, while the session awaits the outcome
}

// expect says that this process brings the outcome of a call, or has it in the inbox.
func (o *outcomes) expect(key session.Key, call string) { o.calls.Store(pending{key, call}, nil) }

func (o *outcomes) expected(key session.Key, call string) bool {
	_, here := o.calls.Load(pending{key, call})
	return here
}

func (o *outcomes) forget(key session.Key, call string) { o.calls.Delete(pending{key, call}) }

// store stores an outcome that its session awaits, and ends its item; 0 means that it has none. The
// caller has the session to itself.
func (o *outcomes) store(
	ctx context.Context, key session.Key, s session.State, came turn.Outcome, item int64,
) (session.State, error) {
	end := store.End{ID: item, Result: message.Result(nil, nil)}
	if s.Waits(came.Call.ID, session.Outcome) { // else its call was not stored, its session was deleted, or it came before
		o.forget(key, came.Call.ID)
		s, end.Messages = came.Apply(s, o.now())
		end.Session, end.State = key, s
	}
	return s, o.box.Write(ctx, end)
}
