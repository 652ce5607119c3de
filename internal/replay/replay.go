// Package replay runs conversations against a catalog and a configuration, to
// tell what would have been sent, at what cost, and whether the tools were at
// hand that the conversations needed.
//
// Everything is as it would be when it is served - gateway, session, selection,
// prompt - but for four things: a script answers in the place of the language
// model, stand-ins in the place of the tools, nothing is stored, and the clock is
// the replay's own. So a replay costs nothing, touches nothing, and gives the
// same figures every time.
//
// The script is a model that always knows which tool it wants: it calls those
// that it was told of, and searches once for each of the others. Replays
// therefore tell what the selection did, not how clever a model is.
package replay

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Config says what is replayed on what. Everything is required but Warm.
type Config struct {
	// Gateway is as for serving. Of its agents' models, of its store, clock and log,
	// and of what it keeps of past turns nothing is used.
	Gateway engine.Config
	Mode    Mode
	// Provider is whose bill is computed.
	Provider Provider
	// Warm lets the conversations follow one another so closely that each finds
	// what the one before left in the provider's cache, as when many people talk
	// at once. Else each begins with nothing.
	Warm bool
}

// Run is what a replay gave: the figures of one mode at one provider.
type Run struct {
	Mode     Mode   `json:"mode"`
	Provider string `json:"provider"`
	Model    string `json:"model"`
	Figures
	Conversations []Replayed `json:"conversations"`
}

// Replayed is what became of a conversation.
type Replayed struct {
	ID   string `json:"id"`
	Lang string `json:"lang,omitempty"`
	Figures
	Turns []Played `json:"turns"`
}

// Played is what became of a turn.
type Played struct {
	Text string `json:"text"`
	Figures
	// Told are the tools that the model was told of with this turn, beside those
	// that it had been told of before, in order.
	Told []string `json:"told,omitempty"`
	// Tools tells of each tool that the turn needed how it reached the model.
	Tools []Needed `json:"tools,omitempty"`
}

// Needed tells how a tool reached the model.
type Needed struct {
	Tool  string `json:"tool"`
	Reach Reach  `json:"reach"`
}

// Figures count needs and what was sent for them.
type Figures struct {
	// Needs are the tools that were needed and that the caller may use. Direct
	// are those of them that had reached the model without a search, Found those
	// that a search gave, and Missed the others.
	Needs  int `json:"needs"`
	Direct int `json:"direct"`
	Found  int `json:"found"`
	Missed int `json:"missed"`
	// Refused are tools that were needed and that the caller may not use, Absent
	// those that do not exist. They are not among Needs.
	Refused int `json:"refused,omitempty"`
	Absent  int `json:"absent,omitempty"`
	// Failed are calls whose arguments do not fit the tool's schema.
	Failed int `json:"failed,omitempty"`
	// Searches are the rounds that went into searching.
	Searches int `json:"searches"`
	Usage
}

// Recall is the share of the needs that had reached the model without a search;
// 1 when nothing was needed.
func (f Figures) Recall() float64 { return share(f.Direct, f.Needs) }

// Reached is that share with searches.
func (f Figures) Reached() float64 { return share(f.Direct+f.Found, f.Needs) }

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
	f.Usage.add(g.Usage)
}

// dawn is when every replay begins: a Monday.
var dawn = time.Date(2026, 3, 9, 9, 0, 0, 0, time.UTC)

// Play replays conversations in one mode. The error says which conversation
// cannot be replayed, and why.
func Play(ctx context.Context, cfg Config, conversations []Conversation) (Run, error) {
	run := Run{Mode: cfg.Mode, Provider: cfg.Provider.Name, Model: cfg.Provider.Model}
	s := &script{provider: cfg.Provider, cache: newCache(cfg.Provider), now: dawn, naive: cfg.Mode == Naive}
	g, err := engine.New(cfg.gateway(s))
	if err != nil {
		return run, err
	}
	for _, c := range conversations {
		if !cfg.Warm {
			s.cache.forget()
			s.now = dawn
		}
		played, err := play(ctx, g, s, c)
		if err != nil {
			return run, err
		}
		run.Conversations = append(run.Conversations, played)
		run.add(played.Figures)
	}
	return run, nil
}

// gateway is the configuration as it is replayed: what decides which tools are
// sent, and nothing that keeps or learns, or asks a model or a server: the
// recommender's rules decide, and words alone count.
func (c Config) gateway(s *script) engine.Config {
	g := engine.Config{
		Registry:  c.Gateway.Registry.Wrap(func(t tool.Tool) tool.Tool { return standIn{t, s} }),
		Agents:    slices.Clone(c.Gateway.Agents),
		Store:     &session.MemoryStore{},
		Selection: c.Gateway.Selection,
		Turn:      c.Gateway.Turn,
		Scope:     c.Gateway.Scope, Links: c.Gateway.Links, MaxMessage: c.Gateway.MaxMessage,
		Now: func() time.Time { return s.now },
	}
	g.Turn.Chooser = nil
	g.Turn.MaxSteps = 3 * maxNeeds // a search and a call for each, and the reply
	for i := range g.Agents {
		g.Agents[i].Model = s
	}
	c.Mode.apply(&g)
	return g
}

// play replays one conversation.
func play(ctx context.Context, g *engine.Engine, s *script, c Conversation) (Replayed, error) {
	done := Replayed{ID: c.ID, Lang: c.Lang}
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
			Agent: c.Agent, Text: t.Text, Skill: t.Skill, Session: "replay " + c.ID,
			Channel: c.Channel, Chat: c.Chat, User: c.User, Roles: c.Roles, Attrs: c.Attrs,
		}
		played := Played{Text: t.Text}
		failed := 0
		for e, err := range g.Send(ctx, m) {
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

// news are the tools that a selection sends and that were not told before.
func news(told map[string]bool, sel *selection.Selection) []string {
	var list []string
	for _, e := range slices.Concat(sel.Declared, sel.Announced) {
		if name := e.Definition.Name; !told[name] {
			told[name] = true
			list = append(list, name)
		}
	}
	return list
}

// figures counts the turn that was played.
func (s *script) figures() (Figures, []Needed) {
	f := Figures{Usage: s.usage}
	var list []Needed
	for _, n := range s.needs {
		if n.reach == "" {
			n.reach = Missed // the turn came to its end before
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
		list = append(list, Needed{n.Name, n.reach})
	}
	f.Needs = f.Direct + f.Found + f.Missed
	return f, list
}
