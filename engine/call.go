package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/turn"
)

// Call runs one tool for the sender of a message, judged as in a turn of the
// message, whose text is not needed. The result has a text for the sender, also
// when the call failed; the error says what failed. A tool that does not exist,
// or that the sender may not use, is [turn.ErrNoTool]. The call takes a place of the sender's
// shares, as a message does.
func (e *Engine) Call(ctx context.Context, sender Message, tool string, args json.RawMessage) (chat.Result, error) {
	e.box.Running.Begin()
	defer e.box.Running.End()
	if e.box.Stopping() {
		return chat.Result{}, ErrStopping
	}
	ctx, cancel := e.box.Suspendable(ctx)
	defer cancel()
	m, err := e.agents.Identify(message.New(sender))
	if err != nil {
		return chat.Result{}, err
	}
	a, err := e.agents.Get(m.Agent)
	if err != nil {
		return chat.Result{}, err
	}
	leave, err := e.shares.take(m, e.agents.Key(a, m)) // the tool takes as much as in a turn
	if err != nil {
		return chat.Result{}, err
	}
	defer leave()
	a, in, err := e.agents.Silent(ctx, m)
	if err != nil {
		return chat.Result{}, err
	}
	result, err := a.Runner.Call(ctx, in, tool, args)
	if errors.Is(err, turn.ErrNoTool) {
		if why := e.agents.WhyDisabled(in, tool); why != nil {
			return chat.Result{Text: why.Error(), Failed: true}, why
		}
	}
	return result, err
}

// Input returns what a turn of a message would get now, and what would run it. It takes a place of
// the sender's shares until leave is called: whoever makes a selection of it may ask a model.
func (e *Engine) Input(ctx context.Context, said Message) (_ *turn.Runner, _ turn.Input, leave func(), err error) {
	a, m, err := e.agents.Ready(message.New(said))
	if err != nil {
		return nil, turn.Input{}, nil, err
	}
	if leave, err = e.shares.take(m, e.agents.Key(a, m)); err != nil {
		return nil, turn.Input{}, nil, err
	}
	in, err := e.agents.LoadInput(ctx, a, m)
	if err != nil {
		leave()
		return nil, in, nil, err
	}
	return a.Runner, in, leave, nil
}

// Glance returns what a turn of a sender's message would get, whatever its text, and what would run
// it. A few callers at a time do, until leave is called: each has a conversation in memory.
func (e *Engine) Glance(ctx context.Context, sender Message) (_ *turn.Runner, _ turn.Input, leave func(), err error) {
	m, err := e.agents.Identify(message.New(sender))
	if err != nil {
		return nil, turn.Input{}, nil, err
	}
	if leave, err = e.sessions.Look(ctx, e.people.Sender(m.Caller()).Record()); err != nil {
		return nil, turn.Input{}, nil, err
	}
	a, in, err := e.agents.Silent(ctx, m)
	if err != nil {
		leave()
		return nil, in, nil, err
	}
	return a.Runner, in, leave, nil
}
