package channel

import (
	"context"
	"time"

	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/turn"
)

const (
	// unfolding is how often people are shown at most which calls are made.
	unfolding = 300 * time.Millisecond
	// maxArguments and maxOutcome are how many characters people are shown of a call.
	maxArguments, maxOutcome = 2_000, 4_000
)

// Call is a call of a tool that is made for a message, as people are shown it: cut, and without secrets.
type Call struct {
	ID, Name string
	// Arguments are JSON, unless they were cut. They come with the beginning of the call only.
	Arguments string
	// Done means that the call has ended: Result is what it gave, or why it failed.
	Done, Failed bool
	Result       string
}

// note keeps a call that begins or ends until it is shown. The caller holds mu.
func (l *live) note(e turn.Event) {
	secrets := l.account.engine.Agents().Secrets().Redactor()
	switch {
	case l.changed == nil:
		return
	case e.Call != nil:
		args := cut.Middle(string(secrets.JSON(e.Call.Arguments)), maxArguments)
		l.calls = append(l.calls, Call{ID: e.Call.ID, Name: e.Call.Name, Arguments: args})
	case e.Result != nil:
		text := cut.Middle(secrets.Text(e.Result.Text), maxOutcome)
		l.calls = append(l.calls, Call{ID: e.Result.CallID, Name: e.Result.Name, Done: true, Failed: e.Result.Failed,
			Result: text})
	}
	select {
	case l.changed <- struct{}{}:
	default:
	}
}

// unfold shows the calls of an answer until ctx ends, and then what is left.
func (l *live) unfold(ctx context.Context, shows Unfolder) {
	show := func() {
		l.mu.Lock()
		calls := l.calls
		l.calls = nil
		l.mu.Unlock()
		if len(calls) > 0 {
			within, done := context.WithTimeout(context.WithoutCancel(ctx), maxMark)
			defer done()
			_ = shows.Unfold(within, l.to, calls) // the answer comes anyway
		}
	}
	for ctx.Err() == nil {
		select {
		case <-l.changed:
			show()
			sleep.For(ctx, unfolding)
		case <-ctx.Done():
		}
	}
	show()
}

// unfolds begins to show the calls of an answer, where the channel can.
func (l *live) unfolds(ctx context.Context) {
	shows, ok := l.account.Channel.(Unfolder)
	if !ok {
		return
	}
	l.changed = make(chan struct{}, 1)
	l.account.turns.Go(func() {
		defer panics.Log(l.account.log, "showing the calls of an answer")
		l.unfold(ctx, shows)
	})
}
