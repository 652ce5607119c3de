// Package health knows why an engine refuses messages at the moment. Each cause is in the log once, when
// it begins and when it is over, and in what [Health.Causes] returns until then.
package health

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// The names of the causes.
const (
	Store    = "store"    // the database takes nothing: the disk is full, or it is away
	Busy     = "busy"     // so many messages run or wait that none is taken
	Stopping = "stopping" // the program ends
)

// Names lists the names of all causes.
func Names() []string { return []string{Busy, Stopping, Store} }

// Cause is why messages are refused.
type Cause struct {
	Name  string    `json:"cause"`
	Error string    `json:"error"`
	Since time.Time `json:"since"`
}

// Health notes the causes. It is safe for concurrent use.
type Health struct {
	log *slog.Logger
	now func() time.Time

	mu     sync.Mutex
	causes map[string]Cause
	failed map[string]bool // the kinds of writes that the store did not take
	probed time.Time
	said   map[string]time.Time // when the log said so last
}

// New returns the health of an engine that has just begun.
func New(log *slog.Logger, now func() time.Time) *Health {
	return &Health{log: log, now: now, causes: map[string]Cause{}, failed: map[string]bool{},
		said: map[string]time.Time{}}
}

// quiet is how long the log says nothing new of a cause that comes and goes.
const quiet = time.Minute

func (h *Health) begin(cause string, err error) {
	if _, known := h.causes[cause]; known {
		return
	}
	h.causes[cause] = Cause{cause, err.Error(), h.now()}
	if last, ok := h.said[cause]; ok && h.now().Sub(last) < quiet {
		return
	}
	h.said[cause] = h.now()
	h.log.Error("messages are refused", "cause", cause, "error", err)
}

// SetCrowded notes whether so many messages run or wait that none is taken.
func (h *Health) SetCrowded(full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if full {
		h.begin(Busy, errors.New("so many messages run or wait that no more are taken; see limits.turns"))
	} else {
		h.end(Busy)
	}
}

func (h *Health) end(cause string) {
	c, known := h.causes[cause]
	if !known {
		return
	}
	delete(h.causes, cause)
	h.log.Info("messages are accepted again", "cause", cause, "after", h.now().Sub(c.Since).Round(time.Second))
}

// probing is how often the store is tried while it takes nothing, and probe what is written then: as
// much as a message of some length, for which a disk that is nearly full has no room.
const (
	probing = time.Second
	probe   = 64 << 10
)

// Causes returns why messages are refused now; none means that they are accepted. While the store takes
// nothing, it is tried with a record of its own, so that nobody has to send a message.
func (h *Health) Causes(ctx context.Context, s store.Store, stopping bool) []Cause {
	_, unread := s.List(ctx, session.Filter{Limit: 1})
	h.mu.Lock()
	if unread != nil && ctx.Err() == nil || errors.Is(ctx.Err(), context.DeadlineExceeded) {
		h.begin(Store, fmt.Errorf("the store cannot be read: %w", cmp.Or(unread, ctx.Err())))
	}
	if stopping {
		h.begin(Stopping, errors.New("etui is stopping"))
	}
	_, away := h.causes[Store]
	try := away && h.now().Sub(h.probed) >= probing
	if try {
		h.probed = h.now()
	}
	h.mu.Unlock()
	if try {
		value, _ := json.Marshal(strings.Repeat("x", probe)) // a text
		err := s.Put(ctx, "health", "probe", value)
		if err == nil {
			_, err = s.Remove(ctx, "health", "probe")
		}
		if err == nil && unread == nil {
			h.mu.Lock()
			clear(h.failed)
			h.end(Store)
			h.mu.Unlock()
		}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.SortedFunc(maps.Values(h.causes), func(a, b Cause) int { return strings.Compare(a.Name, b.Name) })
}

// wrote notes how a write of a kind ended. A kind that the store did not take has to succeed before the
// store is well again: there may be room for a small write only.
func (h *Health) wrote(kind string, err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case err == nil && h.failed[kind]:
		if delete(h.failed, kind); len(h.failed) == 0 {
			h.end(Store)
		}
	case errors.Is(err, store.ErrAway):
		h.failed[kind] = true
		h.begin(Store, err)
	}
	return err
}

// Watch returns a store that notes here which writes it does not take.
func (h *Health) Watch(s store.Store) store.Store {
	w := watchedStore{s, h}
	if shared, ok := s.(store.Shared); ok {
		return struct {
			watchedStore
			claims
		}{w, shared}
	}
	return w
}

// claims are what a [store.Shared] has beside a store.
type claims interface {
	Holder() string
	Alive(ctx context.Context) ([]string, error)
	Claim(ctx context.Context, c store.Claim) error
	Release(key session.Key)
	Tell(key session.Key, item int64, news []byte)
	Left() <-chan struct{}
	Changed(kind string) <-chan struct{}
	Wanted(ctx context.Context, key session.Key) (bool, error)
	Interrupt(ctx context.Context, key session.Key) (bool, error)
	Interruptions() <-chan store.Interruption
}

type watchedStore struct {
	store.Store
	health *Health
}

func (w watchedStore) Append(ctx context.Context, key session.Key, state session.State,
	messages ...chat.Message) error {
	return w.health.wrote("session", w.Store.Append(ctx, key, state, messages...))
}

func (w watchedStore) Accept(ctx context.Context, item store.Item) (store.Item, bool, error) {
	item, fresh, err := w.Store.Accept(ctx, item)
	return item, fresh, w.health.wrote("message", err)
}

func (w watchedStore) Update(ctx context.Context, item store.Item) error {
	return w.health.wrote("state", w.Store.Update(ctx, item))
}

func (w watchedStore) Finish(ctx context.Context, e store.End) error {
	return w.health.wrote("session", w.Store.Finish(ctx, e))
}

func (w watchedStore) Put(ctx context.Context, kind, key string, value json.RawMessage) error {
	return w.health.wrote("record", w.Store.Put(ctx, kind, key, value))
}

// Scrub implements [store.Scrubber] for a store that is one.
func (w watchedStore) Scrub(ctx context.Context) error {
	if s, ok := w.Store.(store.Scrubber); ok {
		return s.Scrub(ctx)
	}
	return nil
}
