package selection

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// skills are a catalog's toolsets, made ready for ranking. The one of all tools
// is not among them: it goes without saying.
type skills struct {
	list  []catalog.Toolset
	tools [][]*catalog.Entry // of each
	index *Index             // nil when there are none
}

// newSkills indexes the toolsets of a catalog with the same code as its tools.
func newSkills(c *catalog.Catalog, weights Weights) skills {
	var s skills
	var texts []*tool.Definition
	for _, t := range c.Toolsets() {
		if t.Name != catalog.Full {
			tools, _ := c.Members(t)
			s.list, s.tools = append(s.list, t), append(s.tools, tools)
			texts = append(texts, &tool.Definition{Name: t.Name, Description: t.Description, Aliases: t.Aliases, Examples: t.Examples})
		}
	}
	if len(texts) > 0 {
		s.index = NewIndex(texts, weights)
	}
	return s
}

// score scores every skill for a question, by position in the list, and returns
// the terms that it was read as. Only the question's own words count: what it
// goes on with shows in the tools that were used.
func (s skills) score(query string) ([]float32, []queryTerm) {
	scores := make([]float32, len(s.list))
	if len(s.list) == 0 {
		return scores, nil
	}
	work := s.index.begin()
	defer s.index.scratch.Put(work)
	q := s.index.parse(Query{Text: query}, work)
	s.index.score(q, nil, scores, work)
	return scores, q.terms
}

// hideSkills finds the skills of whose tools the caller may use none, even while
// they are active: the caller is not told that they exist. A skill that has no
// tools now is not hidden, because its tools may only be away.
func (sel *Selection) hideSkills() {
	var active *chat.Facts // the caller's, while the skill is active
	for i, skill := range sel.selector.skills.list {
		tools := sel.selector.skills.tools[i]
		if len(tools) == 0 || slices.ContainsFunc(tools, sel.visible) {
			continue
		}
		if active == nil {
			facts := sel.Request.Facts
			active = &facts
		}
		active.Skill = skill.Name
		if !sel.opens(active, tools) {
			sel.HiddenSkills = append(sel.HiddenSkills, skill.Name)
		}
	}
}

// visible reports whether nothing but the active skill, the request or the ranking
// keeps a tool from the caller.
func (sel *Selection) visible(e *catalog.Entry) bool {
	stage := sel.Stage(e)
	return stage == Sent || stage > Visibility
}

// opens reports whether rules and filters would let the caller see one of some
// tools if the facts were these.
func (sel *Selection) opens(facts *chat.Facts, tools []*catalog.Entry) bool {
	denied, _ := sel.selector.catalog.Denied(facts)
	asked, visible := 0, true // the last filter, and what it said
	for _, e := range tools {
		if sel.Stage(e) != Visibility || set(denied).has(e.Position()) {
			continue
		}
		if e.Filter() != asked {
			asked = e.Filter()
			visible, _ = e.Visible(facts)
		}
		if visible {
			return true
		}
	}
	return false
}

// candidateSkill is a skill that fits a question.
type candidateSkill struct {
	skill *catalog.Toolset
	*advice
}

// candidateSkills returns the skills that fit the question, best first, at most
// as many as tools are sent; nothing when nothing is to be recommended.
func (sel *Selection) candidateSkills() []candidateSkill {
	s := sel.selector
	if !s.config.Recommend.On || sel.active() || len(sel.Request.IncludeSkills) > 0 || len(s.skills.list) == 0 {
		return nil
	}
	scores, _ := s.skills.score(sel.Request.Query)
	for i := range scores {
		if slices.Contains(sel.HiddenSkills, s.skills.list[i].Name) {
			scores[i] = 0 // what is hidden has no influence on the others
		}
	}
	best := slices.Max(scores)
	least := s.skills.index.noise(best)
	past := sel.experiences()
	var list []candidateSkill
	for i := range s.skills.list {
		skill := &s.skills.list[i]
		e := experienceOf(s.toolsets[skill.Name], past)
		name := skillTarget + skill.Name
		fits := scores[i] >= least || e.recency >= lately || slices.Contains(sel.Request.Preferred, name)
		if !fits || slices.Contains(sel.Request.ExcludeSkills, skill.Name) || slices.Contains(sel.HiddenSkills, skill.Name) {
			continue
		}
		list = append(list, candidateSkill{skill, sel.advise(name, skill.Channels, share(scores[i], best), e)})
	}
	slices.SortStableFunc(list, func(a, b candidateSkill) int { return compareAdvice(a.advice, b.advice) })
	return list[:min(len(list), sel.limit)]
}

// Listed names the skills that the system prompt is to list, where the
// recommender chooses them: those of the session so far, unless there are none or
// the session's front is made anew; then those that fit the question, or all when
// nothing is recommended. It is empty when the recommender is switched off.
func (sel *Selection) Listed() []string {
	switch {
	case !sel.selector.config.Recommend.On:
		return nil
	case sel.begun() || len(sel.Request.IncludeSkills) > 0:
		return sel.Request.ListedSkills
	case sel.Recommended != nil:
		return sel.Recommended
	}
	var all []string
	for _, skill := range sel.selector.skills.list {
		all = append(all, skill.Name)
	}
	return all
}

// begun reports whether the list of skills was fixed before.
func (sel *Selection) begun() bool { return !sel.anew && len(sel.Request.ListedSkills) > 0 }

// experienceOf sums the uses of a skill's tools up. A skill of all tools has
// none: every use would speak for it.
func experienceOf(members set, past map[int]experience) experience {
	var sum experience
	for _, i := range slices.Sorted(maps.Keys(past)) {
		if e := past[i]; members.has(i) {
			sum.count += e.count
			sum.recency = max(sum.recency, e.recency)
		}
	}
	return sum
}

// SkillVerdict says whether the model is told of a skill, and why.
type SkillVerdict struct {
	Skill string `json:"skill"`
	// Stage is the one that dropped the skill, or Sent: then it is Told. Visibility
	// is that of its tools.
	Stage  Stage  `json:"stage"`
	Told   bool   `json:"told"`
	Reason string `json:"reason"`
	// Score is the skill's score for the question, and Terms the words that
	// matched, as for tools.
	Score float64 `json:"score"`
	Terms []Term  `json:"terms,omitempty"`
	// Tokens is what telling of it costs.
	Tokens int `json:"tokens"`
	// Recommendation is how the recommender scored it; nil when it did not.
	Recommendation *Recommendation `json:"recommendation,omitempty"`
}

// Skills says of every skill but that of all tools whether the model is told of
// it: first those that it is, best first. The strategy lite tells of none,
// whatever stands here.
func (sel *Selection) Skills() []SkillVerdict {
	s := sel.selector
	scores, query := s.skills.score(sel.Request.Query)
	candidates := sel.candidateSkills()
	list := make([]SkillVerdict, len(s.skills.list))
	for i, skill := range s.skills.list {
		v := &list[i]
		v.Skill, v.Score, v.Tokens = skill.Name, round(scores[i]), chat.Tokens("- "+skill.Name+": "+skill.Description+"\n")
		v.Terms, _ = s.skills.index.matching(query, i)
		if at := slices.IndexFunc(candidates, func(c candidateSkill) bool { return c.skill.Name == skill.Name }); at >= 0 {
			v.Recommendation = candidates[at].rounded()
		}
		v.Stage, v.Reason = sel.judge(v)
		v.Told = v.Stage == Sent
	}
	slices.SortStableFunc(list, func(a, b SkillVerdict) int {
		return cmp.Or(compareBools(b.Told, a.Told), cmp.Compare(b.points(), a.points()), cmp.Compare(b.Score, a.Score))
	})
	return list
}

func (v *SkillVerdict) points() float64 {
	switch {
	case v.Recommendation == nil:
		return 0
	case v.Recommendation.Preferred:
		return 100 + v.Recommendation.Score
	}
	return v.Recommendation.Score
}

// judge decides whether the model is told of a skill.
func (sel *Selection) judge(v *SkillVerdict) (at Stage, why string) {
	req := &sel.Request
	switch {
	case slices.Contains(sel.HiddenSkills, v.Skill):
		return Visibility, "the caller may use none of its tools"
	case slices.Contains(req.ExcludeSkills, v.Skill):
		return Requested, "excluded by the request or by the agent's filter"
	case len(req.IncludeSkills) > 0:
		if slices.Contains(req.IncludeSkills, v.Skill) {
			return Sent, "named by the request or by the agent's filter"
		}
		return Requested, "not among the skills of the request or of the agent's filter"
	case !sel.selector.config.Recommend.On:
		return Sent, "nothing is recommended: all are told"
	case sel.begun() && slices.Contains(req.ListedSkills, v.Skill):
		return Sent, "listed since the session began"
	case sel.begun() && v.Recommendation != nil:
		return Sent, recommended(v.Recommendation) + ", said with the message"
	case sel.active():
		why = fmt.Sprintf("the skill %q is active: nothing is recommended", req.Facts.Skill)
		if sel.begun() {
			return Rank, why
		}
		return Sent, why
	case len(sel.Recommended) == 0 && !sel.begun():
		return Sent, "no skill fits the question: all are told"
	case v.Recommendation != nil:
		return Sent, recommended(v.Recommendation)
	case v.Score == 0:
		return Rank, "no word of the question matches, and none of its tools was used lately"
	}
	return Rank, "others fit better"
}

// recommended says how a recommendation came about.
func recommended(r *Recommendation) string {
	var parts []string
	for _, p := range [...]struct {
		name   string
		points float64
	}{{"channel", r.Channel}, {"keyword", r.Keyword}, {"history", r.History}, {"recency", r.Recency}} {
		if p.points >= 0.5 {
			parts = append(parts, fmt.Sprintf("%s %.0f", p.name, p.points))
		}
	}
	text := fmt.Sprintf("recommended %.0f of 100", r.Score)
	if r.Preferred {
		text = "preferred; " + text
	}
	return text + " (" + strings.Join(parts, ", ") + ")"
}
