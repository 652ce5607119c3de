package postgres_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/store/postgres"
	"github.com/etui-run/etui/store/storetest"
	"github.com/etui-run/etui/usage"
)

func TestTurns(t *testing.T) {
	url := server.Database(t)
	storetest.TestTurns(t, func(t *testing.T, now func() time.Time) usage.Log {
		return open(t, url).Turns(postgres.TurnLimits{Most: 3, Age: 24 * time.Hour, Now: now})
	})
}

// Turns that are moved twice are there once, in the order of their time among those of
// other processes.
func TestMovedTurns(t *testing.T) {
	a := open(t, server.Database(t)).Turns(postgres.TurnLimits{Most: 50})
	now := time.Now()
	must(t, a.Add(t.Context(), usage.Turn{Time: now, Agent: "main", Text: "second"}))
	before := []usage.Turn{{Time: now.Add(-time.Hour), Agent: "main", Text: "first"}, {Time: now.Add(time.Hour), Agent: "main", Text: "third"}}
	must(t, a.Move(t.Context(), before[:1])) // one alone
	var both sync.WaitGroup
	for range 2 {
		both.Go(func() {
			if err := errors.Join(a.Move(t.Context(), before[:1]), a.Move(t.Context(), before)); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	list, err := a.List(t.Context(), usage.Filter{})
	must(t, err)
	if len(list) != 3 || list[0].Text != "first" || list[2].Text != "third" {
		t.Errorf("the turns are %+v", list)
	}
}

// looked is a log that says when it is read.
type looked struct {
	usage.Log
	list chan int // how many turns there were
}

func (l looked) List(ctx context.Context, f usage.Filter) ([]usage.Turn, error) {
	list, err := l.Log.List(ctx, f)
	l.list <- len(list)
	return list, err
}

// When turns are erased at one process, the others count the votes again.
func TestErasedTurnsDoNotVote(t *testing.T) {
	url := server.Database(t)
	goOn := make(chan struct{})
	close(goOn)
	m := piecemeal{"hi", goOn}
	sa, sb := open(t, url), open(t, url)
	log := looked{sb.Turns(postgres.TurnLimits{}), make(chan int, 100)}
	must(t, log.Add(t.Context(), usage.Turn{Time: time.Now(), Agent: "main", User: "ann", Text: "how warm is it", Tools: []string{"weather"}}))
	learn := func(l usage.Log) func(*engine.Config) {
		return func(c *engine.Config) { c.Learning = learning.Config{Keep: true, Vote: true, Log: l} }
	}
	a, b := newEngine(t, sa, m, learn(sa.Turns(postgres.TurnLimits{}))), newEngine(t, sb, m, learn(log))
	for _, err := range b.Send(t.Context(), engine.Message{Text: "is it cold", User: "bob"}) {
		must(t, err)
	}
	if n := <-log.list; n != 1 {
		t.Fatalf("%d questions vote, want 1", n)
	}
	n, err := a.Learner().Forget(t.Context(), "ann", false)
	if must(t, err); n != 1 {
		t.Errorf("%d turns were erased", n)
	}
	for n := 1; n > 0; {
		n = <-log.list
	}
}
