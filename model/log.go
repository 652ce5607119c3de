package model

import (
	"context"
	"iter"
	"log/slog"
	"time"
)

// Log returns a model that behaves like m and logs how each request went: an answer at
// level debug, a failure as a warning. It logs neither messages nor answers, and a
// request that the caller gave up is not a failure. Wrapped around each model of a
// [Fallback], it shows which one answered.
func Log(m Model, log *slog.Logger) Model { return &loggedModel{m, log} }

type loggedModel struct {
	Model
	log *slog.Logger
}

func (l *loggedModel) Stream(ctx context.Context, req Request) iter.Seq2[Event, error] {
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
					attrs = append(attrs, slog.Int("input", u.Input), slog.Int("cached", u.CacheRead),
						slog.Int("output", u.Output))
				}
				l.log.DebugContext(ctx, "model answered", attrs...)
			}
			if !yield(e, err) {
				return
			}
		}
	}
}
