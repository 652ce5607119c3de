package inspect

import (
	"context"
	"fmt"
	"slices"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Flow returns the run of a workflow in a session, as it was stored last; nil when there was
// none. The caller must not change it.
func (i *Inspector) Flow(ctx context.Context, key session.Key) (*session.Flow, error) {
	s, err := i.engine.Store().Load(ctx, key, 1)
	return s.Flow, err
}

// RunStatus is a workflow that runs, or waits for a person.
type RunStatus struct {
	Session session.Key `json:"session"`
	// Flow is where the run is, without its evidence.
	Flow *session.Flow `json:"flow"`
	// Waits is how many of its calls wait for an approval.
	Waits int `json:"waits,omitempty"`
}

// maxRuns bounds the turns that wait and those that run at which [Inspector.Runs] looks.
const maxRuns = 100

// Runs returns the workflows that run or wait for a person, whichever process runs them.
func (i *Inspector) Runs(ctx context.Context) ([]RunStatus, error) {
	list := []RunStatus{}
	keys, err := i.engine.Store().Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("looking for workflows that run: %w", err)
	}
	// Those that work are perhaps at other processes.
	working, err := i.engine.Store().Items(ctx, store.ItemFilter{State: store.Waiting, Limit: maxRuns})
	for _, item := range working {
		if !slices.Contains(keys, item.Session) {
			keys = append(keys, item.Session)
		}
	}
	for _, key := range keys[:min(len(keys), maxRuns)] {
		s, err := i.engine.Store().Load(ctx, key, 1)
		if err != nil {
			return nil, fmt.Errorf("looking for workflows that run: %w", err)
		}
		if !s.Flow.Runs() {
			continue
		}
		r := RunStatus{Session: key, Flow: s.Flow.Brief()}
		for _, a := range s.Awaits {
			if a.For == session.Approval {
				r.Waits++
			}
		}
		list = append(list, r)
	}
	return list, err
}

// Waiting returns how many messages of a session run or wait.
func (i *Inspector) Waiting(ctx context.Context, key session.Key) (int, error) {
	items, err := i.engine.Store().Items(ctx, store.ItemFilter{Session: key, State: store.Waiting, Limit: maxCounted})
	if err != nil {
		err = fmt.Errorf("%w: %w", engine.ErrStore, err)
	}
	return len(items), err
}

// maxCounted is how far Waiting counts.
const maxCounted = 1000
