package engine_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// replica is the store of one process of several, the others of which have ended. It may be
// away.
type replica struct {
	*store.Memory
	left            chan struct{}
	cannotOpen, off atomic.Bool
}

func (r *replica) Open(ctx context.Context) ([]session.Key, error) {
	if r.cannotOpen.Load() {
		return nil, errStore
	}
	return r.Memory.Open(ctx)
}

func (r *replica) Load(ctx context.Context, key session.Key, limit int) (session.Session, error) {
	if r.off.Load() {
		return session.Session{}, errStore
	}
	return r.Memory.Load(ctx, key, limit)
}

func (r *replica) Holder() string                           { return "this process" }
func (r *replica) Alive(context.Context) ([]string, error)  { return nil, nil }
func (r *replica) Claim(context.Context, store.Claim) error { return nil }
func (r *replica) Release(session.Key)                      {}
func (r *replica) Tell(session.Key, int64, []byte)          {}
func (r *replica) Left() <-chan struct{}                    { return r.left }
func (r *replica) Changed(string) <-chan struct{}           { return nil }
func (r *replica) Interrupt(context.Context, session.Key) (bool, error) {
	return false, nil
}
func (r *replica) Wanted(context.Context, session.Key) (bool, error) { return false, nil }

func (r *replica) Interruptions() <-chan store.Interruption { return nil }

// TestResumeLostCalls: a call that ended with its process is reported as lost, also if the
// store that several processes share was away when this one looked first, or was away for so
// long that the session was given up. No message waits there that would lead to it.
func TestResumeLostCalls(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]func(*replica) *atomic.Bool{
		"at the first look":      func(r *replica) *atomic.Bool { return &r.cannotOpen },
		"while it was taken up":  func(r *replica) *atomic.Bool { return &r.off },
		"not at all, to compare": func(*replica) *atomic.Bool { return new(atomic.Bool) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				kept := &replica{Memory: &store.Memory{}, left: make(chan struct{})}
				must(t, kept.Append(t.Context(), mainKey, session.State{Awaits: []session.Await{{ID: "a1", Call: "1", Tool: "slow", For: session.Outcome, Holder: "an ended process"}}}))
				g, _ := newEngine(t, func(c *engine.Config) { c.Store = kept }, fake.Step{Text: "It is lost."})
				ctx, cancel := context.WithCancel(t.Context())
				resumed := make(chan error)
				away(kept).Store(true)
				go func() { resumed <- g.Resume(ctx) }()
				time.Sleep(time.Hour)
				away(kept).Store(false)
				for range 3 {
					kept.left <- struct{}{}
					time.Sleep(time.Minute)
				}
				if s := load(t, kept); len(s.Awaits) != 0 {
					t.Errorf("it is still awaited: %+v", s.Awaits)
				}
				cancel()
				<-resumed
			})
		})
	}
}
