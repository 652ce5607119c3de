package audit

import (
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"
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

// Recorder counts calls and hands them to a log, one after the other and in the
// order in which they ended. It is safe for concurrent use.
type Recorder struct {
	log    Log
	redact *Redactor
	slog   *slog.Logger
	queue  chan *raw

	mu      sync.Mutex // guards what follows
	counts  map[string]*counter
	dropped int
}

// raw is a call whose arguments are still to be redacted.
type raw struct {
	call Call
	args json.RawMessage
	err  error
}

// NewRecorder returns a recorder that keeps calls in log; a nil one keeps nothing,
// and calls are counted only. A nil redactor hides what looks like a secret. A nil
// slog discards. Calls wait until [Recorder.Run] runs.
func NewRecorder(log Log, redact *Redactor, l *slog.Logger) *Recorder {
	if redact == nil {
		redact = NewRedactor()
	}
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &Recorder{log: log, redact: redact, slog: l, queue: make(chan *raw, maxQueue), counts: map[string]*counter{}}
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
	if len(args) > maxRead { // do not hold it while it waits
		args = json.RawMessage(strconv.Quote(r.redact.Redact(args)))
	}
	select {
	case r.queue <- &raw{c, args, err}:
	default:
		r.dropped++
	}
}

// Dropped is how many calls were not kept because they came too fast.
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

// batch redacts a call and those that wait behind it.
func (r *Recorder) batch(first *raw) []Call {
	calls := []Call{r.finish(first)}
	for len(calls) < maxBatch && len(r.queue) > 0 {
		calls = append(calls, r.finish(<-r.queue))
	}
	return calls
}

func (r *Recorder) finish(w *raw) Call {
	w.call.Arguments = r.redact.Redact(w.args)
	if w.err != nil {
		w.call.Error = r.redact.Error(w.err)
	}
	return w.call
}

func (r *Recorder) write(calls []Call) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWriting)
	defer cancel()
	if err := r.log.Add(ctx, calls...); err != nil {
		r.slog.Error("calls of skills are not kept", "calls", len(calls), "error", err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dropped += len(calls)
	}
}
