package platform

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/etui-run/etui/store"
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

// Position is a progress that is kept: what has arrived after it is asked for again.
type Position struct {
	*Progress
	records      store.Records
	name, holder string
}

// OpenPosition returns the position of an account on a platform; 0 if none is kept.
func OpenPosition(ctx context.Context, records store.Records, name, account string) (*Position, error) {
	p := &Position{NewProgress(0), records, name, account}
	at, err := p.keep(ctx, 0)
	p.arrived = at
	return p, err
}

// Keep keeps the number up to which all is safe, unless a later one is kept.
func (p *Position) Keep(ctx context.Context) error {
	_, err := p.keep(ctx, p.Safe())
	return err
}

func (p *Position) keep(ctx context.Context, to int64) (at int64, err error) {
	err = p.records.Change(ctx, p.name, p.holder, func(value json.RawMessage) (json.RawMessage, error) {
		var r struct {
			Since int64 `json:"since"`
		}
		if value != nil {
			if err := json.Unmarshal(value, &r); err != nil {
				return nil, fmt.Errorf("%s: the record of the position: %w", p.name, err)
			}
		}
		r.Since = max(r.Since, to)
		at = r.Since
		return json.Marshal(r)
	})
	return at, err
}
