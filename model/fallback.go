package model

import (
	"context"
	"errors"
	"iter"
	"slices"
	"strings"
)

// Fallback returns a model that asks the first model and, if that fails before the
// first event, the next one. Models that rest after earlier failures come last: see
// [Watch], which Fallback applies to models that are not watched.
//
// It continues after [ErrUnavailable], [ErrRateLimited], [ErrAuth], [ErrBilling] and
// [ErrNoModel], which concern one provider. After [ErrTooLong] it continues with models
// of a larger window. It does not continue after [ErrRequest]: the other models would
// refuse the same request, and the mistake would go unnoticed. Nor does it continue when
// ctx has ended or after the first event: two models cannot share an answer.
//
// Info is the first model's, with the smallest known window and the longest answer, so
// that every request fits all models. If all fail, the error names each of them and errors.Is finds every
// kind. Without others, Fallback returns the first model itself.
func Fallback(first Model, others ...Model) Model {
	if len(others) == 0 {
		return first
	}
	f := &fallback{}
	for _, m := range append([]Model{first}, others...) {
		w, ok := m.(*Monitor)
		if !ok {
			w = Watch(m)
		}
		f.models = append(f.models, w)
	}
	return f
}

type fallback struct{ models []*Monitor }

var _ Model = (*fallback)(nil)

func (f *fallback) Info() Info {
	info := f.models[0].Info()
	for _, m := range f.models[1:] {
		if w := m.Info().Window; w > 0 && (info.Window == 0 || w < info.Window) {
			info.Window = w
		}
		info.Answer = max(info.Answer, m.Info().Answer)
	}
	return info
}

func (f *fallback) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		var failed failures
		tooSmall := -1 // the largest window that the request did not fit
		for m, others := range f.order() {
			if m.Info().Window <= tooSmall {
				continue
			}
			asking := ctx
			if others {
				asking = context.WithValue(ctx, hasOthers{}, true)
			}
			failure := relay(m.Stream(asking, req), yield)
			if failure == nil {
				return
			}
			if ctx.Err() != nil {
				yield(Event{}, failure)
				return
			}
			failed = append(failed, failure)
			if errors.Is(failure, ErrRequest) {
				break
			}
			if errors.Is(failure, ErrTooLong) {
				tooSmall = max(tooSmall, m.Info().Window)
			}
		}
		yield(Event{}, failed.join())
	}
}

// order yields the models in the order in which they are asked, each with whether one
// that does not rest follows it. Those that rest come last.
func (f *fallback) order() iter.Seq2[*Monitor, bool] {
	return func(yield func(*Monitor, bool) bool) {
		var resting []*Monitor
		for i, m := range f.models {
			switch {
			case !m.take():
				resting = append(resting, m)
			case !yield(m, slices.ContainsFunc(f.models[i+1:], (*Monitor).awake)):
				return
			}
		}
		for _, m := range resting {
			if !yield(m, false) {
				return
			}
		}
	}
}

// hasOthers is the key of a context whose request another model can answer: it is not
// worth waiting for this one's rate limit.
type hasOthers struct{}

// relay yields a stream. If the stream fails before it says anything, relay returns the
// error instead.
func relay(stream iter.Seq2[Event, error], yield func(Event, error) bool) error {
	begun := false
	for e, err := range stream {
		if err != nil && !begun {
			return err
		}
		begun = begun || len(e.Thought) == 0
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
