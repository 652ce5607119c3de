package secret

import (
	"slices"
	"sync"
	"sync/atomic"
)

// MaxKnown is how many values a [Known] holds at most. Beyond that it forgets those of
// the owner that was set longest ago.
const MaxKnown = 10_000

// Known is the set of secrets that a program knows, which may change. It is safe for
// concurrent use. Its zero value and nil are empty.
type Known struct {
	current atomic.Pointer[Redactor] // nil after a change, until it is needed

	mu     sync.Mutex // guards owners
	owners []owner    // the one that was set last comes last
}

type owner struct {
	name   string
	values []Value
}

// Set replaces the values of an owner, such as a file, with values and their
// [Value.Parts]. Better keep the values of an owner that has gone: later texts may
// still contain them.
func (k *Known) Set(name string, values ...Value) {
	var all []Value
	for _, v := range values {
		all = append(all, v.Parts()...)
	}
	all = slices.DeleteFunc(all, func(v Value) bool { return len(v) < Shortest })
	k.mu.Lock()
	defer k.mu.Unlock()
	at := slices.IndexFunc(k.owners, func(o owner) bool { return o.name == name })
	if at >= 0 && slices.Equal(k.owners[at].values, all) || at < 0 && len(all) == 0 {
		return
	}
	if at >= 0 {
		k.owners = slices.Delete(k.owners, at, at+1)
	}
	k.owners = append(k.owners, owner{name, all[:min(len(all), MaxKnown)]})
	for k.count() > MaxKnown {
		k.owners = slices.Delete(k.owners, 0, 1)
	}
	k.current.Store(nil)
}

func (k *Known) count() (n int) {
	for _, o := range k.owners {
		n += len(o.values)
	}
	return n
}

// Redactor returns a redactor of all current values. It is cached until the next Set.
func (k *Known) Redactor() Redactor {
	if k == nil {
		return Redactor{}
	}
	if r := k.current.Load(); r != nil {
		return *r
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var values []Value
	for _, o := range k.owners {
		values = append(values, o.values...)
	}
	r := NewRedactor(values...)
	k.current.Store(&r)
	return r
}
