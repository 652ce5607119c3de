package selection

import (
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
)

// Follow returns a function that gives the selector of the newest catalog, at the
// cost of one atomic load: nobody who asks waits for another.
//
// A selector is made by whoever changes the registry, before the change returns,
// so that who asks afterwards gets what the change made of it. Of what did not
// change nothing is read again: one tool among 10,000 takes some 20 ms, toolsets
// and rules less. Until then the selector before is given: to whom it matters
// that something has just been taken away, ask [Selector.Admit] of the newest one
// once more when it is used. The selectors are made for as long as the registry
// exists.
func Follow(r *catalog.Registry, cfg Config) func() *Selector {
	made := newMaker(cfg)
	var latest atomic.Pointer[Selector]
	r.Watch(func(c *catalog.Catalog) { latest.Store(made.selector(c)) })
	return latest.Load
}
