package platform

import (
	"context"
	"time"

	"github.com/etui-run/etui/internal/recent"
)

// Facts keeps what a platform has told about people and places, the newest of them.
type Facts[K comparable, V any] struct {
	kept          *recent.Cache[K, fact[V]]
	life, unknown time.Duration
}

type fact[V any] struct {
	value V
	until time.Time
}

// NewFacts returns an empty one that keeps so many answers for a time, and that something is
// unknown for another time.
func NewFacts[K comparable, V any](most int, life, unknown time.Duration) *Facts[K, V] {
	return &Facts[K, V]{recent.New[K, fact[V]](most), life, unknown}
}

// Get returns what is known, or what ask finds out. What it has found out is not kept if ctx
// has ended meanwhile.
func (f *Facts[K, V]) Get(ctx context.Context, key K, ask func() (value V, known bool)) V {
	if is, ok := f.kept.Get(key); ok && time.Now().Before(is.until) {
		return is.value
	}
	value, known := ask()
	life := f.life
	if !known {
		life = f.unknown
	}
	if ctx.Err() == nil {
		f.kept.Put(key, fact[V]{value, time.Now().Add(life)})
	}
	return value
}

// Reactions knows which emoji the account has on which message, until the program ends.
type Reactions struct {
	kept *recent.Cache[string, reaction]
}

// reaction is an emoji, and what the platform calls it on this message.
type reaction struct{ emoji, id string }

// NewReactions returns one that remembers so many.
func NewReactions(most int) *Reactions { return &Reactions{recent.New[string, reaction](most)} }

// Replace puts an emoji on a message in the place of the one that is there; an empty one takes
// it away. Remove gets what add has returned.
func (r *Reactions) Replace(
	message, emoji string, remove func(id string) error, add func() (id string, err error),
) error {
	old, had := r.kept.Get(message)
	if had && old.emoji == emoji {
		return nil
	}
	if had {
		if err := remove(old.id); err != nil {
			return err
		}
		r.kept.Remove(message)
	}
	if emoji == "" {
		return nil
	}
	id, err := add()
	if err == nil {
		r.kept.Put(message, reaction{emoji, id})
	}
	return err
}

// Sent knows what was posted for which key, until the program ends.
type Sent struct{ kept *recent.Cache[string, string] }

// NewSent returns one that remembers so many.
func NewSent(most int) *Sent { return &Sent{recent.New[string, string](most)} }

// Once posts, unless that was done before with the same key, and returns the ID. An empty key is
// none.
func (s *Sent) Once(key string, post func() (id string, err error)) (string, error) {
	if key == "" {
		return post()
	}
	if id, ok := s.kept.Get(key); ok {
		return id, nil
	}
	id, err := post()
	if err == nil {
		s.kept.Put(key, id)
	}
	return id, err
}
