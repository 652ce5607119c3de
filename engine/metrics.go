package engine

import (
	"context"
	"io"

	"github.com/etui-run/etui/engine/internal/metrics"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/store"
)

// Metrics writes what the engine did since it was made, and what it does now, in the
// text format of Prometheus. It fails when w does.
func (e *Engine) Metrics(ctx context.Context, w io.Writer) error {
	now := metrics.State{
		Tools: e.Catalog().Len(), Panics: panics.Count(e.config.Log),
		Depth: map[store.State]uint64{}, Age: map[store.State]uint64{}, Refused: e.Refusals(ctx),
	}
	now.Running, now.Waiting = e.box.Depth()
	for _, state := range []store.State{store.Waiting, store.Answered, store.Parked} {
		n, oldest, err := e.config.Store.Depth(ctx, state)
		if err != nil {
			continue // the store says when it is away; the rest is known
		}
		now.Depth[state], now.Age[state] = uint64(n), 0
		if n > 0 {
			now.Age[state] = uint64(max(e.config.Now().Sub(oldest).Seconds(), 0))
		}
	}
	return e.meter.Write(w, now)
}
