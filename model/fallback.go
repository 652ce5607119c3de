package model

import (
	"context"
	"errors"
	"iter"
	"strings"
)

// Fallback returns a model that asks the first model and, if that fails before the
// first event, the next one.
//
// It continues after [ErrUnavailable], [ErrRateLimited] and [ErrAuth], which concern
// one provider. It does not continue after [ErrRequest] and [ErrTooLong]: the other
// models would refuse the same request, and the mistake would go unnoticed. Nor does
// it continue when ctx has ended or after the first event: two models cannot share an
// answer.
//
// Info is the first model's, with the smallest known window, so that every request
// fits all models. If all fail, the error names each of them and errors.Is finds every
// kind. Without others, Fallback returns the first model itself.
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

// relay yields a stream. If the stream fails before its first event, relay returns the
// error instead.
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

// failures are the errors of several models, in the order of asking.
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
