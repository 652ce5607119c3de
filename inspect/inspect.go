// Package inspect shows what there is: conversations, the inbox, and what a message would get and
// earlier ones got, and why. It runs no turn and stores nothing.
package inspect

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/agent"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// Engine knows what turns get, see [engine.Engine].
type Engine interface {
	Agents() *agent.Agents
	Glance(ctx context.Context, sender engine.Message) (*turn.Runner, turn.Input, func(), error)
	Input(ctx context.Context, m engine.Message) (*turn.Runner, turn.Input, func(), error)
	Log() *slog.Logger
	Sessions() *engine.Sessions
	Store() store.Store
}

// Inspector looks at the turns of an engine. It is safe for concurrent use.
type Inspector struct{ engine Engine }

// New returns an inspector of an engine.
func New(e Engine) *Inspector { return &Inspector{e} }

// Select makes the selection that a message would get now, without running a
// turn or storing anything.
func (i *Inspector) Select(ctx context.Context, m engine.Message) (*selection.Selection, error) {
	runner, in, leave, err := i.engine.Input(ctx, m)
	if err != nil {
		return nil, err
	}
	defer leave()
	return runner.Select(ctx, in), nil
}

// Explain is Select and tells which of the selected tools the policy would not let
// the sender call, or with all, which tools that the sender may see.
func (i *Inspector) Explain(ctx context.Context, m engine.Message, all bool) (*selection.Selection, []turn.Judgement,
	error) {
	runner, in, leave, err := i.engine.Input(ctx, m)
	if err != nil {
		return nil, nil, err
	}
	defer leave()
	sel := runner.Select(ctx, in)
	var sent []string
	for _, entry := range slices.Concat(sel.Declared, sel.Announced, sel.Named) {
		sent = append(sent, entry.Definition.Name)
	}
	if all {
		for entry := range sel.Catalog().All() {
			if sel.Visible(entry) {
				sent = append(sent, entry.Definition.Name)
			}
		}
	}
	return sel, refused(ctx, runner, in, sent), nil
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
func (i *Inspector) Why(ctx context.Context, sender engine.Message, n int, own bool) ([]Turn, error) {
	return i.why(ctx, sender, n, own, func(all []chat.Message) []chat.Message { return all })
}

// WhyOf is Why for one message, with own: that which has the text of m in its own, and of several such the
// first one since a time. It returns its [selection.Compact] as JSON, or nil when there is none.
func (i *Inspector) WhyOf(ctx context.Context, m engine.Message, since time.Time) (json.RawMessage, error) {
	text := m.Text
	m.Text, m.Files = "", nil
	turns, err := i.why(ctx, m, 1, true, func(all []chat.Message) []chat.Message {
		at := slices.IndexFunc(all, func(m chat.Message) bool {
			return m.Role == chat.User && m.Why != nil && !m.Time.Before(since) && strings.Contains(m.Text, text)
		})
		return all[max(at, 0) : at+1]
	})
	if err != nil || len(turns) == 0 {
		return nil, err
	}
	return json.Marshal(turns[0].Selection)
}

// why looks at those messages of a conversation that among leaves.
func (i *Inspector) why(ctx context.Context, sender engine.Message, n int, own bool,
	among func([]chat.Message) []chat.Message) ([]Turn, error) {
	sender.History = nil
	runner, in, leave, err := i.engine.Glance(ctx, sender)
	if err != nil {
		return nil, err
	}
	defer leave()
	past, err := i.engine.Store().Load(ctx, in.Session.Key, maxLooked)
	if err != nil {
		return nil, fmt.Errorf("loading the session: %w: %w", engine.ErrStore, err)
	}
	shown := func(c selection.Compact) selection.Compact { return c }
	if own {
		in.Again = true // no question is asked
		sel := runner.Select(ctx, in)
		skills := slices.Collect(sel.OfferedSkills())
		shown = func(c selection.Compact) selection.Compact {
			return c.Only(func(name string) bool {
				entry, ok := sel.Catalog().Get(name)
				return ok && sel.Stage(entry).Usable()
			}, func(name string) bool { return slices.Contains(skills, name) })
		}
	}
	turns := []Turn{}
	for _, m := range slices.Backward(among(past.Messages)) {
		if len(turns) == min(max(n, 1), maxTurns) {
			break
		}
		if m.Role != chat.User || m.Text == "" || m.Why == nil {
			continue
		}
		t := Turn{Text: m.Text, Time: m.Time}
		if err := json.Unmarshal(m.Why, &t.Selection); err != nil {
			i.engine.Log().WarnContext(ctx, "the record of a selection cannot be read",
				"session", in.Session.Key, "error", err)
			continue
		}
		t.Selection = shown(t.Selection)
		var sent []string
		for _, s := range t.Selection.ReachedTools() {
			sent = append(sent, s.Tool)
		}
		t.Refused = refused(ctx, runner, in, sent)
		for at := range t.Refused {
			if own { // rule names are withheld from the sender
				t.Refused[at].Rule, t.Refused[at].Reason = "", ""
			}
		}
		turns = append(turns, t)
	}
	return turns, nil
}

// refused returns the tools whose call the policy would refuse now.
func refused(ctx context.Context, runner *turn.Runner, in turn.Input, tools []string) []turn.Judgement {
	return slices.DeleteFunc(runner.Judge(ctx, in, tools...), func(j turn.Judgement) bool {
		return j.Stage != turn.StagePolicy
	})
}

// Visible returns what a caller may see in a new conversation, and which skills the model
// may use for it.
func (i *Inspector) Visible(f chat.Facts) (*selection.Selection, error) {
	now, err := i.engine.Agents().Status(f.Agent)
	if err != nil {
		return nil, err
	}
	return i.engine.Agents().Selector().Select(selection.Request{
		Facts: f, Groups: now.Groups, IncludeSkills: now.Skills,
	}), nil
}

// SeenBy returns what the sender of a message, whose text is not needed, may see.
func (i *Inspector) SeenBy(ctx context.Context, sender engine.Message) (*selection.Selection, error) {
	_, in, leave, err := i.engine.Glance(ctx, sender)
	if err != nil {
		return nil, err
	}
	defer leave()
	return i.engine.Agents().Selector().Select(selection.Request{Facts: in.Facts, Groups: in.Groups}), nil
}

// Judge returns what would become of a call; nothing runs. Nil arguments leave out
// what depends on them.
func (i *Inspector) Judge(
	ctx context.Context, sender engine.Message, tool string, args json.RawMessage,
) (turn.Judgement, error) {
	runner, in, leave, err := i.engine.Glance(ctx, sender)
	if err != nil {
		return turn.Judgement{}, err
	}
	defer leave()
	if args == nil {
		return runner.Judge(ctx, in, tool)[0], nil
	}
	return runner.JudgeCall(ctx, in, tool, args), nil
}
