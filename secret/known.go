package secret

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
)

// Limits of a [Set]. It refuses what exceeds them, and forgets nothing for it: otherwise
// one owner with many values could make it forget the secrets of the others.
const (
	MaxOwned = 500    // values of one owner
	MaxKnown = 10_000 // values of all
)

// Set is the set of secrets that a program knows, which may change. It is safe for
// concurrent use. Its zero value and nil are empty.
type Set struct {
	current atomic.Pointer[Redactor] // nil after a change, until it is needed

	mu     sync.Mutex // guards owners
	owners map[string][]Value
}

// Set replaces the values of an owner, such as a file, with values and their
// [Value.Parts], but for those that are [Value.Ordinary]. Better keep the values of an owner that has gone: later texts may
// still contain them. With too many values it changes nothing and returns an error.
func (k *Set) Set(owner string, values ...Value) error {
	var all []Value
	for _, v := range values {
		all = append(all, v.Parts()...)
	}
	return k.Mark(owner, slices.DeleteFunc(all, Value.Ordinary)...)
}

// Mark is Set for values that are hidden as they are, even if they are ordinary.
func (k *Set) Mark(owner string, all ...Value) error {
	all = slices.DeleteFunc(all, func(v Value) bool { return len(v) < Shortest })
	if len(all) > MaxOwned {
		return fmt.Errorf("%s holds %d secrets: at most %d can be kept out of answers and logs", owner, len(all),
			MaxOwned)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	old, ok := k.owners[owner]
	if slices.Equal(old, all) && (ok || len(all) == 0) {
		return nil
	}
	total := len(all) - len(old)
	for _, values := range k.owners {
		total += len(values)
	}
	if total > MaxKnown {
		return fmt.Errorf("%s holds %d secrets, which makes %d in all: at most %d can be kept out of answers and logs",
			owner, len(all), total, MaxKnown)
	}
	if k.owners == nil {
		k.owners = map[string][]Value{}
	}
	k.owners[owner] = all
	k.current.Store(nil)
	return nil
}

// Redactor returns a redactor of all current values. It is cached until the next Set.
func (k *Set) Redactor() Redactor {
	if k == nil {
		return Redactor{}
	}
	if r := k.current.Load(); r != nil {
		return *r
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var values []Value
	for _, of := range k.owners {
		values = append(values, of...)
	}
	r := NewRedactor(values...)
	k.current.Store(&r)
	return r
}
