// Package fake plays scripts in place of a language model, for tests. It needs no
// network and no clock: delays pass under testing/synctest.
package fake

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/model"
)

// Step is one answer of a script. Every field is optional: without a text, calls and an error the
// answer is "ok".
type Step struct {
	// Check sees the request first; its error fails the request. It runs while the
	// model's lock is held and must not use the model.
	Check func(model.Request) error
	// Wait, if not nil, delays the answer until a receive from it succeeds.
	Wait <-chan struct{}
	// Delay passes before each piece.
	Delay time.Duration
	// Text comes first, in one piece.
	Text string
	// Pieces follow, one event each.
	Pieces []string
	// Calls follow the text.
	Calls []chat.Call
	// Empty makes the answer say nothing.
	Empty bool
	// Err ends the answer after everything else. It is yielded as is.
	Err error
	// Stop is why the answer ends; empty means model.ToolCalls if there are Calls,
	// else model.Done.
	Stop model.Stop
	// Usage is the provider's count.
	Usage model.Tokens
	// State is what the provider wants back with the calls.
	State json.RawMessage
}

// Call makes a call for a step.
func Call(id, name, arguments string) chat.Call {
	return chat.Call{ID: id, Name: name, Arguments: []byte(arguments)}
}

// Model plays a script, one step per request. It is safe for concurrent use, but
// concurrent requests get their steps in no particular order.
type Model struct {
	// Name, Window, CacheLife and Deferral are reported by Info; set them before using
	// the model. New sets the name "fake" and a cache life of five minutes.
	Name      string
	Window    int
	CacheLife time.Duration
	Deferral  bool

	mu       sync.Mutex
	steps    []Step
	requests []model.Request
}

var _ model.Model = (*Model)(nil)

// New returns a model that plays the steps in order. A request after the last
// one fails with a [*model.Error] of kind model.ErrRequest.
func New(steps ...Step) *Model { return &Model{Name: "fake", CacheLife: 5 * time.Minute, steps: steps} }

// Info implements [model.Model].
func (m *Model) Info() model.Info {
	return model.Info{Name: m.Name, Window: m.Window, CacheLife: m.CacheLife, Deferral: m.Deferral}
}

// Add appends steps to the script.
func (m *Model) Add(steps ...Step) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.steps = append(m.steps, steps...)
}

// Requests returns the requests so far, oldest first.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Left returns the number of steps that have not been played.
func (m *Model) Left() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.steps)
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		err := ctx.Err()
		var step Step
		if err == nil {
			step, err = m.next(req)
		}
		if err == nil {
			err = step.wait(ctx)
		}
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		for e := range step.events() {
			if !sleep.For(ctx, step.Delay) {
				yield(model.Event{}, ctx.Err())
				return
			}
			if len(e.State) > 0 {
				e.StateOf = m.Name
			}
			if !yield(e, nil) {
				return
			}
		}
		if step.Err != nil {
			yield(model.Event{}, step.Err)
		}
	}
}

// next records a request and takes its step.
func (m *Model) next(req model.Request) (Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req.Messages, req.Tools, req.Ranked = slices.Clone(req.Messages), slices.Clone(req.Tools), slices.Clone(req.Ranked)
	m.requests = append(m.requests, req)
	if len(m.steps) == 0 {
		return Step{}, m.failure("the script has no answer to request %d", len(m.requests))
	}
	step := m.steps[0]
	m.steps = m.steps[1:]
	if step.Text == "" && len(step.Pieces)+len(step.Calls) == 0 && step.Err == nil && !step.Empty {
		step.Text = "ok"
	}
	if step.Check != nil {
		if err := step.Check(req); err != nil {
			return Step{}, m.failure("request %d: %v", len(m.requests), err)
		}
	}
	return step, nil
}

func (m *Model) failure(format string, args ...any) error {
	return &model.Error{Model: m.Info().Name, Kind: model.ErrRequest, Detail: fmt.Sprintf(format, args...)}
}

// events yields all pieces of an answer; an answer that fails has no last event.
func (s Step) events() iter.Seq[model.Event] {
	return func(yield func(model.Event) bool) {
		for _, text := range append([]string{s.Text}, s.Pieces...) {
			if text != "" && !yield(model.Event{Text: text}) {
				return
			}
		}
		for _, c := range s.Calls {
			if !yield(model.Event{Call: &c}) {
				return
			}
		}
		stop := s.Stop
		if stop == "" {
			stop = model.Done
			if len(s.Calls) > 0 {
				stop = model.ToolCalls
			}
		}
		if s.Err == nil {
			yield(model.Event{Stop: stop, Usage: &s.Usage, State: s.State})
		}
	}
}

func (s Step) wait(ctx context.Context) error {
	if s.Wait == nil {
		return ctx.Err()
	}
	select {
	case <-s.Wait:
	case <-ctx.Done():
	}
	return ctx.Err()
}
