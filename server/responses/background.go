package responses

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// patience is how long a client that cancels a response waits for its end.
const patience = 10 * time.Second

// runs are the responses that this process works on in the background. The engine bounds them: each
// has a place in its shares.
type runs struct {
	mu sync.Mutex
	of map[session.Key]*run
}

// run is a response in the background. It is the writer of its turn.
type run struct {
	api  *API
	key  session.Key // of its record
	kept session.Key // of its conversation; empty if the client keeps that
	end  context.CancelFunc
	done chan struct{}
	out  *writer

	sender engine.Message

	followers atomic.Int32 // clients that follow it by another request

	mu        sync.Mutex // guards what follows, and out
	record    record
	begun     bool
	cancelled bool
}

// start works on a response unless this process does so already. Out is where the client follows it;
// nil if it does not.
func (a *API) start(r *http.Request, key session.Key, rec record, out *writer) *run {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	if known := a.runs.of[key]; known != nil {
		return known
	}
	if out == nil {
		out = &writer{request: &request{}, head: rec.Response, item: newItem()}
		out.request.Tools = rec.Response.Tools
		_ = out.request.read(new(clienttool.Offer)) // it was read before
	}
	out.detached = true
	m := *rec.Message
	m.Client, m.Trusted = rec.Client, rec.Trusted
	ctx, end := context.WithCancel(context.WithoutCancel(r.Context()))
	one := &run{api: a, key: key, sender: m, end: end, done: make(chan struct{}), record: rec, out: out}
	if m.History == nil {
		if who, err := a.engine.Agents().Whoami(m); err == nil {
			one.kept = who.Session
		}
	}
	out.keep = one.keep
	a.runs.of[key] = one
	named := m.Session
	if rec.Begins {
		named = ""
	}
	go func() {
		defer panics.Log(a.engine.Log(), "answering in the background")
		defer close(one.done)
		defer func() {
			end()
			out.close()
			a.runs.mu.Lock()
			defer a.runs.mu.Unlock()
			delete(a.runs.of, key)
		}()
		wire.RunIn(r.WithContext(ctx), a.engine, m, named, one)
	}()
	return one
}

// Event implements [wire.Writer].
func (o *run) Event(e turn.Event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.begun {
		if o.begun, o.record.Response.Status = true, inProgress; o.cancelled {
			go func() {
				defer panics.Log(o.api.engine.Log(), "cancelling a response")
				o.halt()
			}()
		}
	}
	if e.Done != nil && (e.Done.Stopped || o.cancelled) {
		o.out.cancelled = true
	}
	return o.out.Event(e) // it stores the response at the end
}

// Extend implements [wire.Extender].
func (o *run) Extend(x *wire.Extension) { o.out.Extend(x) }

// Fail implements [wire.Writer].
func (o *run) Fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, p := wire.ProblemOf(err)
	if o.kept != "" && !o.cancelled && (errors.Is(err, engine.ErrStopping) || errors.Is(err, engine.ErrKept)) {
		o.record.Response.Status = "queued"
		return // the message is kept, and a client that asks for the response takes it up again
	}
	o.out.head.Status, o.out.head.Error = "failed", &failure{p.Error.Code, p.Error.Message}
	if o.cancelled {
		o.out.head.Status, o.out.head.Error = cancelled, nil
	}
	o.keep(o.out.head)
	_ = o.out.finish() // the client may have gone
}

// keep stores how the response ended. The caller holds the lock.
func (o *run) keep(ended response) {
	o.record.Response, o.record.Message, o.record.Holder = ended, nil, ""
	err := o.api.save(context.Background(), o.key, o.sender, o.record)
	if err == nil {
		return
	}
	o.api.engine.Log().Error("a response could not be stored", "session", o.key, "error", err)
	o.record.Response.Output = []any{}
	o.record.Response.Status, o.record.Response.Error = "failed",
		&failure{"server_error", "the response could not be stored"}
	_ = o.api.save(context.Background(), o.key, o.sender, o.record) // the cause is logged
}

// halt ends the turn of the response.
func (o *run) halt() {
	if o.kept == "" {
		o.end()
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if _, err := o.api.engine.Sessions().Stop(ctx, o.kept); err != nil {
		o.api.engine.Log().Warn("a response could not be cancelled", "session", o.kept, "error", err)
	}
}

// now returns the response as far as it is known.
func (o *run) now() response {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := o.record.Response
	if o.cancelled && now.open() {
		now.Status = cancelled
	}
	return now
}

// of returns the run of a response in this process; nil if there is none.
func (a *API) run(key session.Key) *run {
	a.runs.mu.Lock()
	defer a.runs.mu.Unlock()
	return a.runs.of[key]
}

// current returns a response as it is now. One that no process works on any more is taken up again.
func (a *API) current(r *http.Request, found stored) response {
	known := a.run(found.key)
	if known == nil && found.Message != nil { // it may have ended since the record was read
		if again, _, err := a.load(r, found.sender, found.Response.ID); err == nil {
			found.record = again
		}
	}
	switch {
	case found.Message == nil:
	case known != nil:
		return known.now()
	case found.Message.History == nil:
		return a.start(r, found.key, found.record, nil).now() // it joins the message, which the inbox has
	case !a.works(r.Context(), found.record):
		found.Response.Status = "failed"
		found.Response.Error = &failure{"server_error", "the process that worked on it has ended; ask again"}
	}
	return found.Response
}

// stop ends a response that runs, and returns it.
func (a *API) stop(r *http.Request, found stored) response {
	now, one := a.current(r, found), a.run(found.key)
	if one == nil || !now.open() {
		return now
	}
	one.mu.Lock()
	one.cancelled = true
	halts := one.begun || one.kept == ""
	one.mu.Unlock()
	if halts { // one that has not begun ends when it does
		one.halt()
		select {
		case <-one.done:
		case <-r.Context().Done():
		case <-time.After(patience):
		}
	}
	return one.now()
}

// background stores a response that is to come, and answers with it, or with its events.
func (a *API) background(w http.ResponseWriter, r *http.Request, m engine.Message, out *writer) {
	rec := out.record(&m)
	rec.Holder, rec.Message, rec.Response.Status = a.holder(), &m, "queued"
	if m.History == nil {
		m.IdempotencyKey = out.head.ID
	}
	key, err := a.keyOf(m, out.head.ID)
	if err == nil {
		err = a.save(r.Context(), key, m, rec)
	}
	switch {
	case err != nil:
		wire.Fail(w, err)
	case out.stream == nil:
		wire.Reply(w, http.StatusOK, a.start(r, key, rec, nil).now())
	default:
		<-a.start(r, key, rec, out).done
	}
}
