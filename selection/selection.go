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
	// History is the conversation before it, oldest first: "and in Berlin?" asks
	// for what was asked for before.
	History []chat.Message
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
	// Mode overrides that of the [Config] when not empty.
	Mode Mode
	// Native says that the model's provider can defer tools, see [Native].
	Native bool
	// Uncached says that the model has no prompt cache: tools may be declared at
	// any time.
	Uncached bool

	// Began is the mode of the session so far, as [Selection.Mode] told it for the
	// question before. Empty means a new session.
	Began Mode
	// Declared names the tools that stand in front of the session's requests, in
	// order.
	Declared []string
	// Announced names the tools that later messages of the session described, as
	// far as those are still sent.
	Announced []string
	// IncludeSkills, when not empty, names the only skills that the model is told
	// of; ExcludeSkills names skills that it is not.
	IncludeSkills, ExcludeSkills []string
	// SkillList is what the session's system prompt says of skills, as
	// [Selection.SkillList] told it for the question before.
	SkillList string
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
	// Cold says that the provider's cache holds nothing of the session any more,
	// so that its front may be made anew at no cost.
	Cold bool
	// Called names the tools that were called in the part of the session that is
	// still sent, in order. They are declared when the front is made anew.
	Called []string
}

// Config says how much a selection may send. The zero value has sensible
// limits.
type Config struct {
	// Mode is how what is selected reaches the model; empty means Auto.
	Mode Mode
	// Off switches the selection off, whatever the mode and the request say: every
	// tool that the caller may use is declared.
	Off bool
	// Directory is how many tokens the directory of names may have, see
	// [Selection.Directory]; 0 means 400, and a negative number that there is none.
	Directory int
	// Skills is how many tokens the list of skills may have, see [ListSkills]; 0
	// means 1500. It has at most 5 % of the model's window.
	Skills int
	// Limit is how many tools are sent for a question, pinned ones not counted;
	// 0 means 8.
	Limit int
	// Budget is how many tokens their definitions may have together; 0 means
	// 3000.
	Budget int
	// WindowShare is the part of the model's window that they may take, as a
	// fraction; 0 means 0.1.
	WindowShare float64
	// Direct is up to how many tools Auto sends without choosing, if they fit the
	// budget; 0 means 12, and a negative number that it is never done.
	Direct int
	// Pinned are tools that are sent always, by name or as "group:" and a group.
	Pinned []string
	// Disabled are tools that nobody may use, by name or as "group:" and a group.
	Disabled []string
	// Weights are those of the ranking; the zero value is [DefaultWeights].
	Weights Weights
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
		c.Direct = 12
	}
	if c.Weights == (Weights{}) {
		c.Weights = DefaultWeights()
	}
	if c.Directory == 0 {
		c.Directory = 400
	}
	if c.Skills == 0 {
		c.Skills = defaultSkillTokens
	}
	c.Recommend = c.Recommend.withDefaults()
	return c
}

// Selector selects from one catalog. It is immutable and safe for concurrent
// use.
type Selector struct {
	catalog  *catalog.Catalog
	config   Config
	index    *Index
	usage    *Usage
	disabled set
	pinned   set
	skills   skills
	// By position, side by side: looking at every entry would take longer than
	// all else.
	filters, tokens []int32
	// vectors are the tools' meanings, by position; nil when there are none.
	vectors       [][]float32
	vectorWeights VectorWeights
}

// New indexes a catalog. It takes about 10 µs for each tool.
func New(c *catalog.Catalog, cfg Config) *Selector { return newMaker(cfg).selector(c) }

// maker makes the selectors of one catalog after the other. What did not change is
// not read again. It is not safe for concurrent use.
type maker struct {
	config        Config
	tools, skills *analysis
	last          *Selector // nil before the first
}

func newMaker(cfg Config) *maker {
	cfg = cfg.withDefaults()
	return &maker{config: cfg, tools: newAnalysis(cfg.Weights), skills: newAnalysis(cfg.Weights)}
}

func (m *maker) selector(c *catalog.Catalog) *Selector {
	s := &Selector{catalog: c, config: m.config}
	if m.last != nil && m.last.catalog.SameTools(c) {
		s.index = m.last.index
	} else {
		s.index = m.tools.index(definitions(c))
	}
	s.skills = newSkills(c)
	if m.last != nil && m.last.catalog.SameSkills(c) {
		s.skills.index = m.last.skills.index
	} else {
		s.skills.index = m.skills.index(s.skills.definitions())
	}
	s.filters, s.tokens = make([]int32, 0, c.Len()), make([]int32, 0, c.Len())
	s.disabled = s.members(m.config.Disabled)
	for e := range c.All() {
		s.filters, s.tokens = append(s.filters, int32(e.Filter())), append(s.tokens, int32(e.Tokens))
		if Meta(e.Definition.Name) {
			if s.disabled == nil {
				s.disabled = make(set, c.Len())
			}
			s.disabled[e.Position()] = true
		}
	}
	s.pinned = s.members(m.config.Pinned)
	m.last = s
	return s
}

// WithUsage returns a selector that lets the past vote; nil is a past of which
// nothing is known. It shares everything else with s.
func (s *Selector) WithUsage(u *Usage) *Selector {
	voting := *s
	voting.usage = u
	return &voting
}

// Catalog returns the catalog that s selects from.
func (s *Selector) Catalog() *catalog.Catalog { return s.catalog }

// Selection is what one question gets. It is immutable.
type Selection struct {
	// Request is what was asked.
	Request Request
	// Mode is how the selection reaches the model; never Auto. Why says why it is
	// this one, in a few words.
	Mode Mode
	Why  string
	// Declared are the tools that stand in front of the request, in order.
	Declared []*catalog.Entry
	// Deferred are all others that may be used, by name, when Mode is Native: the
	// provider is sent them, the model is not.
	Deferred []*catalog.Entry
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
	// HiddenSkills names the skills that a rule hides, or of whose tools the caller
	// may use none: nothing that the caller or the model reads names them.
	HiddenSkills []string
	// SkillList is what the system prompt says of skills: see [ListSkills]. It stays
	// the same while the session's front does.
	SkillList string
	// AnnouncedSkills fit the question and are not described in SkillList: they are
	// told with the message, best first.
	AnnouncedSkills []*catalog.Skill

	selector *Selector
	stages   []Stage       // by position: where the tool was dropped, or Sent
	scores   []float32     // by position
	hidden   []hiding      // by place of the skill
	failed   map[int]error // filters that panicked, by number
	meanings []float32     // by position: what the vectors added to the score; may be nil
	// failedRules are the errors of rules that hide what they guard.
	failedRules []error
	query       []queryTerm
	votes       []vote          // what the past added to scores
	byWords     float32         // the best score without votes and meanings; 0 when nothing was added
	advice      map[int]*advice // by position: what the recommender says of a candidate
	limit       int
	budget      int

	usable, usableTokens int  // what may be used, counted
	anew                 bool // the session's front is made anew
}

// Match is a tool with its score.
type Match struct {
	*catalog.Entry
	// Score is the tool's BM25F score with what [Usage] and vectors add: higher fits
	// better.
	// Scores of different questions cannot be compared.
	Score float32
}

// Select picks what a question gets.
func (s *Selector) Select(req Request) *Selection {
	sel := s.prepare(req)
	sel.admit()
	sel.hideSkills()
	sel.rank()
	sel.recommend()
	sel.choose()
	sel.fit()
	sel.deliver()
	sel.listSkills()
	return sel
}

func (s *Selector) prepare(req Request) *Selection {
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

func definitions(c *catalog.Catalog) []*tool.Definition {
	list := make([]*tool.Definition, 0, c.Len())
	for e := range c.All() {
		list = append(list, &e.Definition)
	}
	return list
}

// set holds the positions of some of a catalog's tools; nil means none.
type set []bool

func (s set) has(position int) bool { return s != nil && s[position] }

// members returns the set of the tools that the targets name.
func (s *Selector) members(targets []string) set {
	if len(targets) == 0 {
		return nil
	}
	members, _ := s.catalog.Members(catalog.Skill{Tools: targets})
	return s.setOf(members)
}

func (s *Selector) setOf(entries []*catalog.Entry) set {
	m := make(set, s.catalog.Len())
	for _, e := range entries {
		m[e.Position()] = true
	}
	return m
}
