// Package fake plays scripts in the place of a language model, for tests.
package fake

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Step is one answer of a script.
type Step struct {
	// Text is said first, in one piece.
	Text string
	// Calls are asked for then.
	Calls []chat.Call
	// Err ends the answer, after Text and Calls.
	Err error
	// Wait, when not nil, is waited for before anything is answered.
	Wait <-chan struct{}
	// Check, when not nil, may refuse the request.
	Check func(model.Request) error
	// Usage is what the provider counts.
	Usage model.Usage
}

// Model plays a script, a step for each request. It is safe for concurrent use.
type Model struct {
	mu       sync.Mutex
	steps    []Step
	requests []model.Request
	// Window is what Info says; set it before the model is used.
	Window int
}

var _ model.Model = (*Model)(nil)

// New returns a model that plays the steps in order.
func New(steps ...Step) *Model { return &Model{steps: steps} }

// Call makes a call for a step.
func Call(id, name, arguments string) chat.Call {
	return chat.Call{ID: id, Name: name, Arguments: []byte(arguments)}
}

// Info implements [model.Model].
func (m *Model) Info() model.Info { return model.Info{Name: "fake", Window: m.Window} }

// Requests returns what the model has been asked so far.
func (m *Model) Requests() []model.Request {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// Stream implements [model.Model].
func (m *Model) Stream(ctx context.Context, req model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		step, err := m.next(req)
		if err != nil {
			yield(model.Event{}, err)
			return
		}
		if step.Wait != nil {
			select {
			case <-step.Wait:
			case <-ctx.Done():
			}
		}
		if err := ctx.Err(); err != nil {
			yield(model.Event{}, err)
			return
		}
		if step.Text != "" && !yield(model.Event{Text: step.Text}, nil) {
			return
		}
		for _, c := range step.Calls {
			if !yield(model.Event{Call: &c}, nil) {
				return
			}
		}
		if step.Err != nil {
			yield(model.Event{}, step.Err)
			return
		}
		stop := model.Done
		if len(step.Calls) > 0 {
			stop = model.ToolCalls
		}
		yield(model.Event{Stop: stop, Usage: &step.Usage}, nil)
	}
}

func (m *Model) next(req model.Request) (Step, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	req.Messages, req.Tools = slices.Clone(req.Messages), slices.Clone(req.Tools)
	m.requests = append(m.requests, req)
	if len(m.steps) == 0 {
		return Step{}, fmt.Errorf("the script has no answer to request %d", len(m.requests))
	}
	step := m.steps[0]
	m.steps = m.steps[1:]
	if step.Check != nil {
		if err := step.Check(req); err != nil {
			return Step{}, fmt.Errorf("request %d: %w", len(m.requests), err)
		}
	}
	return step, nil
}
