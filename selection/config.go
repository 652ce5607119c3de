package selection

import (
	"cmp"
	"sync"

	"github.com/etui-run/etui/rank"
)

// Config says how much a selection may send. The zero value has sensible
// limits.
type Config struct {
	// Mode is how a selection reaches the model; empty means Auto.
	Mode Mode
	// Off turns the selection off, whatever the mode and the request are: every
	// tool that the caller may use is declared.
	Off bool
	// Directory is how many tokens the directory of names may have, see
	// [Selection.Directory]; 0 means 400, and a negative number means none.
	Directory int
	// Skills is how many tokens the list of skills may have, see [ListSkills]; 0
	// means 1500. It never has more than 5 % of the model's window.
	Skills int
	// Limit is how many tools are sent for a question, besides pinned ones; 0 means
	// 8, and a negative number means none.
	Limit int
	// Budget is how many tokens their definitions may have together; 0 means
	// 3000, and a negative number means none.
	Budget int
	// WindowShare is the part of the model's window that they may take, as a
	// fraction; 0 means 0.1.
	WindowShare float64
	// Direct is how many tools Auto sends without choosing, if they fit the budget;
	// 0 means 12, and a negative number means none.
	Direct int
	// Pinned are tools that are always sent, by name or as "group:" and a group.
	Pinned []string
	// Disabled are tools that nobody may use, by name or as "group:" and a group, beside those of
	// [catalog.Switches].
	Disabled []string
	// Weights are the weights of the ranking; zero means [rank.DefaultWeights].
	Weights rank.Weights
	// Recommend orders the candidates by more than their words, if it is on.
	Recommend Recommend
	// Tuning changes both while selectors follow a registry; nil changes nothing.
	Tuning *Tuning
}

// Tuning changes the weights of the selectors that [Follow] makes. Its zero value is ready. It is
// safe for concurrent use.
type Tuning struct {
	mu       sync.Mutex
	now      *weights // nil before the first change
	watchers []func(weights)
}

// weights are what a tuning changes.
type weights struct {
	ranking   rank.Weights
	recommend Recommend
}

// Set makes new selectors, with these weights, before it returns.
func (t *Tuning) Set(ranking rank.Weights, recommend Recommend) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.now = &weights{ranking, recommend}
	for _, f := range t.watchers {
		f(*t.now)
	}
}

func (t *Tuning) watch(f func(weights)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watchers = append(t.watchers, f)
	if t.now != nil {
		f(*t.now)
	}
}

func (c Config) withDefaults() Config {
	c.Limit = cmp.Or(c.Limit, 8)
	c.Budget = cmp.Or(c.Budget, 3000)
	c.WindowShare = cmp.Or(c.WindowShare, 0.1)
	c.Direct = cmp.Or(c.Direct, 12)
	c.Directory = cmp.Or(c.Directory, 400)
	c.Skills = cmp.Or(c.Skills, 1500)
	c.Recommend = c.Recommend.withDefaults()
	return c
}
