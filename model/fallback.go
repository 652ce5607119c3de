package model

import (
	"context"
	"errors"
	"fmt"
	"iter"
)

// Fallback returns a model that asks the first one, and when that fails before
// it has answered anything, the next. A request that was refused for what it is
// (ErrRequest of an unknown model aside, ErrTooLong) would be refused by others
// too, but another model may be known or have a larger window, so every kind of
// failure but a cancelled request goes on to the next. Info is the first
// model's, with the smallest known window. With no others it is the first model
// itself.
func Fallback(first Model, others ...Model) Model {
	if len(others) == 0 {
		return first
	}
	return &fallback{append([]Model{first}, others...)}
}

type fallback struct{ models []Model }

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
		var failed []error
		for _, m := range f.models {
			begun := false
			var failure error
			for e, err := range m.Stream(ctx, req) {
				if err != nil && !begun && ctx.Err() == nil {
					failure = err
					break
				}
				begun = true
				if !yield(e, err) || err != nil {
					return
				}
			}
			if failure == nil {
				return
			}
			failed = append(failed, failure)
		}
		yield(Event{}, all(failed))
	}
}

// all joins the failures of all models into one that has the kind of the last.
func all(failed []error) error {
	last := failed[len(failed)-1]
	var e *Error
	if !errors.As(last, &e) {
		return fmt.Errorf("all models failed: %w", errors.Join(failed...))
	}
	whole := *e
	for _, earlier := range failed[:len(failed)-1] {
		whole.Detail += "; before that: " + earlier.Error()
	}
	return &whole
}
