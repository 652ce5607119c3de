// Package embedding adds meaning to the ranking: vectors of tools and of
// questions, from a server with OpenAI's embeddings API.
//
// An [Embedder] computes the vectors of tools in the background when the catalog
// changes. It keeps them in a file by the tools' texts, so each text is requested
// only once. A question's vector is requested before the selection, with a short
// timeout. When the server fails, tools are ranked by words alone.
//
// Questions go first: tools wait while one is asked about, and are asked about in batches
// that the server answers in half a question's time. An answer that comes too late is kept
// for the next time, and meanwhile no question waits; it is no failure.
package embedding

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
)

// Config says which server to use, and how. Only Model is required.
type Config struct {
	// BaseURL is the API's address, as in http://127.0.0.1:11434/v1; empty means
	// OpenAI's.
	BaseURL string
	// Model is the server's name of the model.
	Model string
	// APIKey is sent as the bearer token; empty means none.
	APIKey string
	// QueryPrefix and PassagePrefix begin the texts of questions and of tools, for models
	// that were trained with them, as in "query: " and "passage: ".
	QueryPrefix, PassagePrefix string
	// Dimensions is how many numbers of a vector are used, for models whose vectors can be
	// shortened; 0 means all.
	Dimensions int
	// Timeout bounds the wait for a question's vector; 0 means 300 ms.
	Timeout time.Duration
	// File stores the vectors of tools; empty keeps them in memory.
	File string
	// ReadOnly turns off computing vectors of tools and writing the file.
	ReadOnly bool
	// HTTP sends the requests; nil means a new client.
	HTTP *http.Client
	// Log reports outages; nil discards.
	Log *slog.Logger
}

const (
	// maxBatch is how many tools one request is for at most, and firstBatch at first. There
	// is one request at a time, which may take batchTimeout.
	maxBatch, firstBatch = 64, 4
	batchTimeout         = time.Minute
	// maxYield is how long tools wait for questions at most before each request.
	maxYield = 10 * time.Second
	// lateTimeout is how long an answer is awaited after its question went on without it.
	lateTimeout = 30 * time.Second
	// maxTools is how many tools have vectors: the first ones of the catalog. With
	// 3,072 numbers each they take some 240 MB.
	maxTools = 20_000
	// maxText is how much of a tool's text or a question is sent, in bytes.
	maxText = 2000
	// keptQuestions is how many vectors of questions are remembered.
	keptQuestions = 500
	// pause is how long questions do not use a server that failed. For tools it is
	// the first pause, which doubles up to maxPause.
	pause    = 10 * time.Second
	maxPause = 10 * time.Minute
)

// hash identifies a text.
type hash [sha256.Size]byte

// Embedder provides the vectors of tools and questions. It is safe for concurrent
// use.
type Embedder struct {
	server    server
	config    Config
	log       *slog.Logger
	attached  atomic.Pointer[attachment]
	questions *recent.Cache[hash, []float32]
	outage    outage
	asking    questions
	batch     int       // how many tools the next request is for; only run uses it
	odd       sync.Once // for the warning about vectors of another length

	mu    sync.Mutex // guards known and attaching; never held while waiting for a server or a disk
	known map[hash][]float32

	have, all atomic.Int64 // tools with a vector, and tools that should have one

	missing chan struct{}   // holds a value when tools have no vectors yet
	ctx     context.Context //nolint:containedctx // of late answers, which outlive their questions
	cancel  context.CancelFunc
	done    chan struct{}
}

// attachment is a selector with the vectors of its tools.
type attachment struct {
	base, with *selection.Selector
	dimensions int // 0 while no tool has a vector
}

// New returns an embedder that works in the background until it is closed.
func New(cfg Config) (*Embedder, error) {
	if cfg.Model == "" {
		return nil, errors.New("embeddings need the name of a model")
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, "https://api.openai.com/v1")
	cfg.Timeout = cmp.Or(cfg.Timeout, 300*time.Millisecond)
	if cfg.HTTP == nil {
		cfg.HTTP = &http.Client{
			Transport: http.DefaultTransport.(*http.Transport).Clone(),
			// The key must not follow a redirect to another server.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		}
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	e := &Embedder{
		server: server{cfg.HTTP, strings.TrimSuffix(cfg.BaseURL, "/") + "/embeddings", cfg.Model, cfg.APIKey,
			cfg.Dimensions},
		config: cfg, log: cfg.Log, questions: recent.New[hash, []float32](keptQuestions),
		outage: outage{log: cfg.Log}, batch: firstBatch, missing: make(chan struct{}, 1), ctx: ctx, cancel: cancel,
		done: make(chan struct{}),
	}
	e.known = e.load()
	go func() {
		defer close(e.done)
		defer panics.Log(cfg.Log, "looking up the vectors of tools")
		e.run(ctx)
	}()
	return e, nil
}

// Close stops the work in the background and returns when it has stopped.
func (e *Embedder) Close() error {
	e.cancel()
	<-e.done
	e.asking.wait()
	return nil
}

// Follow returns a function that returns current's selector with the known vectors
// of its tools. It never waits for a server. While another caller looks up the
// vectors of a new selector, it returns the previous one.
func (e *Embedder) Follow(current func() *selection.Selector) func() *selection.Selector {
	return func() *selection.Selector {
		base := current()
		if a := e.attached.Load(); a != nil && a.base == base {
			return a.with
		}
		if !e.mu.TryLock() {
			if a := e.attached.Load(); a != nil {
				return a.with
			}
			e.mu.Lock()
		}
		defer e.mu.Unlock()
		if a := e.attached.Load(); a != nil && a.base == base {
			return a.with
		}
		return e.attach(base)
	}
}

// attach publishes a selector with the known vectors and requests the others. The
// caller holds the lock.
func (e *Embedder) attach(base *selection.Selector) *selection.Selector {
	vectors := make([][]float32, base.Catalog().Len())
	a := &attachment{base: base}
	have, all := 0, 0
	for entry := range base.Catalog().All() {
		if entry.Position() == maxTools {
			e.log.Warn("embeddings: only the first tools have vectors", "tools", maxTools)
			break
		}
		v, ok := e.known[hashOf(e.textOf(&entry.Definition))]
		if all++; ok {
			have++
		}
		if a.dimensions == 0 {
			a.dimensions = len(v)
		}
		vectors[entry.Position()] = v
	}
	a.with = base.WithVectors(vectors)
	e.attached.Store(a)
	e.have.Store(int64(have))
	e.all.Store(int64(all))
	if have < all {
		e.request()
	}
	return a.with
}

// request makes run compute missing vectors soon.
func (e *Embedder) request() {
	select {
	case e.missing <- struct{}{}:
	default: // requested already
	}
}

// Progress returns how many tools of the newest catalog have a vector, of how many that should.
// The error is the last failure of a server that has not answered since.
func (e *Embedder) Progress() (have, all int, err error) {
	return int(e.have.Load()), int(e.all.Load()), e.outage.last()
}

// textOf returns the text that a tool's vector is computed from.
func (e *Embedder) textOf(d *tool.Definition) string {
	name := d.Name
	if len(d.Groups) > 0 { // many names say little without their server's: "search", "get_details"
		name = strings.Join(d.Groups, " ") + ": " + name
	}
	parts := []string{strings.NewReplacer("_", " ", "-", " ", ".", " ").Replace(name), d.Description}
	parts = append(append(parts, d.Aliases...), d.Examples...)
	return e.config.PassagePrefix + head(strings.Join(parts, "\n"))
}

func head(text string) string {
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "")
	}
	return text
}

func hashOf(text string) hash { return sha256.Sum256([]byte(text)) }

// Vector returns the vector of a question, or nil when it is not available in time
// or no tool has a vector. If again is set, it returns only a vector that was
// computed before.
func (e *Embedder) Vector(ctx context.Context, text string, again bool) []float32 {
	a := e.attached.Load()
	text = head(strings.TrimSpace(text))
	if text == "" || a == nil || a.dimensions == 0 {
		return nil
	}
	key := hashOf(text)
	v, ok := e.questions.Get(key)
	if !ok {
		if again || e.outage.waiting() || e.asking.late() {
			return nil
		}
		if v = e.ask(ctx, key, text); v == nil {
			return nil
		}
	}
	if len(v) != a.dimensions {
		e.odd.Do(func() {
			e.log.Warn("embeddings: the server's vectors have changed their length, ranking by words alone; remove the file to compute the tools' vectors again",
				"question", len(v), "tools", a.dimensions, "file", e.config.File)
		})
		return nil
	}
	return v
}

// ask requests the vector of a question and waits for it until the timeout. One that comes later
// is kept for the next time.
func (e *Embedder) ask(ctx context.Context, key hash, text string) []float32 {
	q := e.asking.begin()
	got := make(chan []float32, 1)
	go func() {
		defer panics.Log(e.log, "looking up the vector of a question")
		defer e.asking.end(q)
		limited, cancel := context.WithTimeout(e.ctx, lateTimeout)
		defer cancel()
		var v []float32
		vectors, err := e.server.embed(limited, []string{e.config.QueryPrefix + text})
		switch {
		case err == nil:
			v = vectors[0]
			e.questions.Put(key, v)
			e.outage.over()
		case e.ctx.Err() == nil:
			e.outage.failed(err)
		}
		got <- v
	}()
	timeout := time.NewTimer(e.config.Timeout)
	defer timeout.Stop()
	select {
	case v := <-got:
		return v
	case <-timeout.C:
		e.asking.goOn(q)
	case <-ctx.Done():
		e.asking.goOn(q)
	}
	return nil
}

// questions are those that the server is asked about. The zero value has none.
type questions struct {
	mu    sync.Mutex
	open  map[*question]bool
	free  chan struct{} // closed when the last one ends; nil while there is none
	tasks sync.WaitGroup
}

// question is one of them. It is late when nobody waits for it any more.
type question struct{ late bool }

func (q *questions) begin() *question {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.open == nil {
		q.open = map[*question]bool{}
	}
	if q.free == nil {
		q.free = make(chan struct{})
	}
	one := &question{}
	q.open[one] = true
	q.tasks.Add(1)
	return one
}

func (q *questions) end(one *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if delete(q.open, one); len(q.open) == 0 {
		close(q.free)
		q.free = nil
	}
	q.tasks.Done()
}

func (q *questions) goOn(one *question) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one.late = true
}

// late reports whether the server owes an answer for which somebody waited too long: another
// question would wait behind it.
func (q *questions) late() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	for one := range q.open {
		if one.late {
			return true
		}
	}
	return false
}

func (q *questions) wait() { q.tasks.Wait() }

// yield waits until the server is asked about no question, but not for ever.
func (q *questions) yield(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, maxYield)
	defer cancel()
	for {
		q.mu.Lock()
		free := q.free
		q.mu.Unlock()
		if free == nil {
			return
		}
		select {
		case <-free:
		case <-ctx.Done():
			return
		}
	}
}

// run computes missing vectors until ctx ends.
func (e *Embedder) run(ctx context.Context) {
	if e.config.ReadOnly {
		return
	}
	for wait := pause; ; {
		select {
		case <-ctx.Done():
			return
		case <-e.missing:
		}
		err := e.complete(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			wait = pause
			continue
		}
		e.outage.failed(err)
		if !sleep.For(ctx, wait) {
			return
		}
		wait = min(2*wait, maxPause)
		e.request()
	}
}

// complete requests the vectors that the newest catalog lacks, a batch at a time,
// and stores the ones it gets.
func (e *Embedder) complete(ctx context.Context) (err error) {
	base := e.attached.Load().base
	todo := e.todo(base)
	for len(todo) > 0 && err == nil {
		e.asking.yield(ctx)
		n := min(e.batch, len(todo))
		began := time.Now()
		err = e.fetch(ctx, todo[:n])
		e.pace(n, time.Since(began), err)
		todo = todo[n:]
	}
	e.mu.Lock()
	base = e.attached.Load().base // may be newer now
	e.attach(base)
	vectors := e.forget(base)
	e.mu.Unlock()
	e.save(vectors)
	return err
}

// todo lists the texts of a catalog without a vector, each once.
func (e *Embedder) todo(base *selection.Selector) []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var texts []string
	seen := map[string]bool{}
	for entry := range base.Catalog().All() {
		text := e.textOf(&entry.Definition)
		if _, ok := e.known[hashOf(text)]; !ok && !seen[text] && entry.Position() < maxTools {
			seen[text] = true
			texts = append(texts, text)
		}
	}
	return texts
}

// pace makes the next batch as large as the server answers in half a question's time, so that a
// question behind one comes in time.
func (e *Embedder) pace(n int, took time.Duration, err error) {
	each := max(took/time.Duration(n), time.Microsecond)
	e.batch = max(1, min(int(e.config.Timeout/2/each), 2*e.batch, maxBatch))
	if err != nil {
		e.batch = 1
	}
}

func (e *Embedder) fetch(ctx context.Context, texts []string) error {
	ctx, cancel := context.WithTimeout(ctx, batchTimeout)
	defer cancel()
	vectors, err := e.server.embed(ctx, texts)
	if err != nil {
		return err
	}
	e.outage.over()
	e.mu.Lock()
	defer e.mu.Unlock()
	for i, text := range texts {
		e.known[hashOf(text)] = vectors[i]
	}
	e.have.Add(int64(len(texts)))
	return nil
}

// outage remembers that the server failed and logs it once.
type outage struct {
	log   *slog.Logger
	mu    sync.Mutex
	since time.Time // of the last failure; zero while the server works
	why   error     // it
}

func (o *outage) failed(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.since.IsZero() {
		o.log.Warn("embeddings are not available, ranking by words alone", "error", err)
	}
	o.since, o.why = time.Now(), err
}

func (o *outage) last() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.why
}

func (o *outage) over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.since.IsZero() {
		o.log.Info("embeddings are available again")
	}
	o.since, o.why = time.Time{}, nil
}

// waiting reports whether the server failed a moment ago.
func (o *outage) waiting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.since.IsZero() && time.Since(o.since) < pause
}

// unit scales a vector to length one, so that the product of two is their cosine.
func unit(v []float32) []float32 {
	var sum float64
	for _, x := range v {
		sum += float64(x) * float64(x)
	}
	if sum == 0 {
		return v
	}
	f := float32(1 / math.Sqrt(sum))
	for i := range v {
		v[i] *= f
	}
	return v
}
