package learning

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/usage"
)

// past is what an agent has learned from its turns.
type past struct {
	config Config
	agent  string
	log    *slog.Logger

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
	if !p.config.Keep || !p.config.Vote || p.config.Log == nil {
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

// add adds a turn to the log. Votes are counted again when the log has grown by a
// twentieth, so that the cost of a turn does not grow with the log.
func (p *past) add(t usage.Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), maxKeeping)
	defer cancel()
	if err := p.config.Log.Add(ctx, t); err != nil {
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
	if !p.config.Keep || !p.config.Vote {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxKeeping)
	defer cancel()
	turns, err := p.config.Log.List(ctx, usage.Filter{Agent: p.agent, Limit: rank.MaxAsked})
	if err != nil {
		p.log.Error("past turns could not be read; the last votes stay in effect", "agent", p.agent, "error", err)
		p.votes.CompareAndSwap(nil, rank.NewVotes(nil))
		return
	}
	p.kept = 0
	p.votes.Store(rank.NewVotes(Votes(turns, p.config.OwnOnly)))
}

// recount counts the votes again if they were counted before.
func (p *past) recount() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.votes.Load() != nil {
		p.count()
	}
}

// Votes makes past turns, oldest first, ready to vote: for everybody or, with ownOnly,
// each for its user; then anonymous turns are left out. A search votes for the tool that
// was then called. A correction takes the votes of the corrected tools from the user's
// earlier request and gives them to the tools that were meant; its own words say nothing
// about a request and do not vote.
func Votes(turns []usage.Turn, ownOnly bool) []rank.PastQuestion {
	list := make([]rank.PastQuestion, 0, len(turns))
	type request struct{ user, text string }
	asked := map[request][]int{} // places in list
	for _, t := range turns {
		if ownOnly && t.User == "" {
			continue
		}
		a := rank.PastQuestion{User: t.User, Own: ownOnly, Question: t.Text, Tools: t.Tools, Versions: t.Versions}
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
			list = append(list, rank.PastQuestion{
				User: t.User, Own: ownOnly, Question: s.Text, Tools: []string{s.Tool}, Versions: t.Versions,
				Search: true,
			})
		}
	}
	return list
}

// without returns the names that are not among others.
func without(names, others []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(others, name) })
}
