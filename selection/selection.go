// Package selection is the heart of etui: from everything in a catalog it picks
// what one question needs, and says why for each tool.
//
// A [Selector] is made for one catalog. [Selector.Select] runs the stages in the
// order of [Stages]: each lets tools through or drops them with a reason. A tool
// that one of the first five stages drops may not be used. A tool that one of the
// last two drops may still be used: the model can search for it ([FindTools]) and
// call it by its exact name.
//
// The host ranks, the model picks: ranking orders and cuts, it never forces.
//
// Selecting does no I/O, reads no clock and waits for no lock. The same catalog
// and request give the same selection.
package selection

import (
	"cmp"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

// Selection is what one question gets. It is immutable.
type Selection struct {
	// Request is what was asked.
	Request Request
	// Mode is how the selection reaches the model; never Auto. Why is the reason
	// for the mode, in a few words.
	Mode Mode
	Why  string
	// Declared are the tools at the front of the request, in order.
	Declared []*catalog.Entry
	// Deferred are all other tools that may be used, by name, when Mode is Native:
	// the provider receives them, the model does not.
	Deferred []*catalog.Entry
	// Announced are the tools that are described with this message, because the
	// session's Declared were already fixed: the best one, or all of a phase's.
	Announced []*catalog.Entry
	// Named are the other tools for this message, which it only names; best first.
	Named []*catalog.Entry
	// Ranked are the tools that fit the question best and may be used, best first:
	// the tools that are sent, or would be if the model did not know them already.
	Ranked []Match
	// Recommended names the skills that fit the question, best first. When it is
	// nil, the model gets every skill that the request lets through: the recommender
	// is off, an explicit choice overrides it, or no skill fits.
	Recommended []string
	// HiddenSkills names the skills that a rule hides from the caller, and skills
	// that have no tool the caller may use. No text for the caller or the model
	// names them.
	HiddenSkills []string
	// SkillList is the system prompt's list of skills, see [ListSkills]. It stays
	// the same while the session's front does.
	SkillList string
	// AnnouncedSkills are the skills that fit the question and that SkillList does
	// not describe. They are described with the message, best first.
	AnnouncedSkills []*catalog.Skill

	selector *Selector
	stages   stages // by position: where the tool was dropped, or Sent
	ranking  rank.Ranking
	hidden   []hideReason // by place of the skill
	own      admission    // what the request itself admits, without the bounds
	// failedRules are the errors of rules that therefore hide their targets.
	failedRules []error
	bounds      []*Selection // what each of the bounds may use
	advice      advices      // by position: how the recommender scored a candidate
	limit       int
	budget      int

	all, allTokens       int              // how many tools the caller may see, and their tokens
	usable, usableTokens int              // how many of them may be used now, and their tokens
	anew                 bool             // the session's front is made anew
	fresh                bool             // and so is it when a front without a cache has grown too large
	unnamed              []*catalog.Entry // that fit, but the session's messages announce enough
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
		stages: make(stages, s.catalog.Len()),
		limit:  max(0, min(cmp.Or(max(req.Limit, 0), s.config.Limit), s.catalog.Len())),
	}
	sel.budget = max(0, req.within(cmp.Or(max(req.Budget, 0), s.config.Budget), s.config.WindowShare))
	return sel
}
