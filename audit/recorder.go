package audit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strconv"
	"sync"
	"time"

	"github.com/etui-run/etui/secret"
)

const (
	// maxQueue is how many records wait to be written; more are dropped. As many weighty
	// decisions may wait beside them; the next one waits for room.
	maxQueue = 1024
	// maxShare is how many of them one user may have while more than half of the places
	// are taken.
	maxShare = maxQueue / 8
	// reportEvery is how often dropped records are reported.
	reportEvery = 10 * time.Second
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
	secrets *secret.Set
	slog    *slog.Logger
	queue   chan *raw
	// erasures wait for the goroutine that empties the queue.
	erasures chan erasure

	mu       sync.Mutex // guards what follows
	counts   map[string]*counter
	dropped  int
	running  bool           // Run empties the queue
	waiting  int            // records in the queue, without weighty decisions
	shares   map[string]int // of them, by user
	reported int            // of the dropped ones
	last     time.Time      // when they were reported
}

// raw is a record or a decision whose arguments are not redacted yet.
type raw struct {
	record   Record
	decision *Decision
	args     json.RawMessage
	err      error
}

func (w *raw) user() string {
	if w.decision != nil {
		return w.decision.User
	}
	return w.record.User
}

func (w *raw) weighty() bool { return w.decision != nil && w.decision.Weighty() }

// texts are the fields that come from callers, models and skills, with their limits.
func (w *raw) texts() map[*string]int {
	if d := w.decision; d != nil {
		return map[*string]int{
			&d.Agent: maxText, &d.Channel: maxText, &d.Chat: maxText, &d.User: maxText, &d.Session: maxSession,
			&d.Tool: maxText, &d.Skill: maxText,
			&d.Source: maxText, &d.Version: maxText, &d.Hash: maxText, &d.Risk: maxText, &d.Stage: maxText, &d.Rule: maxError, &d.Reason: 2 * maxError, // it is cut before
		}
	}
	c := &w.record
	return map[*string]int{
		&c.Agent: maxText, &c.Channel: maxText, &c.User: maxText, &c.Session: maxSession, &c.Skill: maxText,
		&c.Tool:    maxText,
		&c.Version: maxText, &c.Provider: maxText, &c.Outcome: maxText,
	}
}

// NewRecorder returns a recorder that writes to log; with a nil log it only counts
// calls. It hides the known secrets, of which nil has none, and anything that looks
// like a secret. A nil slog discards. Nothing is written until [Recorder.Run] runs.
func NewRecorder(log Log, secrets *secret.Set, l *slog.Logger) *Recorder {
	if l == nil {
		l = slog.New(slog.DiscardHandler)
	}
	return &Recorder{log: log, secrets: secrets, slog: l, queue: make(chan *raw, 2*maxQueue),
		erasures: make(chan erasure), counts: map[string]*counter{}, shares: map[string]int{}}
}

// Record records a call that has ended; its Arguments, Error and Took are derived from
// the other parameters. It never blocks: when 1,024 records wait to be written, it
// drops the record and counts it as dropped.
func (r *Recorder) Record(c Record, args json.RawMessage, took time.Duration, err error) {
	c.Took = float64(took.Microseconds()) / 1000
	r.count(c, took)
	if r.log != nil {
		r.enqueue(&raw{record: c, args: args, err: err})
	}
}

func (r *Recorder) count(c Record, took time.Duration) {
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
}

// enqueue queues a record for writing.
func (r *Recorder) enqueue(w *raw) {
	if len(w.args) > maxRead { // do not hold it while it is queued
		w.args = json.RawMessage(strconv.Quote(r.cleaner().arguments(w.args, stored)))
	}
	for text := range w.texts() {
		if len(*text) > maxRead {
			*text = fmt.Sprintf("(%d bytes)", len(*text))
		}
	}
	if w.weighty() {
		r.insist(w)
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.waiting >= maxQueue || r.waiting >= maxQueue/2 && r.shares[w.user()] >= maxShare {
		r.dropped++
		return
	}
	select {
	case r.queue <- w:
		r.waiting++
		r.shares[w.user()]++
	default: // weighty decisions take all places
		r.dropped++
	}
}

// insist queues a weighty decision. It waits for room if the queue is being emptied.
func (r *Recorder) insist(w *raw) {
	select {
	case r.queue <- w:
		return
	default:
	}
	r.mu.Lock()
	running := r.running
	r.mu.Unlock()
	if running {
		patience := time.NewTimer(maxWriting)
		defer patience.Stop()
		select {
		case r.queue <- w:
			return
		case <-patience.C:
		}
	}
	r.clean(w)
	r.lost(errors.New("too many records wait to be written"), *w.decision)
}

// lost writes weighty decisions that cannot be stored to the program's log, and counts
// them as dropped.
func (r *Recorder) lost(err error, decisions ...Decision) {
	for _, d := range decisions {
		if d.Weighty() {
			r.slog.Error("a decision could not be stored", "error", err, "time", d.Time, "allowed", d.Allowed, "tool",
				d.Tool, "skill", d.Skill, "stage", d.Stage,
				"rule", d.Rule, "reason", d.Reason, "user", d.User, "channel", d.Channel, "session", d.Session,
				"arguments", d.Arguments)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dropped += len(decisions)
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
	return Counters{Calls: n.calls, Failures: maps.Clone(n.failures), Median: n.below(0.5), P95: n.below(0.95),
		Last: n.last}
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
	r.runs(true)
	defer r.runs(false)
	for {
		select {
		case first := <-r.queue:
			r.write(r.batch(first))
			r.report(reportEvery)
		case e := <-r.erasures:
			e.done <- r.erase(e.user)
		case <-ctx.Done():
			r.flush()
			r.report(0)
			return
		}
	}
}

func (r *Recorder) runs(now bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running = now
}

// report logs how many records were dropped since it last did, at most once in every.
func (r *Recorder) report(every time.Duration) {
	r.mu.Lock()
	n := r.dropped - r.reported
	if n == 0 || time.Since(r.last) < every {
		r.mu.Unlock()
		return
	}
	r.reported, r.last = r.dropped, time.Now()
	r.mu.Unlock()
	r.slog.Warn("call records were dropped: they came too fast, or could not be stored", "dropped", n)
}

// flush writes what is queued. Only the goroutine of Run may call it.
func (r *Recorder) flush() {
	for len(r.queue) > 0 {
		r.write(r.batch(<-r.queue))
	}
}

// batch redacts a record and the records queued behind it.
func (r *Recorder) batch(first *raw) (records []Record, decisions []Decision) {
	for w := first; ; w = <-r.queue {
		r.taken(w)
		if r.clean(w); w.decision != nil {
			decisions = append(decisions, *w.decision)
		} else {
			records = append(records, w.record)
		}
		if len(records)+len(decisions) == maxBatch || len(r.queue) == 0 {
			return records, decisions
		}
	}
}

// taken makes the place of a record free.
func (r *Recorder) taken(w *raw) {
	if w.weighty() {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiting--
	if r.shares[w.user()]--; r.shares[w.user()] <= 0 {
		delete(r.shares, w.user())
	}
}

// clean redacts and shortens the texts of a record.
func (r *Recorder) clean(w *raw) {
	clean := r.cleaner()
	if w.decision != nil {
		w.decision.Arguments, w.decision.Reason = clean.arguments(w.args, stored), clean.line(w.decision.Reason)
	} else if w.record.Arguments = clean.arguments(w.args, stored); w.err != nil {
		w.record.Error = clean.line(w.err.Error())
	}
	for text, limit := range w.texts() {
		*text = cut(clean.known.Text(*text), limit)
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
		r.dropped += len(records)
		r.mu.Unlock()
		r.lost(err, decisions...)
	}
}
