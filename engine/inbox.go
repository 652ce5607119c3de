package engine

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/span"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// accept puts a message into the mailbox of its session. It reports whether the message
// is new: with an idempotency key it may be there already.
func (e *Engine) accept(ctx context.Context, key session.Key, m mail) (store.Item, bool, error) {
	i := store.Item{Session: key, User: e.sender(m).Record(), Holder: e.holder, Priority: priority(m)}
	if m.IdempotencyKey != "" {
		i.Key, i.Digest = hashed([]string{m.Client, m.Channel, m.Account, m.Chat, m.Session, i.User, m.IdempotencyKey}), digest(m.Message)
	}
	if m.joins() {
		i.Key, i.Digest = e.passing(m), digest(m.Message)
	}
	if m.Trace == "" && e.config.Tracer != nil { // the turn of another message sends it
		m.Trace = span.Parent(ctx)
	}
	rec := m
	rec.Wait, rec.IdempotencyKey = false, ""
	var err error
	if i.Message, err = json.Marshal(rec); err != nil {
		return i, false, fmt.Errorf("%w: %w", ErrInvalid, err)
	}
	digest := i.Digest
	i, fresh, err := e.config.Store.Accept(ctx, i)
	switch {
	case err != nil && ctx.Err() == nil:
		return i, false, fmt.Errorf("%w, so the message was not accepted: %w", ErrStore, err)
	case err == nil && i.Digest != digest:
		return i, false, fmt.Errorf("%w: send this one with a key of its own", ErrKeyReused)
	}
	return i, fresh, err
}

// passing is the key of a message that others may join: those of the same client, sender and
// session. Each guest has a session of their own.
func (e *Engine) passing(m mail) string {
	return store.Passing + hashed([]string{m.Client, string(m.To), e.sender(m).Record(), digest(m.Message)})
}

func priority(m mail) store.Priority {
	if m.Background {
		return store.Background
	}
	return store.People
}

// digest tells a message from another one with the same key.
func digest(m Message) string {
	m.Wait, m.IdempotencyKey, m.Files, m.Accepted = false, "", chat.WithoutData(m.Files), nil
	return hashed(m)
}

func hashed(value any) string {
	raw, _ := json.Marshal(value) // texts, numbers and lists of them
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

// message returns the message of an item.
func (e *Engine) message(i store.Item) (*agent, mail, error) {
	m, err := read(i.Message)
	if err != nil {
		return nil, m, err
	}
	m.To = i.Session // whatever the configuration says of its sender by now: its turn has that one to itself
	a, err := e.addressed(m)
	return a, m, err
}

// result is how a message ended, as the inbox keeps it: with Done, or with an error of a
// kind.
type result struct {
	Done  *turn.Done `json:"done,omitempty"`
	Error string     `json:"error,omitempty"`
	Kind  string     `json:"kind,omitempty"`
	// Files come with the reply. Their bytes are those of the session's messages.
	Files []chat.File `json:"files,omitempty"`
}

// kinds are the errors that a client may get again.
var kinds = []struct {
	name string
	err  error
}{
	{"unknown", ErrUnknown}, {"invalid", ErrInvalid}, {"open", ErrOpen}, {"nothing_awaited", ErrNothingAwaited}, {"parked", ErrParked}, {"stopped", turn.ErrStopped}, {"not_yours", ErrNotYours},
	{"auth", model.ErrAuth}, {"billing", model.ErrBilling}, {"no_model", model.ErrNoModel}, {"rate_limited", model.ErrRateLimited}, {"too_long", model.ErrTooLong},
	{"request", model.ErrRequest}, {"unsupported", model.ErrUnsupported}, {"unavailable", model.ErrUnavailable},
}

func resultOf(done *turn.Done, err error) json.RawMessage { return resultWith(done, err, nil) }

func resultWith(done *turn.Done, err error, files []chat.File) json.RawMessage {
	r := result{Done: done, Files: files}
	if err != nil {
		r.Error = err.Error()
		for _, k := range kinds {
			if errors.Is(err, k.err) {
				r.Kind = k.name
				break
			}
		}
	}
	raw, _ := json.Marshal(r) // texts and numbers
	return raw
}

// again is an error that an earlier message got.
type again struct {
	text string
	kind error // nil when it is of none
}

func (a *again) Error() string { return a.text }
func (a *again) Unwrap() error { return a.kind }

// repeat yields the result of an item that has ended: its reply as one text.
func repeat(i store.Item, yield func(turn.Event, error) bool) bool {
	if i.State == store.Parked {
		return yield(turn.Event{}, fmt.Errorf("%w: %s", ErrParked, i.Reason)) && false
	}
	var r result
	if err := json.Unmarshal(i.Result, &r); err != nil {
		return yield(turn.Event{}, fmt.Errorf("the result of the message cannot be read: %w", err)) && false
	}
	if r.Done == nil {
		failed := &again{text: r.Error}
		for _, k := range kinds {
			if k.name == r.Kind {
				failed.kind = k.err
			}
		}
		return yield(turn.Event{}, failed) && false
	}
	return (r.Done.Reply == "" || yield(turn.Event{Text: r.Done.Reply}, nil)) && yield(turn.Event{Done: r.Done}, nil)
}

// write stores a step, and ends the item with it if it is the last one: then its senders
// that wait here learn it. An item that has ended already does not keep the step from the
// session.
func (e *Engine) write(ctx context.Context, end store.End) error {
	err := e.put(ctx, end)
	if err == nil && end.ID != 0 {
		e.answers.end(end.ID, end.Result, e.config.Now())
		e.inLine.tell(end.ID, store.ErrEnded)
	}
	return err
}

// put is write without telling the senders.
func (e *Engine) put(ctx context.Context, end store.End) error {
	ctx = context.WithoutCancel(ctx) // what was done is stored even when the caller has gone
	err := store.ErrEnded
	if end.ID != 0 {
		err = e.config.Store.Finish(ctx, end)
		if err == nil && end.Deliver {
			e.answered()
		}
	}
	if errors.Is(err, store.ErrEnded) {
		err = nil
		if end.Session != "" {
			err = e.config.Store.Append(ctx, end.Session, end.State, end.Messages...)
		}
	}
	if err != nil {
		return fmt.Errorf("storing the session: %w: %w", ErrStore, err)
	}
	return nil
}

// item returns an item as it is now. One that is gone has ended.
func (e *Engine) item(ctx context.Context, id int64) (store.Item, error) {
	if id == 0 { // a filter without an ID matches all
		return store.Item{}, store.ErrEnded
	}
	list, err := e.config.Store.Items(ctx, store.ItemFilter{ID: id})
	if err != nil || len(list) == 0 {
		return store.Item{}, cmp.Or(err, store.ErrEnded)
	}
	return list[0], nil
}

// maxTries is how often an item is taken up whose turn had stored nothing when its process
// ended, or panicked. After that it is parked: the item itself is probably the cause. If an
// operator has it tried again, it is taken up as often once more. A
// turn that has stored a step counts for itself, see [turn.Runner.Run].
const maxTries = 3

// takeUp works on an item that waits and that nobody works on: another process accepted
// it, or its turn could not be stored. The caller has the session to itself. An error
// means that the item still waits. Crashed says that the last attempt ended unexpectedly.
func (e *Engine) takeUp(ctx context.Context, i store.Item, crashed bool) error {
	if crashed || i.Holder != e.holder {
		var err error
		if i, err = e.hold(ctx, i, crashed && i.Holder != ""); err != nil || i.State == store.Parked {
			return err
		}
	}
	a, m, err := e.message(i)
	if err != nil { // its agent is gone, say
		e.config.Log.ErrorContext(ctx, "a message of the inbox cannot be answered", "item", i.ID, "session", i.Session, "error", err)
		return e.write(ctx, store.End{ID: i.ID, Result: resultOf(nil, err), Deliver: len(m.Reply) > 0})
	}
	ctx, ended := e.stops.begin(ctx, i.Session)
	defer ended()
	if strings.HasPrefix(i.Key, store.Passing) { // its sender may send it again
		e.answers.join(i, nil)
		defer e.answers.leave(i.ID)
	}
	r := &job{engine: e, agent: a, key: i.Session, item: i, late: newLate(false)}
	defer r.late.close()
	r.answer(ctx, &m, silent)
	e.handOver(i, r.kept)
	return r.kept
}

// hold makes an item this process's own, or parks it if its turn ended unexpectedly too
// often. Crashed says that it ended so once more.
func (e *Engine) hold(ctx context.Context, i store.Item, crashed bool) (store.Item, error) {
	if crashed {
		i.Tries++
	}
	if crashed && i.Tries%(maxTries+1) == 0 {
		i.State, i.Reason = store.Parked, fmt.Sprintf("its turn ended unexpectedly, %d times", i.Tries)
		e.config.Log.ErrorContext(ctx, "message parked", "item", i.ID, "session", i.Session, "reason", i.Reason)
		if err := e.tellParked(ctx, i); err != nil {
			return i, err
		}
	}
	if i.Holder != e.holder {
		e.meter.retry("left")
	}
	i.Holder = e.holder
	return i, e.config.Store.Update(ctx, i)
}

// handOver gives an item up that was suspended because this process stops: another one may
// take it up at once, and nobody counts that as an unexpected end.
func (e *Engine) handOver(i store.Item, why error) {
	if i.ID == 0 || !errors.Is(why, turn.ErrSuspended) {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), handingOver)
	defer cancel()
	now, err := e.item(ctx, i.ID)
	if errors.Is(err, store.ErrEnded) || err == nil && (now.State != store.Waiting || now.Holder != e.holder) {
		return
	}
	e.left.Add(1)
	if err == nil {
		now.Holder = ""
		err = e.config.Store.Update(ctx, now)
	}
	if err != nil {
		e.config.Log.Debug("a message was not handed over", "item", i.ID, "session", i.Session, "error", err)
	}
}

// handingOver is how long that may take while etui stops.
const handingOver = time.Second

// tellParked tells the sender of a message that it is about to be parked, on the channel that
// it came from. It is told once, whatever ends the process in between. An error means that the
// store failed.
func (e *Engine) tellParked(ctx context.Context, i store.Item) error {
	var posted error
	if _, m, err := e.message(i); err == nil && len(m.Reply) > 0 && m.Outcome == nil {
		text := fmt.Sprintf("This message could not be answered, again and again, and was set aside: “%s”. An operator can have it tried again.", printable.Line(m.Text, 100))
		posted = e.Post(ctx, i.Session, m.Reply, text, fmt.Sprintf("parked-%d-%d", i.ID, i.Tries))
	}
	if posted == nil || errors.Is(posted, ErrStore) {
		return posted
	}
	e.config.Log.ErrorContext(ctx, "the sender of a parked message was not told", "item", i.ID, "session", i.Session, "error", posted)
	return nil
}

// silent receives events for which nobody waits.
func silent(turn.Event, error) bool { return true }

// hears returns who receives the events of an item's turn.
type hears func(item int64) func(turn.Event, error) bool

func nobody(int64) func(turn.Event, error) bool { return silent }

const (
	// firstPause and lastPause are how long an item rests between two attempts to store its
	// turn: twice as long each time. The first attempt is at once.
	firstPause, lastPause = 20 * time.Millisecond, 10 * time.Second
)

// errPanic is a panic of a turn.
var errPanic = errors.New("the engine failed unexpectedly")

// guard runs f and makes a panic an error, so that one turn does not end the process and
// so the turns of all others.
func (e *Engine) guard(doing string, key session.Key, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			_ = panics.Report(e.config.Log.With("session", key), doing, p) // it is logged
			err = errPanic
		}
	}()
	return f()
}

// later works on an item until it has ended, in the background. It takes over the place
// in the session, so that the messages behind it wait as they would for its turn. When the
// engine stops, only the end of a turn is still stored.
func (e *Engine) later(i store.Item, why error, place *place) {
	e.running.begin()
	e.here.Add(1)
	go func() {
		defer e.running.end()
		defer e.here.Add(-1)
		defer place.leave()
		for pause := time.Duration(0); why != nil; pause = min(max(2*pause, firstPause), lastPause) {
			if pause == lastPause {
				e.config.Log.Warn("a message still waits", "item", i.ID, "session", i.Session, "error", why)
			}
			var left *unwritten
			until, unwrote := e.begins, errors.As(why, &left) && !errors.Is(why, store.ErrLost)
			if unwrote {
				until = e.life
			}
			select {
			case <-time.After(pause):
			case <-until.Done():
			}
			if until.Err() != nil {
				e.handOver(i, turn.ErrSuspended)
				return
			}
			cause := "store"
			if errors.Is(why, errPanic) {
				cause = "panic"
			}
			e.meter.retry(cause)
			why = e.guard("taking up a message", i.Session, func() error {
				if err := place.waitFor(until, store.Claim{Item: i.ID}); err != nil {
					if unwrote {
						err = &unwritten{left.end, left.turn, err}
					}
					return err
				}
				if unwrote {
					if err := e.writeAgain(e.life, left); err != nil {
						return err
					}
				}
				return e.retry(e.life, i.ID, errors.Is(why, errPanic))
			})
			if errors.Is(why, store.ErrEnded) {
				return // another process has answered it
			}
		}
	}()
}

// retry takes an item up, after what its session has left. The caller has the session to
// itself. Crashed says that the last attempt here ended unexpectedly.
func (e *Engine) retry(ctx context.Context, id int64, crashed bool) error {
	i, err := e.item(ctx, id)
	if errors.Is(err, store.ErrEnded) {
		return nil
	}
	if err == nil && i.State == store.Waiting {
		err = e.finish(ctx, i.Session, crashed, nobody) // it may be the item's own turn
	}
	if err != nil {
		return err
	}
	if i, err = e.item(ctx, id); errors.Is(err, store.ErrEnded) || err == nil && i.State != store.Waiting {
		return nil
	}
	if err != nil {
		return err
	}
	leave, err := e.turns.enter(ctx, "", i.User, i.Priority, unbounded)
	if err != nil {
		return err
	}
	defer leave()
	return e.takeUp(ctx, i, crashed)
}
