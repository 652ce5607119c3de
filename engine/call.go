package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/skill"
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
	m, err := e.told(message.New(sender))
	if err != nil {
		return chat.Result{}, err
	}
	a, err := e.agent(m.Agent)
	if err != nil {
		return chat.Result{}, err
	}
	leave, err := e.share(m, e.key(a, m)) // the tool takes as much as in a turn
	if err != nil {
		return chat.Result{}, err
	}
	defer leave()
	a, in, err := e.silent(ctx, m)
	if err != nil {
		return chat.Result{}, err
	}
	result, err := a.runner.Call(ctx, in, tool, args)
	if errors.Is(err, turn.ErrNoTool) && e.config.Skills != nil {
		if _, why := e.config.Skills.Get(tool); errors.Is(why, skill.ErrDisabled) && e.wouldSee(in, tool) {
			return chat.Result{Text: why.Error(), Failed: true}, why
		}
	}
	return result, err
}

// wouldSee reports whether the caller could see a skill that is not in the catalog now,
// if it were.
func (e *Engine) wouldSee(in turn.Input, name string) bool {
	entry, ok := e.config.Skills.Snapshot().Get(name)
	if !ok {
		return false
	}
	r := catalog.NewRegistry(nil)
	r.SetRules(e.Catalog().Rules())
	if r.Register(skill.AsTool(entry.Skill)) != nil {
		return false
	}
	_, stage := selection.New(r.Catalog(), e.config.Selection).Admit(selection.Request{Facts: in.Facts, Groups: in.Groups}, name)
	return stage == selection.Sent || stage > selection.Visibility
}

// Input returns what a turn of a message would get now, and what would run it. It takes a place of
// the sender's shares until leave is called: whoever makes a selection of it may ask a model.
func (e *Engine) Input(ctx context.Context, said Message) (_ *turn.Runner, _ turn.Input, leave func(), err error) {
	a, m, err := e.ready(message.New(said))
	if err != nil {
		return nil, turn.Input{}, nil, err
	}
	if leave, err = e.share(m, e.key(a, m)); err != nil {
		return nil, turn.Input{}, nil, err
	}
	in, err := e.loaded(ctx, a, m)
	if err != nil {
		leave()
		return nil, in, nil, err
	}
	return a.runner, in, leave, nil
}

// loaded returns what a turn of a message may know, in its session.
func (e *Engine) loaded(ctx context.Context, a *agent, m message.Mail) (turn.Input, error) {
	s, err := e.load(ctx, a, m)
	if err == nil {
		err = e.named(a, m, s)
	}
	return e.input(a, m, s), err
}

// Glance returns what a turn of a sender's message would get, whatever its text, and what would run
// it. A few callers at a time do, until leave is called: each has a conversation in memory.
func (e *Engine) Glance(ctx context.Context, sender Message) (_ *turn.Runner, _ turn.Input, leave func(), err error) {
	m, err := e.told(message.New(sender))
	if err != nil {
		return nil, turn.Input{}, nil, err
	}
	if leave, err = e.Look(ctx, e.people.Sender(m.Caller()).Record()); err != nil {
		return nil, turn.Input{}, nil, err
	}
	a, in, err := e.silent(ctx, m)
	if err != nil {
		leave()
		return nil, in, nil, err
	}
	return a.runner, in, leave, nil
}

// silent finds the agent of a message whose text does not matter, and what a turn
// may know of it.
func (e *Engine) silent(ctx context.Context, m message.Mail) (*agent, turn.Input, error) {
	m, err := e.told(m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	m.Text, m.Files = "", nil
	a, err := e.addressed(m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	in, err := e.loaded(ctx, a, m)
	return a, in, err
}
