package model

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// Fallback returns a model that asks the first one and, when that fails before
// it has answered anything, the next.
//
// It goes on after [ErrUnavailable], [ErrRateLimited] and [ErrAuth]: they are
// one provider's trouble. It does not go on after [ErrRequest] and [ErrTooLong]:
// a request that one model refuses for what it is would be refused by the others
// too, and silence would hide the mistake. Nor does it when ctx has ended, or
// after the first event: two models cannot share an answer.
//
// Info is the first model's, with the smallest known window, so that every
// request fits all of them. When all fail, the error names each one, and
// errors.Is finds the kind of each. With no others it is the first model itself.
func Fallback(first Model, others ...Model) Model {
	if len(others) == 0 {
		return first
	}
	return &fallback{append([]Model{first}, others...)}
}

type fallback struct{ models []Model }

var _ Model = (*fallback)(nil)

func (f *fallback) Info() Info {
	info := f.models[0].Info()
	for _, m := range f.models[1:] {
		if w := m.Info().Window; w > 0 && (info.Window == 0 || w < info.Window) {
			info.Window = w
		}
	}
	return info
}

func (f *fallback) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var failed failures
		for _, m := range f.models {
			failure := relay(m.Stream(ctx, req), yield)
			if failure == nil {
				return
			}
			if ctx.Err() != nil {
				yield(Event{}, failure)
				return
			}
			failed = append(failed, failure)
			if errors.Is(failure, ErrRequest) || errors.Is(failure, ErrTooLong) {
				break
			}
		}
		yield(Event{}, failed.join())
	}
}

// relay yields a stream, unless it fails before its first event: that failure
// is returned instead.
func relay(stream iter.Seq2[Event, error], yield func(Event, error) bool) error {
	begun := false
	for e, err := range stream {
		if err != nil && !begun {
			return err
		}
		begun = true
		if !yield(e, err) || err != nil {
			break
		}
	}
	return nil
}

// failures are those of several models, in the order in which they were asked.
type failures []error

// join returns one error for all of them.
func (f failures) join() error {
	if len(f) == 1 {
		return f[0]
	}
	return f
}

func (f failures) Error() string {
	texts := make([]string, len(f))
	for i, err := range f {
		texts[i] = err.Error()
	}
	return "no model answered: " + strings.Join(texts, "; ")
}

// Unwrap lets errors.Is and errors.As find each of them.
func (f failures) Unwrap() []error { return f }
