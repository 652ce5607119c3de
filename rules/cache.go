package rules

import (
	"hash/maphash"
	"sync/atomic"
)

// cache is a table of fixed size. Each key has a few places in it; when they are full,
// a new entry replaces one of them. It takes no lock: of concurrent writers the last
// one wins.
type cache[V any] struct {
	seed   maphash.Seed
	places []atomic.Pointer[cacheEntry[V]]
	next   atomic.Uint32 // chooses the place to reuse
}

type cacheEntry[V any] struct {
	key   string
	value V
}

// ways is how many places a key has.
const ways = 4

// newCache returns a cache of at most size entries. Size is at least ways.
func newCache[V any](size int) *cache[V] {
	return &cache[V]{seed: maphash.MakeSeed(), places: make([]atomic.Pointer[cacheEntry[V]], size/ways*ways)}
}

func (c *cache[V]) placesOf(key []byte) []atomic.Pointer[cacheEntry[V]] {
	at := int(maphash.Bytes(c.seed, key)%uint64(len(c.places)/ways)) * ways
	return c.places[at : at+ways]
}

func (c *cache[V]) get(key []byte) (value V, ok bool) {
	places := c.placesOf(key)
	for i := range places {
		if k := places[i].Load(); k != nil && k.key == string(key) {
			return k.value, true
		}
	}
	return value, false
}

// put stores a value, unless its key is longer than maxKey.
func (c *cache[V]) put(key []byte, value V) {
	if len(key) > maxKey {
		return
	}
	k, places := &cacheEntry[V]{string(key), value}, c.placesOf(key)
	for i := range places {
		if places[i].CompareAndSwap(nil, k) {
			return
		}
	}
	places[c.next.Add(1)%ways].Store(k)
}
