package platform

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/internal/recent"
)

// Facts keeps what a platform has told about people and places, the newest of them.
type Facts[K comparable, V any] struct {
	kept          *recent.Cache[K, fact[V]]
	life, unknown time.Duration

	mu        sync.Mutex // what was asked before a change is not kept after it
	forgotten int        // how often something was
}

type fact[V any] struct {
	value V
	until time.Time
}

// NewFacts returns an empty one that keeps so many answers for a time, and that something is
// unknown for another time.
func NewFacts[K comparable, V any](most int, life, unknown time.Duration) *Facts[K, V] {
	return &Facts[K, V]{kept: recent.New[K, fact[V]](most), life: life, unknown: unknown}
}

// Get returns what is known, or what ask finds out. What it has found out is not kept if ctx
// has ended meanwhile, or if something was forgotten.
func (f *Facts[K, V]) Get(ctx context.Context, key K, ask func() (value V, known bool)) V {
	if is, ok := f.kept.Get(key); ok && time.Now().Before(is.until) {
		return is.value
	}
	f.mu.Lock()
	before := f.forgotten
	f.mu.Unlock()
	value, known := ask()
	life := f.life
	if !known {
		life = f.unknown
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if ctx.Err() == nil && f.forgotten == before {
		f.kept.Put(key, fact[V]{value, time.Now().Add(life)})
	}
	return value
}

// Forget makes the next Get ask again.
func (f *Facts[K, V]) Forget(key K) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.forgotten++
	f.kept.Remove(key)
}

// People knows what a platform has told about senders.
type People struct {
	facts *Facts[string, channel.Sender]
}

// NewPeople returns an empty one.
func NewPeople() *People {
	return &People{NewFacts[string, channel.Sender](1000, 10*time.Minute, time.Minute)}
}

// Introduce adds what is known about a sender, or what meet finds out. Somebody of whom it tells
// nothing has no role.
func (p *People) Introduce(
	ctx context.Context, from *channel.Sender,
	meet func(ctx context.Context, id string) (who channel.Sender, known bool),
) {
	who := p.facts.Get(ctx, from.ID, func() (channel.Sender, bool) { return meet(ctx, from.ID) })
	from.Handle, from.Name = cmp.Or(who.Handle, from.Handle), cmp.Or(who.Name, from.Name)
	from.Bot, from.Language = from.Bot || who.Bot, cmp.Or(from.Language, who.Language)
	from.Roles = slices.Clone(who.Roles)
}
