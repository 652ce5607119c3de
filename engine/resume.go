package engine

import (
	"context"
	"sync"

	"github.com/etui-run/etui/internal/panics"
)

// Resume goes on with what other processes left: it resumes open turns, works on what
// waits in the inbox, and reports calls that went on after their turn as lost. It returns
// when all of that is done, or when ctx ends: then the rest is left for the next time. With a
// [store.Shared], processes may end at any time, and Resume goes on until ctx ends. Call it
// once, before or while the engine serves, and with any other store in one process only. If
// it fails while ctx goes on, the store could not be read, nothing was taken up, and it may be
// called again.
func (e *Engine) Resume(ctx context.Context) error {
	if e.shared == nil {
		return e.box.Resume(ctx)
	}
	var followers sync.WaitGroup
	defer followers.Wait()
	for what, loop := range map[string]func(context.Context){
		"following what is changed of agents": e.agents.Roster.Follow,
		"following past turns":                e.learner.Follow,
	} {
		followers.Go(func() {
			defer panics.Log(e.config.Log, what)
			loop(ctx)
		})
	}
	return e.box.Resume(ctx)
}
