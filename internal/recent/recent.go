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

	mu      sync.Mutex
	byUse   list.List // of entries, the newest first
	entries map[K]*list.Element
}

type entry[K comparable, V any] struct {
	key   K
	value V
}

// New returns an empty cache of at most limit values.
func New[K comparable, V any](limit int) *Cache[K, V] {
	return &Cache[K, V]{limit: limit, entries: map[K]*list.Element{}}
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

// Put stores a value under a key.
func (c *Cache[K, V]) Put(key K, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e, ok := c.entries[key]; ok {
		e.Value = entry[K, V]{key, value}
		c.byUse.MoveToFront(e)
		return
	}
	c.entries[key] = c.byUse.PushFront(entry[K, V]{key, value})
	if c.byUse.Len() > c.limit {
		oldest := c.byUse.Back()
		delete(c.entries, c.byUse.Remove(oldest).(entry[K, V]).key)
	}
}
