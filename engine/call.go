package engine

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/turn"
)

// Call runs one tool for the sender of a message, judged as in a turn of the
// message, whose text is not needed. The result has a text for the sender, also
// when the call failed; the error says what failed. A tool that does not exist,
// or that the sender may not use, is [turn.ErrNoTool].
func (e *Engine) Call(ctx context.Context, m Message, tool string, args json.RawMessage) (chat.Result, error) {
	a, in, err := e.silent(ctx, m)
	if err != nil {
		return chat.Result{}, err
	}
	result, err := a.runner.Call(ctx, in, tool, args)
	if errors.Is(err, turn.ErrNoTool) && e.config.Skills != nil {
		if _, why := e.config.Skills.Get(tool); errors.Is(why, skill.ErrDisabled) {
			return chat.Result{Text: why.Error(), Failed: true}, why
		}
	}
	return result, err
}

// Judge returns what would become of a call; nothing runs. Nil arguments leave out
// what depends on them.
func (e *Engine) Judge(ctx context.Context, m Message, tool string, args json.RawMessage) (turn.Judgement, error) {
	a, in, err := e.silent(ctx, m)
	switch {
	case err != nil:
		return turn.Judgement{}, err
	case args == nil:
		return a.runner.Judge(ctx, in, tool)[0], nil
	}
	return a.runner.JudgeCall(ctx, in, tool, args), nil
}

// silent finds the agent of a message whose text does not matter, and what a turn
// may know of it.
func (e *Engine) silent(ctx context.Context, m Message) (*agent, turn.Input, error) {
	m.Text = ""
	a, err := e.addressed(m)
	if err != nil {
		return nil, turn.Input{}, err
	}
	s, err := e.load(ctx, a, m)
	return a, e.input(a, m, s), err
}
