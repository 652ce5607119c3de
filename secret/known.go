package secret

import (
	"slices"
	"sync"
	"sync/atomic"
)

// MaxKnown is how many values are known at most; the ones of the owner that was
// set longest ago are forgotten for more.
const MaxKnown = 10_000

// Known is all secrets that a program knows, while they come and go. It is safe
// for concurrent use, and its zero value and nil know none.
type Known struct {
	current atomic.Pointer[Redactor] // nil until somebody asks after a change

	mu     sync.Mutex // guards owners
	owners []owner    // the one that was set last comes last
}

type owner struct {
	name   string
	values []Value
}

// Set makes values, and the [Value.Parts] of them, the only ones that are known of
// an owner, such as a file. Values of an owner that has gone are best kept: they
// may still stand in what comes later.
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

// Redactor returns what hides all that is known now. It costs nothing unless
// something was set since it was last asked for.
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
