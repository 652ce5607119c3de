// Package learning keeps what past turns were asked and which tools answered, if the operator agreed
// to that, and lets them vote in the selections of later turns.
package learning

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/usage"
)

// Config says what is kept of past turns and what is done with it. The zero value
// keeps nothing.
type Config struct {
	// Log holds past turns; nil means that there are none.
	Log usage.Log
	// Keep adds turns to the log; the operator must have agreed to that. Without it
	// the log can only be read and erased.
	Keep bool
	// Vote lets past questions of an agent vote in its selections, see
	// [rank.Votes].
	Vote bool
	// OwnOnly lets a user's questions vote for this user only, and anonymous ones not
	// at all. Otherwise questions vote for all users of the agent.
	OwnOnly bool
	// Guests keeps the turns of guests, too: of senders without a name, other than the
	// operator, and of those whom their platform calls guests.
	Guests bool
}

// Host is what a learner needs of the engine around it.
type Host struct {
	// Store keeps the sign for other processes with the same store that turns were erased.
	Store store.Store
	// Now returns the time, and Log receives what operators should know.
	Now func() time.Time
	Log *slog.Logger
	// Background runs a function beside the turn that is to be kept.
	Background func(doing string, f func())
	// Check refuses the name of an agent that does not exist.
	Check func(agent string) error
}

// Learner keeps the turns of an engine's agents and counts their votes. It is safe for concurrent use.
type Learner struct {
	config Config
	host   Host
	shared store.Shared // the store, if several processes use it; else nil
	agents map[string]*past
}

// New returns a learner. Call [Learner.AddVotes] for each agent before its first turn.
func New(cfg Config, h Host) *Learner {
	l := &Learner{config: cfg, host: h, agents: map[string]*past{}}
	l.shared, _ = h.Store.(store.Shared)
	return l
}

// AddVotes adds an agent's votes to the selectors that a function returns.
func (l *Learner) AddVotes(agent string, selector func() *selection.Selector) func() *selection.Selector {
	p := &past{config: l.config, agent: agent, log: l.host.Log}
	l.agents[agent] = p
	return p.voting(selector)
}

// Question is what a turn was asked.
type Question struct {
	// Agent answered User, the sender as [identity.Sender.Record] has it, on Channel.
	Agent, User, Channel string
	Text                 string
	// Guest says that anybody could be the sender.
	Guest bool
	// Session is the conversation; empty if the client keeps it.
	Session session.Key
	// Earlier are the messages before the question.
	Earlier []chat.Message
}

// Keep records what a turn was asked and which tools answered, if turns are kept
// and this one used a tool. The turn does not wait for the record.
func (l *Learner) Keep(q Question, used []turn.ToolUse) {
	if !l.config.Keep || l.config.Log == nil || q.Text == "" || len(used) == 0 || !l.config.Guests && q.Guest {
		return
	}
	t := usage.Turn{Time: l.host.Now(), Agent: q.Agent, User: q.User, Channel: q.Channel, Text: usage.Clean(q.Text)}
	if q.Session != "" {
		t.Session = q.Session.Hash()
	}
	learn(&t, used)
	request, called, corrects := turn.Corrects(q.Text, q.Earlier)
	if corrects && len(t.Tools) > 0 && len(without(t.Tools, called)) == len(t.Tools) {
		t.Corrects = &usage.Correction{Text: usage.Clean(request), Tools: called}
	}
	p := l.agents[q.Agent]
	if p.waiting.Add(1) > maxUnkept {
		p.waiting.Add(-1)
		l.host.Log.Warn("a turn is not kept: too many turns are waiting to be added", "agent", q.Agent)
		return
	}
	l.host.Background("adding a turn to the usage", func() {
		defer p.waiting.Add(-1)
		p.add(t)
	})
}

// maxLearnt is how many searches of a turn are kept; the first ones.
const maxLearnt = 5

// learn records which tools a turn used, and the searches that led to them.
func learn(t *usage.Turn, used []turn.ToolUse) {
	for _, u := range used {
		list := &t.Tools
		if u.Failed {
			list = &t.Failed
		}
		if slices.Contains(*list, u.Tool) {
			continue
		}
		*list = append(*list, u.Tool)
		if u.Failed {
			continue
		}
		if t.Versions == nil {
			t.Versions = map[string]string{}
		}
		t.Versions[u.Tool] = u.Version
		for _, query := range u.Searches {
			s := usage.Search{Text: usage.Clean(query), Tool: u.Tool}
			if len(t.Searches) < maxLearnt && s.Text != t.Text && !slices.Contains(t.Searches, s) {
				t.Searches = append(t.Searches, s)
			}
		}
	}
}

// Record is the record of past turns.
type Record struct {
	// Keep and Vote say whether turns are being kept, and whether they vote.
	Keep bool `json:"keep"`
	Vote bool `json:"vote"`
	// Turns are in order, oldest first.
	Turns []usage.Turn `json:"turns"`
}

// Record returns the record of past turns.
func (l *Learner) Record(ctx context.Context, f usage.Filter) (Record, error) {
	kept := Record{Keep: l.config.Keep, Vote: l.config.Keep && l.config.Vote, Turns: []usage.Turn{}}
	if l.config.Log == nil {
		return kept, nil
	}
	if f.Agent != "" {
		if err := l.host.Check(f.Agent); err != nil {
			return kept, err
		}
	}
	var err error
	kept.Turns, err = l.config.Log.List(ctx, f)
	return kept, err
}

// Forget erases all past turns of a user, or of everybody, with their votes. It
// returns how many there were.
func (l *Learner) Forget(ctx context.Context, user string, everybody bool) (int, error) {
	if l.config.Log == nil {
		return 0, nil
	}
	n, err := l.config.Log.Erase(ctx, user, everybody)
	l.recount()
	if n > 0 && err == nil && l.shared != nil {
		value, _ := json.Marshal(rand.Text())
		if err = l.host.Store.Put(ctx, erasedKind, "", value); err != nil {
			err = fmt.Errorf("telling the other etui: %w: %w", store.ErrAway, err)
		}
	}
	return n, err
}

// Erase erases the past turns of a person under some names.
func (l *Learner) Erase(ctx context.Context, names []string) (map[string]int, error) {
	count := map[string]int{"turns": 0}
	for _, name := range names {
		n, err := l.Forget(ctx, name, false)
		if count["turns"] += n; err != nil {
			return count, err
		}
	}
	return count, nil
}

// erasedKind is the kind of the record that another value tells the processes of a
// [store.Shared] by to count the votes again: past turns were erased.
const erasedKind = "erased"

// recounting is how often a process looks at what others have added to the past turns.
const recounting = time.Minute

// Follow counts the votes again when another process erases past turns, and sometimes
// because others add to them, until ctx ends. Without a [store.Shared] it returns at once.
func (l *Learner) Follow(ctx context.Context) {
	if l.shared == nil || l.config.Log == nil || !l.config.Keep || !l.config.Vote {
		return
	}
	changed, erased, counted := l.shared.Changed(erasedKind), "", l.host.Now()
	for {
		records, err := l.host.Store.Records(ctx, erasedKind, "")
		if err == nil && len(records) > 0 && string(records[0].Value) != erased {
			erased, counted = string(records[0].Value), l.host.Now()
			l.recount()
		}
		if now := l.host.Now(); now.Sub(counted) >= recounting {
			counted = now
			l.recount()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// recount counts the votes of the agents that have counted them before.
func (l *Learner) recount() {
	for _, p := range l.agents {
		p.recount()
	}
}
