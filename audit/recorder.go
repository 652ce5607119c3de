package audit

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/etui-run/etui/secret"
)

const (
	// maxQueue is how many calls may wait for being written; one more is dropped.
	maxQueue = 1024
	// maxBatch is how many are written at once.
	maxBatch = 64
	// maxCounted is how many skills are counted; others are not.
	maxCounted = 20_000
	// maxWriting is how long a batch may take; then it is given up.
	maxWriting = 10 * time.Second
)

// Recorder counts calls and hands them, and decisions about calls, to a log: one
// after the other and in the order in which they came. It is safe for concurrent
// use.
type Recorder struct {
	log       Log
	decisions DecisionLog // the log, if it keeps them
	secrets   *secret.Known
	slog      *slog.Logger
	queue     chan *raw

	mu      sync.Mutex // guards what follows
	counts  map[string]*counter
	dropped int
}

// raw is a call, or a decision about one, whose arguments are still to be redacted.
type raw struct {
	call     Call
	decision *Decision
	args     json.RawMessage
	err      error
}

// NewRecorder returns a recorder that keeps calls in log; a nil one keeps nothing,
// and calls are counted only. What looks like a secret is hidden, and so are the
// secrets that are known; nil knows none. A nil slog discards. What is recorded
// waits until [Recorder.Run] runs.
func NewRecorder(log Log, secrets *secret.Known, l *slog.Logger) *Recorder {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	r := &Recorder{log: log, secrets: secrets, slog: l, queue: make(chan *raw, maxQueue), counts: map[string]*counter{}}
	r.decisions, _ = log.(DecisionLog)
	return r
}

// Record takes a call that has ended; its Arguments, Error and Took are made of
// the other parameters. It never waits: while 1,024 calls wait for being written,
// one more is dropped, and counted as dropped.
func (r *Recorder) Record(c Call, args json.RawMessage, took time.Duration, err error) {
	c.Took = float64(took.Microseconds()) / 1000
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.counts[c.Skill]
	if n == nil && len(r.counts) < maxCounted {
		n = &counter{}
		r.counts[c.Skill] = n
	}
	if n != nil {
		n.add(c.Outcome, c.Time, took)
	}
	if r.log == nil {
		return
	}
	r.enqueue(&raw{call: c, args: args, err: err})
}

// enqueue lets a record wait for being written. The caller holds the lock.
func (r *Recorder) enqueue(w *raw) {
	if len(w.args) > maxRead { // do not hold it while it waits
		w.args = json.RawMessage(strconv.Quote(r.cleaner().arguments(w.args)))
	}
	select {
	case r.queue <- w:
	default:
		r.dropped++
	}
}

func (r *Recorder) cleaner() cleaner { return cleaner{r.secrets.Redactor()} }

// Dropped is how many calls and decisions were not kept because they came too fast
// or could not be written.
func (r *Recorder) Dropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Counters sums up the calls of a skill.
func (r *Recorder) Counters(skill string) Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.counts[skill]
	if n == nil {
		return Counters{}
	}
	return Counters{Calls: n.calls, Failures: maps.Clone(n.failures), Median: n.below(0.5), P95: n.below(0.95), Last: n.last}
}

// Calls returns what is kept, newest first.
func (r *Recorder) Calls(ctx context.Context, f Filter) ([]Call, error) {
	if r.log == nil {
		return []Call{}, nil
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return r.log.List(ctx, f)
}

// Run writes calls until ctx ends, and then those that still wait.
func (r *Recorder) Run(ctx context.Context) {
	for {
		select {
		case first := <-r.queue:
			r.write(r.batch(first))
		case <-ctx.Done():
			for len(r.queue) > 0 {
				r.write(r.batch(<-r.queue))
			}
			return
		}
	}
}

// batch redacts a record and those that wait behind it.
func (r *Recorder) batch(first *raw) (calls []Call, decisions []Decision) {
	for w := first; ; w = <-r.queue {
		clean := r.cleaner()
		if d := w.decision; d != nil {
			d.Arguments, d.Reason, d.Tool = clean.arguments(w.args), clean.line(d.Reason), clean.line(d.Tool)
			decisions = append(decisions, *d)
		} else {
			w.call.Arguments = clean.arguments(w.args)
			if w.err != nil {
				w.call.Error = clean.line(w.err.Error())
			}
			calls = append(calls, w.call)
		}
		if len(calls)+len(decisions) == maxBatch || len(r.queue) == 0 {
			return calls, decisions
		}
	}
}

func (r *Recorder) write(calls []Call, decisions []Decision) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWriting)
	defer cancel()
	var err error
	if len(calls) > 0 {
		err = r.log.Add(ctx, calls...)
	}
	if len(decisions) > 0 {
		err = errors.Join(err, r.decisions.AddDecisions(ctx, decisions...))
	}
	if err != nil {
		r.slog.Error("calls are not kept", "calls", len(calls), "decisions", len(decisions), "error", err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dropped += len(calls) + len(decisions)
	}
}
