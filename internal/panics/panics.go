// Package panics keeps a panic in one goroutine from ending the process, and so the work of
// everybody else. Every goroutine of etui begins with one of these.
package panics

import (
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
)

// Error is a panic as an error.
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("it failed unexpectedly: %v", e.Value) }

// Try calls f and returns a panic of it as an [*Error].
func Try(f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &Error{p, debug.Stack()}
		}
	}()
	return f()
}

// Log logs the panic of a goroutine that defers it first. Doing says what the goroutine
// does. A nil log is slog's default one.
func Log(log *slog.Logger, doing string) {
	if p := recover(); p != nil {
		if log == nil {
			log = slog.Default()
		}
		log.Error("etui failed unexpectedly", "doing", doing, "panic", p, "stack", string(debug.Stack()))
	}
}

// Group is a [sync.WaitGroup] for the parts of one piece of work: a panic in one of them
// becomes a panic of the goroutine that waits. The zero value is ready to use.
type Group struct {
	parts sync.WaitGroup
	once  sync.Once
	first *Error
}

// Go runs a part of the work.
func (g *Group) Go(f func()) {
	g.parts.Go(func() {
		defer func() {
			if p := recover(); p != nil {
				g.once.Do(func() { g.first = &Error{p, debug.Stack()} })
			}
		}()
		f()
	})
}

// Wait returns when all parts have ended. It panics with an [*Error] if one of them did.
func (g *Group) Wait() {
	g.parts.Wait()
	if g.first != nil {
		panic(g.first)
	}
}
