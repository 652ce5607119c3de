package engine

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/usage"
)

// Usage says what is kept of turns, and what is done with it. The zero value
// keeps nothing.
type Usage struct {
	// Log holds past turns; nil means that there are none.
	Log usage.Log
	// Keep adds turns to the log: the operator has agreed to it. Without it what
	// is there can be seen and erased, and nothing else happens.
	Keep bool
	// Vote lets past questions of an agent vote in its selections, see
	// [rank.Votes].
	Vote bool
	// OwnOnly lets a user's questions vote for this user alone; those of nobody in
	// particular then have no vote. Otherwise they vote for all users of the agent.
	OwnOnly bool
}

// past is what an agent has learnt from its turns.
type past struct {
	usage Usage
	agent string
	log   *slog.Logger

	votes atomic.Pointer[rank.Votes]
	mu    sync.Mutex // held while a turn is kept and while votes are made
	kept  int        // turns since the votes were made

	waiting atomic.Int32 // turns that are to be kept
}

// maxKeeping is how long keeping a turn may take; then it is given up.
const maxKeeping = 10 * time.Second

// maxUnkept is how many turns of an agent may wait for being kept; those that
// come then are not kept.
const maxUnkept = 256

// voting returns the selectors of another function with the agent's votes.
func (p *past) voting(selector func() *selection.Selector) func() *selection.Selector {
	if !p.usage.Keep || !p.usage.Vote || p.usage.Log == nil {
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

// keep keeps what a turn was asked and which tools answered, if it is to be kept
// and used a tool. The turn does not wait for it.
func (g *Gateway) keep(a *agent, m Message, done *turn.Done) {
	u := g.config.Usage
	if !u.Keep || u.Log == nil || m.Text == "" || len(done.Used) == 0 {
		return
	}
	t := usage.Turn{Time: g.config.Now(), Agent: a.Name, User: m.User, Text: usage.Clean(m.Text)}
	for _, used := range done.Used {
		list := &t.Tools
		if used.Failed {
			list = &t.Failed
		}
		if !slices.Contains(*list, used.Tool) {
			*list = append(*list, used.Tool)
		}
	}
	if a.past.waiting.Add(1) > maxUnkept {
		a.past.waiting.Add(-1)
		g.config.Log.Warn("what a turn used is not kept: too many turns are waiting for that", "agent", a.Name)
		return
	}
	g.running.Add(1)
	go func() {
		defer g.running.Done()
		defer a.past.waiting.Add(-1)
		a.past.add(t)
	}()
}

// add keeps a turn. The votes are made anew when the past has grown by a
// twentieth, so that each turn costs little however many there are.
func (p *past) add(t usage.Turn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), maxKeeping)
	defer cancel()
	if err := p.usage.Log.Add(ctx, t); err != nil {
		p.log.Error("what a turn used could not be kept", "agent", p.agent, "error", err)
		return
	}
	p.kept++
	if p.kept >= p.votes.Load().Len()/20 {
		p.count()
	}
}

// count makes the votes of what the log holds now. When it cannot be read the
// last votes stay. The caller holds the lock.
func (p *past) count() {
	if !p.usage.Keep || !p.usage.Vote {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxKeeping)
	defer cancel()
	turns, err := p.usage.Log.List(ctx, usage.Filter{Agent: p.agent, Limit: rank.MaxAsked})
	if err != nil {
		p.log.Error("past turns could not be read, the last votes stay", "agent", p.agent, "error", err)
		p.votes.CompareAndSwap(nil, rank.NewVotes(nil))
		return
	}
	p.kept = 0
	p.votes.Store(rank.NewVotes(Asked(turns, p.usage.OwnOnly)))
}

// Asked makes past turns ready to vote: for everybody, or each for its user
// alone; then those of nobody in particular are left out.
func Asked(turns []usage.Turn, ownOnly bool) []rank.Asked {
	list := make([]rank.Asked, 0, len(turns))
	for _, t := range turns {
		a := rank.Asked{Question: t.Text, Tools: t.Tools}
		if ownOnly {
			a.User = t.User
		}
		if !ownOnly || t.User != "" {
			list = append(list, a)
		}
	}
	return list
}

// PastTurns returns what is kept of past turns, oldest first.
func (g *Gateway) PastTurns(ctx context.Context, f usage.Filter) ([]usage.Turn, error) {
	if g.config.Usage.Log == nil {
		return []usage.Turn{}, nil
	}
	if f.Agent != "" {
		if _, err := g.agent(f.Agent); err != nil {
			return nil, err
		}
	}
	return g.config.Usage.Log.List(ctx, f)
}

// Forget erases all past turns of a user, or of everybody, and takes their votes
// away. It returns how many there were.
func (g *Gateway) Forget(ctx context.Context, user string, everybody bool) (int, error) {
	if g.config.Usage.Log == nil {
		return 0, nil
	}
	n, err := g.config.Usage.Log.Erase(ctx, user, everybody)
	for _, a := range g.agents {
		a.past.mu.Lock()
		a.past.count()
		a.past.mu.Unlock()
	}
	return n, err
}

// PastTurns is what is kept of past turns, on the wire.
type PastTurns struct {
	// Keep and Vote say whether turns are being kept, and vote.
	Keep  bool         `json:"keep"`
	Vote  bool         `json:"vote"`
	Turns []usage.Turn `json:"turns"`
}

func (g *Gateway) pastTurns(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit, err := strconv.Atoi(q.Get("limit"))
	if q.Get("limit") != "" && (err != nil || limit < 0) {
		problem(w, http.StatusBadRequest, "limit must be a number of turns")
		return
	}
	turns, err := g.PastTurns(r.Context(), usage.Filter{Agent: q.Get("agent"), User: q.Get("user"), Limit: limit})
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	u := g.config.Usage
	reply(w, http.StatusOK, PastTurns{Keep: u.Keep, Vote: u.Keep && u.Vote, Turns: turns})
}

// Forgotten says how many turns were erased.
type Forgotten struct {
	Erased int `json:"erased"`
}

func (g *Gateway) forget(w http.ResponseWriter, r *http.Request) {
	user, everybody := r.URL.Query().Get("user"), r.URL.Query().Get("everybody") == "true"
	if user == "" && !everybody {
		problem(w, http.StatusBadRequest, "say whose turns are to be erased: ?user=, or ?everybody=true")
		return
	}
	n, err := g.Forget(r.Context(), user, everybody)
	if err != nil {
		problem(w, statusOf(err), err.Error())
		return
	}
	reply(w, http.StatusOK, Forgotten{Erased: n})
}
