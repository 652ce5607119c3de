// Package panics keeps a panic in one goroutine from ending the process, and so the work of
// everybody else. Every goroutine of etui begins with one of these.
//
// A caught panic is logged, and counted by the handler of [CountIn]. Packages without a log
// pass nil, which means slog's default one: `etui serve` makes its own log the default.
package panics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Error is a panic as an error.
type Error struct {
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("it failed unexpectedly: %v", e.Value) }

// Try calls f, logs a panic of it and returns it as an [*Error].
func Try(log *slog.Logger, doing string, f func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Report(log, doing, p)
		}
	}()
	return f()
}

// Log logs the panic of a goroutine that defers it first. Doing says what the goroutine
// does.
func Log(log *slog.Logger, doing string) {
	if p := recover(); p != nil {
		_ = Report(log, doing, p) // it is logged
	}
}

// Report logs what was recovered: any value, or an error that wraps an [*Error].
func Report(log *slog.Logger, doing string, p any) error {
	if log == nil {
		log = slog.Default()
	}
	var caught *Error
	if err, ok := p.(error); !ok || !errors.As(err, &caught) {
		caught = &Error{p, debug.Stack()}
	}
	log.Error("etui failed unexpectedly", "doing", doing, key, caught.Value, "stack", string(caught.Stack))
	return caught
}

// key is the attribute by which a record is known as that of a panic.
const key = "panic"

// counter is a handler that counts the records of panics, whatever it lets pass.
type counter struct {
	slog.Handler
	caught *atomic.Uint64
}

// CountIn returns a log that counts the panics that are reported to it and to the logs
// that are made from it; log itself if it does.
func CountIn(log *slog.Logger) *slog.Logger {
	if _, ok := log.Handler().(counter); ok {
		return log
	}
	return slog.New(counter{log.Handler(), new(atomic.Uint64)})
}

// Count returns how many panics a log of [CountIn] has counted; 0 for others.
func Count(log *slog.Logger) uint64 {
	if c, ok := log.Handler().(counter); ok {
		return c.caught.Load()
	}
	return 0
}

// Enabled implements [slog.Handler].
func (c counter) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || c.Handler.Enabled(ctx, level)
}

// Handle implements [slog.Handler].
func (c counter) Handle(ctx context.Context, r slog.Record) error {
	r.Attrs(func(a slog.Attr) bool {
		if a.Key == key {
			c.caught.Add(1)
		}
		return a.Key != key
	})
	if !c.Handler.Enabled(ctx, r.Level) {
		return nil
	}
	return c.Handler.Handle(ctx, r)
}

// WithAttrs implements [slog.Handler].
func (c counter) WithAttrs(attrs []slog.Attr) slog.Handler {
	return counter{c.Handler.WithAttrs(attrs), c.caught}
}

// WithGroup implements [slog.Handler].
func (c counter) WithGroup(name string) slog.Handler {
	return counter{c.Handler.WithGroup(name), c.caught}
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
