package engine

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/usage"
)

// Learning says what is kept of past turns and what is done with it. The zero value
// keeps nothing.
type Learning struct {
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

// past is what an agent has learned from its turns.
type past struct {
	learning Learning
	agent    string
	log      *slog.Logger

	votes atomic.Pointer[rank.Votes]
	mu    sync.Mutex // held while a turn is added and while votes are counted
	kept  int        // turns since the votes were counted

	waiting atomic.Int32 // turns to be added
}

// maxKeeping bounds how long adding a turn may take.
const maxKeeping = 10 * time.Second

// maxUnkept is how many turns of an agent may wait to be added; more are dropped.
const maxUnkept = 256

// voting adds the agent's votes to the selectors that a function returns.
func (p *past) voting(selector func() *selection.Selector) func() *selection.Selector {
	if !p.learning.Keep || !p.learning.Vote || p.learning.Log == nil {
		return selector
	}
	return func() *selection.Selector {
		if p.votes.Load() == nil {
			p.mu.Lock()
			if p.votes.Load() == nil {
				p.count()
			}
			p.mu.Unlock()
		}
		return selector().WithVotes(p.votes.Load())
	}
}

// keep records what a turn was asked and which tools answered, if turns are kept
// and this one used a tool. The session is as it was before the turn, which does not
// wait for the record.
func (e *Engine) keep(a *agent, m mail, s session.Session, done *turn.Done) {
	l := e.config.Learning
	if !l.Keep || l.Log == nil || m.Text == "" || len(done.Used) == 0 || !l.Guests && e.isGuest(m, s.Key) {
		return
	}
	t := usage.Turn{Time: e.config.Now(), Agent: a.Name, User: e.sender(m).Record(), Channel: m.Channel, Text: usage.Clean(m.Text)}
	if m.History == nil {
		t.Session = conversation(s.Key)
	}
	learn(&t, done.Used)
	if request, called, ok := turn.Corrects(m.Text, s.Messages); ok && len(t.Tools) > 0 && len(without(t.Tools, called)) == len(t.Tools) {
		t.Corrects = &usage.Correction{Text: usage.Clean(request), Tools: called}
	}
	if a.past.waiting.Add(1) > maxUnkept {
		a.past.waiting.Add(-1)
		e.config.Log.Warn("a turn is not kept: too many turns are waiting to be added", "agent", a.Name)
		return
	}
	e.box.Running.Begin()
	go func() {
		defer e.box.Running.End()
		defer a.past.waiting.Add(-1)
		_ = e.box.Guard("adding a turn to the usage", "", func() error { a.past.add(t); return nil })
	}()
}

// conversation tells sessions apart where their keys, which name people, are not to be kept.
func conversation(key session.Key) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// maxLearnt is how many searches of a turn are kept; the first ones.
const maxLearnt = 5

// learn records which tools a turn used, and the searches that led to them.
func learn(t *usage.Turn, used []turn.Used) {
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

// add adds a turn to the log. Votes are counted again when the log has grown by a
// twentieth, so that the cost of a turn does not grow with the log.
func (p *past) add(t usage.Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), maxKeeping)
	defer cancel()
	if err := p.learning.Log.Add(ctx, t); err != nil {
		p.log.Error("a turn could not be kept", "agent", p.agent, "error", err)
		return
	}
	p.kept++
	if p.kept >= p.votes.Load().Len()/20 {
		p.count()
	}
}

// count counts the votes in the log. When the log cannot be read, the last votes
// stay in effect. The caller holds the lock.
func (p *past) count() {
	if !p.learning.Keep || !p.learning.Vote {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxKeeping)
	defer cancel()
	turns, err := p.learning.Log.List(ctx, usage.Filter{Agent: p.agent, Limit: rank.MaxAsked})
	if err != nil {
		p.log.Error("past turns could not be read; the last votes stay in effect", "agent", p.agent, "error", err)
		p.votes.CompareAndSwap(nil, rank.NewVotes(nil))
		return
	}
	p.kept = 0
	p.votes.Store(rank.NewVotes(Asked(turns, p.learning.OwnOnly)))
}

// Asked makes past turns, oldest first, ready to vote: for everybody or, with ownOnly,
// each for its user; then anonymous turns are left out. A search votes for the tool that
// was then called. A correction takes the votes of the corrected tools from the user's
// earlier request and gives them to the tools that were meant; its own words say nothing
// about a request and do not vote.
func Asked(turns []usage.Turn, ownOnly bool) []rank.Asked {
	list := make([]rank.Asked, 0, len(turns))
	type request struct{ user, text string }
	asked := map[request][]int{} // places in list
	for _, t := range turns {
		if ownOnly && t.User == "" {
			continue
		}
		a := rank.Asked{User: t.User, Own: ownOnly, Question: t.Text, Tools: t.Tools, Versions: t.Versions}
		if c := t.Corrects; c != nil {
			for _, i := range asked[request{t.User, c.Text}] {
				list[i].Tools = without(list[i].Tools, c.Tools)
			}
			a.Question, a.Corrected = c.Text, true
		}
		at := request{a.User, a.Question}
		asked[at] = append(asked[at], len(list))
		list = append(list, a)
		for _, s := range t.Searches {
			list = append(list, rank.Asked{User: t.User, Own: ownOnly, Question: s.Text, Tools: []string{s.Tool}, Versions: t.Versions, Search: true})
		}
	}
	return list
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}

// PastTurns is the record of past turns.
type PastTurns struct {
	// Keep and Vote say whether turns are being kept, and whether they vote.
	Keep bool `json:"keep"`
	Vote bool `json:"vote"`
	// Turns are in order, oldest first.
	Turns []usage.Turn `json:"turns"`
}

// PastTurns returns the record of past turns.
func (e *Engine) PastTurns(ctx context.Context, f usage.Filter) (PastTurns, error) {
	l := e.config.Learning
	past := PastTurns{Keep: l.Keep, Vote: l.Keep && l.Vote, Turns: []usage.Turn{}}
	if l.Log == nil {
		return past, nil
	}
	if f.Agent != "" {
		if _, err := e.agent(f.Agent); err != nil {
			return past, err
		}
	}
	var err error
	past.Turns, err = l.Log.List(ctx, f)
	return past, err
}

// Forget erases all past turns of a user, or of everybody, with their votes. It
// returns how many there were.
func (e *Engine) Forget(ctx context.Context, user string, everybody bool) (int, error) {
	if e.config.Learning.Log == nil {
		return 0, nil
	}
	n, err := e.config.Learning.Log.Erase(ctx, user, everybody)
	e.countAgain()
	if n > 0 && err == nil && e.shared != nil {
		value, _ := json.Marshal(rand.Text())
		if err = e.config.Store.Put(ctx, erasedKind, "", value); err != nil {
			err = fmt.Errorf("telling the other etui: %w: %w", ErrStore, err)
		}
	}
	return n, err
}

// erasedKind is the kind of the record that another value tells the processes of a
// [store.Shared] by to count the votes again: past turns were erased.
const erasedKind = "erased"

// recount is how often a process looks at what others have added to the past turns.
const recount = time.Minute

// followTurns counts the votes again when another process erases past turns, and sometimes
// because others add to them, until ctx ends.
func (e *Engine) followTurns(ctx context.Context) {
	l := e.config.Learning
	if l.Log == nil || !l.Keep || !l.Vote {
		return
	}
	changed, erased, counted := e.shared.Changed(erasedKind), "", e.config.Now()
	for {
		records, err := e.config.Store.Records(ctx, erasedKind, "")
		if err == nil && len(records) > 0 && string(records[0].Value) != erased {
			erased, counted = string(records[0].Value), e.config.Now()
			e.countAgain()
		}
		if now := e.config.Now(); now.Sub(counted) >= recount {
			counted = now
			e.countAgain()
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

// countAgain counts the votes of the agents that have counted them before.
func (e *Engine) countAgain() {
	for _, a := range e.agents {
		a.past.mu.Lock()
		if a.past.votes.Load() != nil {
			a.past.count()
		}
		a.past.mu.Unlock()
	}
}
