package selection

import (
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
)

// Follow returns a function that gives the selector of the newest catalog, at the
// cost of one atomic load: nobody who asks waits for another, but for who comes
// first. Then the first selector is made; a program that is never asked does
// without the words it takes.
//
// Later ones are made by whoever changes the registry, before the change returns,
// so that who asks afterwards gets what the change made of it. Of what did not
// change nothing is read again: one tool among 10,000 takes some 20 ms, toolsets
// and rules less. Until then the selector before is given: to whom it matters
// that something has just been taken away, ask [Selector.Admit] of the newest one
// once more when it is used. The selectors are made for as long as the registry
// exists.
func Follow(r *catalog.Registry, cfg Config) func() *Selector {
	made := newMaker(cfg)
	var latest atomic.Pointer[Selector]
	var making sync.Mutex // guards made and newest
	var newest *catalog.Catalog
	r.Watch(func(c *catalog.Catalog) {
		making.Lock()
		defer making.Unlock()
		newest = c
		if latest.Load() != nil {
			latest.Store(made.selector(c))
		}
	})
	return func() *Selector {
		if s := latest.Load(); s != nil {
			return s
		}
		making.Lock()
		defer making.Unlock()
		if latest.Load() == nil {
			latest.Store(made.selector(newest))
		}
		return latest.Load()
	}
}
