package engine

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// Select makes the selection that a message would get now, without running a
// turn or storing anything.
func (e *Engine) Select(ctx context.Context, m Message) (*selection.Selection, error) {
	a, in, leave, err := e.asked(ctx, m)
	if err != nil {
		return nil, err
	}
	defer leave()
	return a.runner.Select(ctx, in), nil
}

// Explain is Select and tells which of the selected tools the policy would not let
// the sender call.
func (e *Engine) Explain(ctx context.Context, m Message) (*selection.Selection, []turn.Judgement, error) {
	a, in, leave, err := e.asked(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	sel := a.runner.Select(ctx, in)
	var sent []string
	for _, entry := range slices.Concat(sel.Declared, sel.Announced, sel.Named) {
		sent = append(sent, entry.Definition.Name)
	}
	return sel, refused(ctx, a, in, sent), nil
}

// asked finds the agent of a message, and what a turn may know of it. The selection takes a place
// of the sender's shares until leave is called: it may ask a model.
func (e *Engine) asked(ctx context.Context, said Message) (_ *agent, _ turn.Input, leave func(), err error) {
	a, m, err := e.ready(newMail(said))
	if err != nil {
		return nil, turn.Input{}, nil, err
	}
	if leave, err = e.share(m, e.key(a, m)); err != nil {
		return nil, turn.Input{}, nil, err
	}
	in, err := e.loaded(ctx, a, m)
	if err != nil {
		leave()
	}
	return a, in, leave, err
}

// loaded returns what a turn of a message may know, in its session.
func (e *Engine) loaded(ctx context.Context, a *agent, m mail) (turn.Input, error) {
	s, err := e.load(ctx, a, m)
	if err == nil {
		err = e.named(a, m, s)
	}
	return e.input(a, m, s), err
}

// maxTurns is how many turns Why returns at most.
const maxTurns = 100

// maxLooked is how many messages of a conversation are looked through for them.
const maxLooked = 2000

// Turn is an earlier message with what it got.
type Turn struct {
	Text      string            `json:"text"`
	Time      time.Time         `json:"time,omitzero"`
	Selection selection.Compact `json:"selection"`
	// Refused are the tools of the selection that the policy would not let the
	// sender call now.
	Refused []turn.Judgement `json:"refused,omitempty"`
}

// Why returns what the last messages of a conversation got, newest first, as it
// was stored with them: of n messages, or 1 when n is 0. The conversation is
// found as for m, whose text is not needed. Messages whose record is missing or
// cannot be read are left out.
//
// The answer is for operators, unless own is set: then tools that the sender may
// not use are left out, in names and in counts, and rule names are withheld.
func (e *Engine) Why(ctx context.Context, sender Message, n int, own bool) ([]Turn, error) {
	sender.History = nil
	m, err := e.told(newMail(sender))
	if err != nil {
		return nil, err
	}
	leave, err := e.look(ctx, e.sender(m).Record())
	if err != nil {
		return nil, err
	}
	defer leave()
	a, in, err := e.silent(ctx, m)
	if err != nil {
		return nil, err
	}
	past, err := e.loadLast(ctx, a, m, maxLooked)
	if err != nil {
		return nil, err
	}
	shown := func(c selection.Compact) selection.Compact { return c }
	if own {
		in.Again = true // no question is asked
		sel := a.runner.Select(ctx, in)
		skills := slices.Collect(sel.OfferedSkills())
		shown = func(c selection.Compact) selection.Compact {
			return c.Only(func(name string) bool {
				entry, ok := sel.Catalog().Get(name)
				return ok && sel.Stage(entry).Usable()
			}, func(name string) bool { return slices.Contains(skills, name) })
		}
	}
	turns := []Turn{}
	for _, m := range slices.Backward(past.Messages) {
		if len(turns) == min(max(n, 1), maxTurns) {
			break
		}
		if m.Role != chat.User || m.Text == "" || m.Why == nil {
			continue
		}
		t := Turn{Text: m.Text, Time: m.Time}
		if err := json.Unmarshal(m.Why, &t.Selection); err != nil {
			e.config.Log.WarnContext(ctx, "the record of a selection cannot be read", "session", in.Session.Key, "error", err)
			continue
		}
		t.Selection = shown(t.Selection)
		var sent []string
		for _, s := range t.Selection.Reached() {
			sent = append(sent, s.Tool)
		}
		t.Refused = refused(ctx, a, in, sent)
		for i := range t.Refused {
			if own { // rule names are withheld from the sender
				t.Refused[i].Rule, t.Refused[i].Reason = "", ""
			}
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// refused returns the tools whose call the policy would refuse now.
func refused(ctx context.Context, a *agent, in turn.Input, tools []string) []turn.Judgement {
	return slices.DeleteFunc(a.runner.Judge(ctx, in, tools...), func(j turn.Judgement) bool { return j.Stage != turn.StagePolicy })
}
