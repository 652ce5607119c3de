// Package recent caches the values that were used last.
package recent

import (
	"container/list"
	"sync"
)

// Cache maps keys to values. Beyond its limit it forgets the values that were unused
// longest. It is safe for concurrent use.
type Cache[K comparable, V any] struct {
	limit int
	size  func(V) int

	mu      sync.Mutex
	used    int       // the sizes together
	byUse   list.List // of entries, the newest first
	entries map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
	size  int
}

// New returns an empty cache of at most limit values.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return NewSized[K](limit, func(V) int { return 1 })
}

// NewSized returns an empty cache of values whose sizes add up to at most limit. A value
// that is larger than that is not kept.
func NewSized[K comparable, V any](limit int, size func(V) int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, size: size, entries: map[K]*list.Element{}}
}

// Get returns the value of a key and makes it the newest.
func (c *Cache[K, V]) Get(key K) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.byUse.MoveToFront(e)
	return e.Value.(entry[K, V]).value, true
}

// Add stores a value under a key that has none, and reports whether it had none.
func (c *Cache[K, V]) Add(key K, value V) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entries[key] != nil {
		return false
	}
	c.put(key, value)
	return true
}

// Remove forgets the value of a key.
func (c *Cache[K, V]) Remove(key K) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(c.entries[key])
}

// Put stores a value under a key.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(key, value)
}

func (c *Cache[K, V]) put(key K, value V) {
	size := c.size(value)
	c.remove(c.entries[key])
	c.entries[key] = c.byUse.PushFront(entry[K, V]{key, value, size})
	for c.used += size; c.used > c.limit; {
		c.remove(c.byUse.Back())
	}
}

func (c *Cache[K, V]) remove(e *list.Element) {
	if e == nil {
		return
	}
	old := c.byUse.Remove(e).(entry[K, V])
	delete(c.entries, old.key)
	c.used -= old.size
}
