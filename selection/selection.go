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
	"github.com/etui-run/etui/rank"
)

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
	stages   []Stage // by position: where the tool was dropped, or Sent
	ranking  rank.Ranking
	hidden   []hiding      // by place of the skill
	failed   map[int]error // filters that panicked, by number
	// failedRules are the errors of rules that hide what they guard.
	failedRules []error
	advice      map[int]*advice // by position: what the recommender says of a candidate
	limit       int
	budget      int

	usable, usableTokens int  // what may be used, counted
	anew                 bool // the session's front is made anew
}

// Select picks what a question gets: it admits what the caller may use, ranks it
// by its words, recommends by more than words, chooses the mode, fits the best
// tools into the budget, delivers them to the model and lists the skills.
func (s *Selector) Select(req Request) *Selection {
	sel := s.begin(req)
	sel.admit()
	sel.rank()
	sel.recommend()
	sel.chooseMode()
	sel.fit()
	sel.deliver()
	sel.listSkills()
	return sel
}

func (s *Selector) begin(req Request) *Selection {
	sel := &Selection{
		Request: req, selector: s,
		stages: make([]Stage, s.catalog.Len()),
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
