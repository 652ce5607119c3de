// Package selection is the heart of etui: of everything in a catalog it picks
// what one question needs, and says why for each tool.
//
// A [Selector] is made for one catalog. [Selector.Select] runs the stages in
// the order of [Stages]: each lets tools through or drops them with a reason.
// What is dropped at one of the first five stages may not be used. What is
// dropped at the last two may be, and stays within reach: the model can search
// for it ([FindTools]) and call it by its exact name.
//
// The host ranks, the model picks: ranking orders and cuts, it never forces.
//
// Selecting does no I/O, reads no clock and waits for no lock. The same catalog
// and request give the same selection.
package selection

import (
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// Request is what a selection may know.
type Request struct {
	// Facts are about the caller. Facts.Skill is the active toolset; empty means
	// [catalog.Full], and one that does not exist lets nothing through.
	Facts chat.Facts
	// Query is the question, in the user's words.
	Query string
	// Groups are those whose tools the agent has, as in "file,shell"; empty
	// means all.
	Groups string
	// Include, when not empty, names the only tools that are let through;
	// Exclude names tools that are not.
	Include, Exclude []string
	// Limit and Budget override those of the [Config] when above zero.
	Limit, Budget int
	// Window is how many tokens the model reads at once; 0 means unknown. It
	// bounds the budget, see [Config].
	Window int
	// Declared names the tools that stand in front of the session's requests, in
	// order. Empty means a new session.
	Declared []string
	// Announced names the tools that later messages of the session described.
	Announced []string
	// IncludeSkills, when not empty, names the only skills that the model is told
	// of; ExcludeSkills names skills that it is not.
	IncludeSkills, ExcludeSkills []string
	// ListedSkills names the skills that the session's system prompt lists, where
	// the recommender chose them before; empty means that it has not.
	ListedSkills []string
	// Used are the calls that were made earlier in the session, in any order. The
	// recommender reads them.
	Used []Use
	// Vector is the question's meaning, for a selector with vectors; nil means that
	// words alone count.
	Vector []float32
	// Preferred names tools, and as "skill:" and a name skills, that the
	// recommender puts first, best first, where they may be used. Advice says who
	// preferred them, or why nobody did; it only stands in the explanation.
	Preferred []string
	Advice    string
}

// Config says how much a selection may send. The zero value has sensible
// limits.
type Config struct {
	// Limit is how many tools are sent for a question, pinned ones not counted;
	// 0 means 8.
	Limit int
	// Budget is how many tokens their definitions may have together; 0 means
	// 3000.
	Budget int
	// WindowShare is the part of the model's window that they may take, as a
	// fraction; 0 means 0.1.
	WindowShare float64
	// Direct is up to how many tools are sent without choosing, if they fit the
	// budget; 0 means 20, and a negative number that it is never done.
	Direct int
	// Pinned are tools that are sent always, by name or as "group:" and a group.
	Pinned []string
	// Disabled are tools that nobody may use, by name or as "group:" and a group.
	Disabled []string
	// Recommend orders the candidates by more than their words; the zero value
	// does not.
	Recommend Recommend
}

func (c Config) withDefaults() Config {
	if c.Limit == 0 {
		c.Limit = 8
	}
	if c.Budget == 0 {
		c.Budget = 3000
	}
	if c.WindowShare == 0 {
		c.WindowShare = 0.1
	}
	if c.Direct == 0 {
		c.Direct = 20
	}
	c.Recommend = c.Recommend.withDefaults()
	return c
}

// Selector selects from one catalog. It is immutable and safe for concurrent
// use.
type Selector struct {
	catalog  *catalog.Catalog
	config   Config
	index    *index
	disabled set
	pinned   set
	toolsets map[string]set
	skills   skills
	// vectors are the tools' meanings, by position; nil when there are none.
	vectors       [][]float32
	vectorWeights VectorWeights
}

// New indexes a catalog. It takes about 10 µs for each tool.
func New(c *catalog.Catalog, cfg Config) *Selector {
	s := &Selector{catalog: c, config: cfg.withDefaults(), index: newIndex(definitions(c)), toolsets: map[string]set{}, skills: newSkills(c)}
	s.disabled = s.members(cfg.Disabled)
	s.pinned = s.members(cfg.Pinned)
	for _, t := range c.Toolsets() {
		s.toolsets[t.Name] = s.members(t.Tools)
	}
	return s
}

func definitions(c *catalog.Catalog) []*tool.Definition {
	list := make([]*tool.Definition, 0, c.Len())
	for e := range c.All() {
		list = append(list, &e.Definition)
	}
	return list
}

// Catalog returns the catalog that s selects from.
func (s *Selector) Catalog() *catalog.Catalog { return s.catalog }

// Selection is what one question gets. It is immutable.
type Selection struct {
	// Request is what was asked.
	Request Request
	// Direct says that the tools were few enough to be sent without choosing.
	Direct bool
	// Declared are the tools that stand in front of the request, in order.
	Declared []*catalog.Entry
	// Announced are the tools that are described with this message, because the
	// session's Declared were fixed before; best first.
	Announced []*catalog.Entry
	// Ranked are the tools that fit the question best and may be used, best
	// first: those that are sent, or would be if the model had not been told of
	// them before.
	Ranked []Match
	// Recommended names the skills that fit the question, best first. Nil means
	// that the model is told of all that the request lets through: the recommender
	// is switched off, an explicit choice wins over it, or no skill fits.
	Recommended []string

	selector *Selector
	stages   []Stage       // by position: where the tool was dropped, or Sent
	scores   []float32     // by position
	failed   map[int]error // filters that panicked, by number
	meanings []float32     // by position: what the vectors added to the score; may be nil
	query    []queryTerm
	advice   map[int]*advice // by position: what the recommender says of a candidate
	limit    int
	budget   int
}

// Match is a tool with its score.
type Match struct {
	*catalog.Entry
	// Score is the tool's BM25F score: higher fits better. Scores of different
	// questions cannot be compared.
	Score float32
}

// Select picks what a question gets.
func (s *Selector) Select(req Request) *Selection {
	sel := s.begin(req)
	sel.admit()
	sel.rank()
	sel.recommend()
	sel.fit()
	sel.deliver()
	return sel
}

func (s *Selector) begin(req Request) *Selection {
	sel := &Selection{
		Request: req, selector: s,
		stages: make([]Stage, s.catalog.Len()),
		scores: make([]float32, s.catalog.Len()),
		limit:  s.config.Limit, budget: s.config.Budget,
	}
	if req.Limit > 0 {
		sel.limit = req.Limit
	}
	if req.Budget > 0 {
		sel.budget = req.Budget
	}
	if share := int(float64(req.Window) * s.config.WindowShare); req.Window > 0 && share < sel.budget {
		sel.budget = share
	}
	return sel
}

// Search ranks all tools that the caller may use, whatever the session has
// seen, and returns at most limit of them, best first. A query that is the exact
// name of a tool finds that tool first.
func (s *Selector) Search(req Request, limit int) []Match {
	sel := s.begin(req)
	sel.limit = limit
	sel.admit()
	sel.rank()
	found := sel.Ranked
	if e, ok := s.catalog.Get(strings.TrimSpace(req.Query)); ok && sel.stages[e.Position()] == Sent {
		found = slices.DeleteFunc(found, func(m Match) bool { return m.Entry == e })
		found = slices.Insert(found, 0, Match{e, sel.scores[e.Position()]})
	}
	return found[:min(len(found), limit)]
}

// set holds the positions of some of a catalog's tools; nil means none.
type set []bool

func (s set) has(position int) bool { return s != nil && s[position] }

// members returns the set of the tools that the targets name.
func (s *Selector) members(targets []string) set {
	if len(targets) == 0 {
		return nil
	}
	members, _ := s.catalog.Members(catalog.Toolset{Tools: targets})
	return s.setOf(members)
}

func (s *Selector) setOf(entries []*catalog.Entry) set {
	m := make(set, s.catalog.Len())
	for _, e := range entries {
		m[e.Position()] = true
	}
	return m
}
