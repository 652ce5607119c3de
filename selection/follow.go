package selection

import (
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
)

// Follow returns a function that gives the selector of the newest catalog. The
// catalog is indexed when it is first asked for after a change; while one caller
// does so the others wait, and unchanged catalogs cost one atomic load.
func Follow(current func() *catalog.Catalog, cfg Config) func() *Selector {
	var latest atomic.Pointer[Selector]
	var building sync.Mutex
	return func() *Selector {
		if s := latest.Load(); s != nil && s.catalog == current() {
			return s
		}
		building.Lock()
		defer building.Unlock()
		c := current()
		if s := latest.Load(); s != nil && s.catalog == c {
			return s
		}
		s := New(c, cfg)
		latest.Store(s)
		return s
	}
}
