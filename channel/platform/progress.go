package platform

import (
	"slices"
	"sync"
)

// Progress knows up to which number all that has arrived is safe, such as the numbers of
// events or the times of messages.
type Progress struct {
	mu      sync.Mutex
	arrived int64
	open    []*int64
}

// NewProgress returns one that begins at a number.
func NewProgress(from int64) *Progress { return &Progress{arrived: from} }

// Begin notes that something has arrived, and returns what to call when it is safe. Numbers
// below 1 are none.
func (p *Progress) Begin(n int64) (done func()) {
	if n < 1 {
		return func() {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	one := &n
	p.open = append(p.open, one)
	p.arrived = max(p.arrived, n)
	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.open = slices.DeleteFunc(p.open, func(o *int64) bool { return o == one })
	}
}

// Safe returns the number up to which all is safe.
func (p *Progress) Safe() int64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	safe := p.arrived
	for _, o := range p.open {
		safe = min(safe, *o-1)
	}
	return safe
}
