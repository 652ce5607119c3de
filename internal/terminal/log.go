package terminal

import (
	"context"
	"log/slog"
)

// Without returns a logger that leaves out records with a message: a command prints what they say
// as its own error.
func Without(log *slog.Logger, message string) *slog.Logger {
	return slog.New(without{log.Handler(), message})
}

type without struct {
	slog.Handler
	message string
}

func (h without) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == h.message {
		return nil
	}
	return h.Handler.Handle(ctx, r)
}

func (h without) WithAttrs(list []slog.Attr) slog.Handler {
	return without{h.Handler.WithAttrs(list), h.message}
}

func (h without) WithGroup(name string) slog.Handler {
	return without{h.Handler.WithGroup(name), h.message}
}
