package engine

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
)

// Question asks what a message would get.
type Question struct {
	Message
	// Alternatives asks also what it would get under every other skill and with
	// the roles and channels of Try.
	Alternatives bool          `json:"alternatives,omitempty"`
	Try          selection.Try `json:"try,omitzero"`
}

// Answer is what a message would get.
type Answer struct {
	selection.Explanation
	// Refused are the tools among what is sent that the policy would not let the
	// caller call.
	Refused []turn.Judgement `json:"refused,omitempty"`
}

func (g *Gateway) selects(w http.ResponseWriter, r *http.Request) {
	var q Question
	if !read(w, r, &q) {
		return
	}
	sel, err := g.Select(r.Context(), q.Message)
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	x := Answer{Explanation: sel.Explain()}
	if q.Alternatives {
		x.Alternatives = sel.Alternatives(q.Try)
	}
	a, in, err := g.caller(r.Context(), q.Message)
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	var sent []string
	for _, e := range slices.Concat(sel.Declared, sel.Announced) {
		sent = append(sent, e.Definition.Name)
	}
	x.Refused = refused(r.Context(), a, in, sent, false)
	reply(w, http.StatusOK, x)
}

// Look asks back: what earlier messages of a conversation got. The conversation
// is found as for the Message, whose text is not needed.
type Look struct {
	Message
	// Turns is how many messages are looked back at; 0 means 1, and at most 100
	// are told.
	Turns int `json:"turns,omitempty"`
	// Own leaves out the tools that the caller may not use, in names and counts:
	// for showing the answer to the one who asked. Without it the answer is for
	// operators.
	Own bool `json:"own,omitempty"`
}

const maxTurns = 100

// maxLooked is how many messages of a conversation are looked through for them.
const maxLooked = 2000

// Turn is an earlier message with what it got.
type Turn struct {
	Text      string            `json:"text"`
	Time      time.Time         `json:"time,omitzero"`
	Selection selection.Compact `json:"selection"`
	// Refused are the tools of the selection that the caller could see, and that the
	// policy would not let it call now.
	Refused []turn.Judgement `json:"refused,omitempty"`
}

// Why tells what earlier messages of a conversation got, newest first, as it was
// stored with them. Messages of which nothing is stored, or nothing that can be
// read, are left out.
func (g *Gateway) Why(ctx context.Context, l Look) ([]Turn, error) {
	l.Text, l.History = "why", nil
	a, err := g.check(l.Message)
	if err != nil {
		return nil, err
	}
	s, err := g.loadLast(ctx, a, l.Message, maxLooked)
	if err != nil {
		return nil, err
	}
	shown := func(c selection.Compact) selection.Compact { return c }
	if l.Own {
		in := g.input(a, l.Message, s)
		in.Again = true // it is no question
		sel := a.runner.Select(ctx, in)
		skills := slices.Collect(sel.OfferedSkills())
		shown = func(c selection.Compact) selection.Compact {
			return c.Only(func(name string) bool {
				e, ok := sel.Catalog().Get(name)
				return ok && sel.Stage(e).Usable()
			}, func(name string) bool { return slices.Contains(skills, name) })
		}
	}
	turns := []Turn{}
	for i := len(s.Messages) - 1; i >= 0 && len(turns) < min(max(l.Turns, 1), maxTurns); i-- {
		m := s.Messages[i]
		if m.Role != chat.User || m.Text == "" || m.Why == nil {
			continue
		}
		t := Turn{Text: m.Text, Time: m.Time}
		if err := json.Unmarshal(m.Why, &t.Selection); err != nil {
			g.config.Log.WarnContext(ctx, "what is stored on a selection cannot be read", "session", s.Key, "error", err)
			continue
		}
		t.Selection = shown(t.Selection)
		var sent []string
		for _, s := range slices.Concat(t.Selection.Declared, t.Selection.Announced) {
			sent = append(sent, s.Tool)
		}
		t.Refused = refused(ctx, a, g.input(a, l.Message, s), sent, l.Own)
		turns = append(turns, t)
	}
	return turns, nil
}

// refused returns those tools that the policy would not let a caller call now. Who
// asked is told of no rules.
func refused(ctx context.Context, a *agent, in turn.Input, tools []string, own bool) []turn.Judgement {
	list := slices.DeleteFunc(a.runner.Judge(ctx, in, tools...), func(j turn.Judgement) bool { return j.Stage != turn.StagePolicy })
	for i := range list {
		if own {
			list[i].Rule, list[i].Reason = "", ""
		}
	}
	return list
}

func (g *Gateway) why(w http.ResponseWriter, r *http.Request) {
	var l Look
	if !read(w, r, &l) {
		return
	}
	turns, err := g.Why(r.Context(), l)
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	reply(w, http.StatusOK, turns)
}
