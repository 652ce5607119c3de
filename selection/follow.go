package selection

import (
	"sync"
	"sync/atomic"

	"github.com/etui-run/etui/catalog"
)

// Follow returns a function that gives the selector of the newest catalog. The
// catalog is indexed when it is first asked for after its tools changed; while
// one caller does so the others wait, and unchanged catalogs cost one atomic
// load. A change of toolsets or rules alone needs no index.
func Follow(current func() *catalog.Catalog, cfg Config) func() *Selector {
	var latest atomic.Pointer[Selector]
	var building sync.Mutex
	return func() *Selector {
		if s := latest.Load(); s != nil && s.catalog == current() {
			return s
		}
		building.Lock()
		defer building.Unlock()
		c, s := current(), latest.Load()
		switch {
		case s == nil:
			s = New(c, cfg)
		case s.catalog != c:
			s = s.with(c)
		}
		latest.Store(s)
		return s
	}
}
