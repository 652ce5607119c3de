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
	// maxQueue is how many records the queue holds; more are dropped.
	maxQueue = 1024
	// maxBatch is how many are written at once.
	maxBatch = 64
	// maxCounted is how many skills have counters; further ones have none.
	maxCounted = 20_000
	// maxWriting is how long writing a batch may take before it is abandoned.
	maxWriting = 10 * time.Second
)

// Recorder counts calls and writes them, and decisions about calls, to a log in the
// order in which they came. It is safe for concurrent use.
type Recorder struct {
	log     Log
	secrets *secret.Known
	slog    *slog.Logger
	queue   chan *raw

	mu      sync.Mutex // guards what follows
	counts  map[string]*counter
	dropped int
}

// raw is a record or a decision whose arguments are not redacted yet.
type raw struct {
	record   Record
	decision *Decision
	args     json.RawMessage
	err      error
}

// NewRecorder returns a recorder that writes to log; with a nil log it only counts
// calls. It hides the known secrets, of which nil has none, and anything that looks
// like a secret. A nil slog discards. Nothing is written until [Recorder.Run] runs.
func NewRecorder(log Log, secrets *secret.Known, l *slog.Logger) *Recorder {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &Recorder{log: log, secrets: secrets, slog: l, queue: make(chan *raw, maxQueue), counts: map[string]*counter{}}
}

// Record records a call that has ended; its Arguments, Error and Took are derived from
// the other parameters. It never blocks: when 1,024 records wait to be written, it
// drops the record and counts it as dropped.
func (r *Recorder) Record(c Record, args json.RawMessage, took time.Duration, err error) {
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
	r.enqueue(&raw{record: c, args: args, err: err})
}

// enqueue queues a record for writing. The caller holds the lock.
func (r *Recorder) enqueue(w *raw) {
	if len(w.args) > maxRead { // do not hold it while it is queued
		w.args = json.RawMessage(strconv.Quote(r.cleaner().arguments(w.args)))
	}
	select {
	case r.queue <- w:
	default:
		r.dropped++
	}
}

func (r *Recorder) cleaner() cleaner { return cleaner{r.secrets.Redactor()} }

// Dropped returns how many records and decisions were lost because they came too fast
// or could not be written.
func (r *Recorder) Dropped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.dropped
}

// Counters returns the counters of a skill.
func (r *Recorder) Counters(skill string) Counters {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := r.counts[skill]
	if n == nil {
		return Counters{}
	}
	return Counters{Calls: n.calls, Failures: maps.Clone(n.failures), Median: n.below(0.5), P95: n.below(0.95), Last: n.last}
}

// Calls returns stored records, newest first.
func (r *Recorder) Calls(ctx context.Context, f Filter) ([]Record, error) {
	if r.log == nil {
		return []Record{}, nil
	}
	if f.Limit <= 0 {
		f.Limit = 100
	}
	return r.log.List(ctx, f)
}

// Run writes records until ctx ends, then writes the queued rest and returns.
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

// batch redacts a record and the records queued behind it.
func (r *Recorder) batch(first *raw) (records []Record, decisions []Decision) {
	for w := first; ; w = <-r.queue {
		clean := r.cleaner()
		if d := w.decision; d != nil {
			d.Arguments, d.Reason = clean.arguments(w.args), clean.line(d.Reason)
			for _, name := range []*string{&d.Channel, &d.Chat, &d.User, &d.Tool, &d.Skill} {
				*name = cut(clean.known.Text(*name), maxText)
			}
			decisions = append(decisions, *d)
		} else {
			w.record.Arguments = clean.arguments(w.args)
			if w.err != nil {
				w.record.Error = clean.line(w.err.Error())
			}
			records = append(records, w.record)
		}
		if len(records)+len(decisions) == maxBatch || len(r.queue) == 0 {
			return records, decisions
		}
	}
}

func (r *Recorder) write(records []Record, decisions []Decision) {
	ctx, cancel := context.WithTimeout(context.Background(), maxWriting)
	defer cancel()
	var err error
	if len(records) > 0 {
		err = r.log.Add(ctx, records...)
	}
	if len(decisions) > 0 {
		err = errors.Join(err, r.log.AddDecisions(ctx, decisions...))
	}
	if err != nil {
		r.slog.Error("call records were not stored", "calls", len(records), "decisions", len(decisions), "error", err)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dropped += len(records) + len(decisions)
	}
}
