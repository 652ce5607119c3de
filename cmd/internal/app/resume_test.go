package app

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// awayStore is a store that cannot say at first what was left in it.
type awayStore struct {
	*store.Memory
	is     atomic.Bool
	looked atomic.Int32
}

func (a *awayStore) Open(ctx context.Context) ([]session.Key, error) {
	a.looked.Add(1)
	if a.is.Load() {
		return nil, errors.New("the disk is away")
	}
	return a.Memory.Open(ctx)
}

// TestResumeTriesAgain: what an earlier process left is answered although the store is away at
// the start, and a stop ends the attempts.
func TestResumeTriesAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		kept := &awayStore{Memory: &store.Memory{}}
		if _, _, err := kept.Accept(t.Context(), store.Item{Session: "agent:main:left", Message: []byte(`{"text":"hello"}`), Holder: "an earlier process"}); err != nil {
			t.Fatal(err)
		}
		start := func(m *fake.Model) *App {
			e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}}, Store: kept})
			if err != nil {
				t.Fatal(err)
			}
			a := &App{Engine: e, settings: Config{Log: slog.New(slog.DiscardHandler)}}
			a.resume(t.Context())
			return a
		}
		kept.is.Store(true)
		never := fake.New()
		a := start(never)
		time.Sleep(time.Hour)
		if n := kept.looked.Load(); n < 10 || n > 100 {
			t.Errorf("the store was asked %d times in an hour", n)
		}
		if err := a.Close(); err != nil { // it does not wait for the store
			t.Fatal(err)
		}
		m := fake.New(fake.Step{Text: "hi"})
		a = start(m)
		time.Sleep(10 * time.Minute)
		kept.is.Store(false)
		time.Sleep(lastResume + time.Second)
		if n := len(m.Requests()); n != 1 {
			t.Errorf("the model was asked %d times, want once", n)
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
	})
}
