package rules

import (
	"hash/maphash"
	"sync/atomic"
)

// cache keeps answers by key in a table of fixed size. A key has a few places in
// it; when they are taken, one of them is taken over. Nobody waits: readers see
// what is there, and of writers at the same moment the last one is seen.
type cache[V any] struct {
	seed   maphash.Seed
	places []atomic.Pointer[kept[V]]
	turn   atomic.Uint32 // chooses the place to take over
}

type kept[V any] struct {
	key   string
	value V
}

// ways is how many places a key has.
const ways = 4

// newCache returns a cache of at most size answers, which is at least ways.
func newCache[V any](size int) *cache[V] {
	return &cache[V]{seed: maphash.MakeSeed(), places: make([]atomic.Pointer[kept[V]], size/ways*ways)}
}

func (c *cache[V]) placesOf(key []byte) []atomic.Pointer[kept[V]] {
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

// put keeps a value, unless its key is longer than maxKey.
func (c *cache[V]) put(key []byte, value V) {
	if len(key) > maxKey {
		return
	}
	k, places := &kept[V]{string(key), value}, c.placesOf(key)
	for i := range places {
		if places[i].CompareAndSwap(nil, k) {
			return
		}
	}
	places[c.turn.Add(1)%ways].Store(k)
}
