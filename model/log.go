package model

import (
	"context"
	"iter"
	"log/slog"
	"time"
)

// Log returns a model that does what m does and tells log how each request went:
// at level debug when it was answered, as a warning when it failed. Neither
// messages nor answers are logged. A request that the caller gave up is not a
// failure. Wrapped around each model of a [Fallback], it says which one answered.
func Log(m Model, log *slog.Logger) Model { return &logged{m, log} }

type logged struct {
	Model
	log *slog.Logger
}

func (l *logged) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		begun := time.Now()
		about := func() []any {
			return []any{slog.String("model", l.Info().Name), slog.Duration("took", time.Since(begun))}
		}
		for e, err := range l.Model.Stream(ctx, req) {
			switch {
			case err != nil && ctx.Err() == nil:
				l.log.WarnContext(ctx, "model failed", append(about(), slog.Any("error", err))...)
			case e.Stop != "":
				attrs := append(about(), slog.String("stop", string(e.Stop)))
				if u := e.Usage; u != nil {
					attrs = append(attrs, slog.Int("input", u.Input), slog.Int("cached", u.CacheRead), slog.Int("output", u.Output))
				}
				l.log.DebugContext(ctx, "model answered", attrs...)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
