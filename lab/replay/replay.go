// Package replay runs conversations against a catalog and a configuration. It
// reports what would have been sent, at what cost, and whether the tools that the
// conversations needed were available.
//
// Engine, session, selection and prompt work as in a running gateway. Four things
// differ: a script answers instead of the language model, stand-ins instead of the
// tools, nothing is stored, and the replay has its own clock. So a replay costs
// nothing, touches nothing, and gives the same figures every time.
//
// The script is a model that always knows which tool it wants: it calls tools that
// it has seen, and searches once for each of the others. A replay therefore
// measures the selection, not the cleverness of a model.
package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/tool"
)

// Config says how to replay. Everything but Warm is required.
type Config struct {
	// Engine is as for serving. Its agents' models, store, clock, log and past turns
	// are not used.
	Engine engine.Config
	Mode   Mode
	// Provider is the one whose bill is computed.
	Provider Provider
	// Warm lets each conversation find what the one before left in the provider's
	// cache, as when many people talk at once. Otherwise each begins with an empty
	// cache.
	Warm bool
}

// Run is the result of a replay: the figures of one mode at one provider.
type Run struct {
	Mode     Mode   `json:"mode"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Figures
	Conversations []ConversationResult `json:"conversations"`
}

// ConversationResult is the result of a conversation.
type ConversationResult struct {
	ID   string `json:"id"`
	Lang string `json:"lang,omitempty"`
	Figures
	Turns []TurnResult `json:"turns"`
}

// TurnResult is the result of a turn.
type TurnResult struct {
	Text string `json:"text"`
	Figures
	// Told are the tools that the model saw for the first time in this turn, in order.
	Told []string `json:"told,omitempty"`
	// Tools says of each tool that the turn needed how it reached the model.
	Tools []ToolReach `json:"tools,omitempty"`
}

// ToolReach says how a tool reached the model.
type ToolReach struct {
	Tool  string `json:"tool"`
	Reach Reach  `json:"reach"`
}

// Figures count needs and what was sent for them.
type Figures struct {
	// Needs counts the needed tools that the caller may use: Direct those that reached
	// the model without a search, Found those that a search returned, and Missed the
	// others.
	Needs  int `json:"needs"`
	Direct int `json:"direct"`
	Found  int `json:"found"`
	Missed int `json:"missed"`
	// Refused counts needed tools that the caller may not use, and Absent those that
	// do not exist. Needs does not include them.
	Refused int `json:"refused,omitempty"`
	Absent  int `json:"absent,omitempty"`
	// Failed counts calls whose arguments do not fit the tool's schema.
	Failed int `json:"failed,omitempty"`
	// Searches counts the rounds spent on searching.
	Searches int `json:"searches"`
	Bill
}

// Recall is the share of the needs that reached the model without a search; 1 when
// nothing was needed.
func (f Figures) Recall() float64 { return share(f.Direct, f.Needs) }

// ReachShare is the share of the needs that reached the model, with searches.
func (f Figures) ReachShare() float64 { return share(f.Direct+f.Found, f.Needs) }

func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

func (f *Figures) add(g Figures) {
	f.Needs += g.Needs
	f.Direct += g.Direct
	f.Found += g.Found
	f.Missed += g.Missed
	f.Refused += g.Refused
	f.Absent += g.Absent
	f.Failed += g.Failed
	f.Searches += g.Searches
	f.Bill.add(g.Bill)
}

// dawn is when every replay begins. It is a Monday.
var dawn = time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)

// Play replays conversations in one mode. The error says which conversation
// cannot be replayed, and why.
func Play(ctx context.Context, cfg Config, conversations []Conversation) (Run, error) {
	run := Run{Mode: cfg.Mode, Provider: cfg.Provider.Name, Model: cfg.Provider.Model}
	s := &script{provider: cfg.Provider, cache: newCache(cfg.Provider), now: dawn, naive: cfg.Mode == Naive}
	e, err := engine.New(cfg.engine(s))
	if err != nil {
		return run, err
	}
	for i, c := range conversations {
		if !cfg.Warm {
			s.cache.forget()
			s.now = dawn
		}
		played, err := play(ctx, e, s, fmt.Sprint("replay ", i), c)
		if err != nil {
			return run, err
		}
		run.Conversations = append(run.Conversations, played)
		run.add(played.Figures)
	}
	return run, nil
}

// engine returns the configuration to replay: what decides which tools are sent,
// without anything that stores or learns, or that asks a model or a server. The
// recommender's rules decide, and only words count.
func (c Config) engine(s *script) engine.Config {
	g := engine.Config{
		Registry:  c.Engine.Registry.Wrap(func(t tool.Tool) tool.Tool { return standIn{t, s} }),
		Agents:    slices.Clone(c.Engine.Agents),
		Store:     &store.Memory{},
		Selection: c.Engine.Selection,
		Turn:      c.Engine.Turn,
		Scope:     c.Engine.Scope, Users: c.Engine.Users, MaxMessage: c.Engine.MaxMessage,
		Now: func() time.Time { return s.now },
	}
	g.Turn.Chooser, g.Turn.Audit, g.Turn.Summarizer = nil, nil, extracts{s}
	g.Turn.MaxSteps = 3 * maxNeeds // a search and a call for each, and the reply
	for i := range g.Agents {
		g.Agents[i].Model = s
	}
	c.Mode.apply(&g)
	return g
}

// extracts stands in for the model that writes summaries: with an offline one, they are
// extracts.
type extracts struct{ model.Model }

// Info implements [model.Model].
func (extracts) Info() model.Info { return model.Info{Offline: true} }

// play replays one conversation.
func play(ctx context.Context, run *engine.Engine, s *script, session string, c Conversation) (ConversationResult,
	error) {
	done := ConversationResult{ID: c.ID, Lang: c.Lang}
	told := map[string]bool{}
	for i, t := range c.Turns {
		if i > 0 {
			s.now = s.now.Add(max(time.Duration(t.Pause), 0))
			if t.Pause == 0 {
				s.now = s.now.Add(usualPause)
			}
		}
		s.begin(t)
		m := engine.Message{
			Agent: c.Agent, Text: t.Text, Skill: t.Skill, Session: session,
			Channel: c.Channel, Chat: c.Chat, User: c.User, Roles: c.Roles, Attrs: c.Attrs,
		}
		played := TurnResult{Text: t.Text}
		failed := 0
		for e, err := range run.Send(ctx, m) {
			if err != nil {
				return done, fmt.Errorf("conversation %q, turn %d: %w", c.ID, i+1, err)
			}
			if e.Selection != nil {
				s.judge(e.Selection)
				played.Told = news(told, e.Selection)
			}
			if e.Result != nil && e.Result.Failed {
				failed++
			}
		}
		played.Figures, played.Tools = s.figures()
		played.Failed = failed
		done.Turns = append(done.Turns, played)
		done.add(played.Figures)
	}
	return done, nil
}

// news returns the tools that a selection sends for the first time.
func news(told map[string]bool, sel *selection.Selection) []string {
	var list []string
	for _, e := range slices.Concat(sel.Declared, sel.Announced, sel.Named) {
		if name := e.Definition.Name; !told[name] {
			told[name] = true
			list = append(list, name)
		}
	}
	return list
}

// figures counts the turn just played.
func (s *script) figures() (Figures, []ToolReach) {
	f := Figures{Bill: s.bill}
	var list []ToolReach
	for _, n := range s.needs {
		if n.reach == "" {
			n.reach = Missed // the turn ended first
		}
		if n.searched {
			f.Searches++
		}
		switch n.reach {
		case Absent:
			f.Absent++
		case Refused:
			f.Refused++
		case Missed:
			f.Missed++
		case Found:
			f.Found++
		default:
			f.Direct++
		}
		list = append(list, ToolReach{n.Name, n.reach})
	}
	f.Needs = f.Direct + f.Found + f.Missed
	return f, list
}
