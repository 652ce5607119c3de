package selection

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// skills are a catalog's toolsets, made ready for ranking. The one of all tools
// is not among them: it goes without saying.
type skills struct {
	list   []*catalog.Skill
	places []int              // of each, in [catalog.Catalog.Toolsets]
	tools  [][]*catalog.Entry // of each: those that it names, in order
	byName map[string]int     // the place in list
	index  *Index
}

func newSkills(c *catalog.Catalog) skills {
	all := c.Skills()
	s := skills{
		byName: make(map[string]int, len(all)), list: make([]*catalog.Skill, 0, len(all)), places: make([]int, 0, len(all)), tools: make([][]*catalog.Entry, 0, len(all)),
	}
	for i := range all {
		t := &all[i]
		if t.Name == catalog.Full {
			continue
		}
		tools, _ := c.Members(*t)
		s.byName[t.Name] = len(s.list)
		s.list, s.places, s.tools = append(s.list, t), append(s.places, i), append(s.tools, tools)
	}
	return s
}

// definitions are what the ranking reads of the skills: the same as of tools.
func (s skills) definitions() []*tool.Definition {
	texts := make([]tool.Definition, len(s.list))
	list := make([]*tool.Definition, len(s.list))
	for i, t := range s.list {
		texts[i] = tool.Definition{Name: t.Name, Description: t.Description, Aliases: t.Aliases, Examples: t.Examples, Translations: t.Translations, Body: t.Body}
		list[i] = &texts[i]
	}
	return list
}

// allTools reports whether the skill at a place shows all tools while it is active.
func (s skills) allTools(i int) bool {
	return len(s.list[i].Tools) == 0 || s.list[i].Guide != nil && len(s.tools[i]) == 0
}

// score scores every skill for a question, by place in the list, and returns
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

// hideSkills finds the skills that the caller is not told of: those that a rule
// hides, and those of whose tools the caller may use none, even while they are
// active. A skill that has no tools now is not hidden for that, because its tools
// may only be away.
func (sel *Selection) hideSkills() {
	s := &sel.selector.skills
	denied := sel.selector.catalog.DeniedSkills(&sel.Request.Facts)
	sel.hidden = make([]hiding, len(s.list))
	for i, skill := range s.list {
		ruled, tools := set(denied).has(s.places[i]), s.tools[i]
		if !ruled && (len(tools) == 0 || slices.ContainsFunc(tools, sel.visible)) {
			continue
		}
		active := sel.Request.Facts
		active.Skill = skill.Name
		switch {
		case ruled && set(sel.selector.catalog.DeniedSkills(&active)).has(s.places[i]):
			sel.hidden[i] = byRule
		case len(tools) > 0 && !slices.ContainsFunc(tools, sel.visible) && !sel.opens(&active, tools):
			sel.hidden[i] = byTools
		default:
			continue
		}
		sel.HiddenSkills = append(sel.HiddenSkills, skill.Name)
	}
}

// hiding is why a caller is not told of a skill.
type hiding uint8

const (
	notHidden hiding = iota
	byRule
	byTools
)

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

// offered reports whether the model may take up the skill at a place: the caller may
// see it, the request lets it through, and it is not left to people.
func (sel *Selection) offered(i int) bool {
	req, name := &sel.Request, sel.selector.skills.list[i].Name
	return sel.hidden[i] == notHidden && !sel.selector.skills.list[i].Manual && !slices.Contains(req.ExcludeSkills, name) &&
		(len(req.IncludeSkills) == 0 || slices.Contains(req.IncludeSkills, name))
}

// AdmitSkill finds a skill that a model may take up, as Select judges it. One
// that is hidden from the caller is as one that does not exist.
func (s *Selector) AdmitSkill(req Request, name string) (catalog.Skill, bool) {
	if name == catalog.Full {
		return s.catalog.Skill(name)
	}
	i, ok := s.skills.byName[name]
	if !ok {
		return catalog.Skill{}, false
	}
	sel := s.prepare(req)
	sel.admit()
	sel.hideSkills()
	return *s.skills.list[i], sel.offered(i)
}

// OfferedSkills yields the names of the skills that may be taken up.
func (sel *Selection) OfferedSkills() iter.Seq[string] {
	return func(yield func(string) bool) {
		for i, skill := range sel.selector.skills.list {
			if sel.offered(i) && !yield(skill.Name) {
				return
			}
		}
	}
}

// SearchSkills returns the skills that a request may take up and that its question
// fits, best first, at most limit of them.
func (s *Selector) SearchSkills(req Request, limit int) []*catalog.Skill {
	if len(s.skills.list) == 0 {
		return nil
	}
	sel := s.prepare(req)
	sel.admit()
	sel.hideSkills()
	return sel.fittingSkills(limit)
}

// candidateSkill is a skill that fits a question.
type candidateSkill struct {
	skill *catalog.Skill
	*advice
}

// candidateSkills returns the skills that the recommender puts first, best first,
// at most as many as tools are sent; nothing when nothing is to be recommended.
func (sel *Selection) candidateSkills() []candidateSkill {
	s := sel.selector
	if !s.config.Recommend.On || sel.active() || len(sel.Request.IncludeSkills) > 0 || len(s.skills.list) == 0 {
		return nil
	}
	scores, best := sel.scoreSkills()
	least := s.skills.index.noise(best)
	past := sel.experiences()
	var list []candidateSkill
	for i, skill := range s.skills.list {
		e := sel.experienceOf(i, past)
		name := skillTarget + skill.Name
		fits := scores[i] >= least || e.recency >= lately || slices.Contains(sel.Request.Preferred, name)
		if fits && sel.offered(i) {
			list = append(list, candidateSkill{skill, sel.advise(name, skill.Channels, share(scores[i], best), e)})
		}
	}
	slices.SortStableFunc(list, func(a, b candidateSkill) int { return compareAdvice(a.advice, b.advice) })
	return list[:min(len(list), sel.limit)]
}

// scoreSkills scores the skills that are offered. The others have no influence.
func (sel *Selection) scoreSkills() (scores []float32, best float32) {
	scores, _ = sel.selector.skills.score(sel.Request.Query)
	for i := range scores {
		if !sel.offered(i) {
			scores[i] = 0
		}
		best = max(best, scores[i])
	}
	return scores, best
}

// fittingSkills returns the skills that fit the question by their words, best
// first, at most limit of them.
func (sel *Selection) fittingSkills(limit int) []*catalog.Skill {
	s := &sel.selector.skills
	scores, best := sel.scoreSkills()
	least := s.index.noise(best)
	top := newTop[scoredSkill](limit, func(a, b scoredSkill) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Name, b.Name))
	})
	for i, score := range scores {
		if score > 0 && score >= least {
			top.add(scoredSkill{s.list[i], score})
		}
	}
	found := make([]*catalog.Skill, len(top.list))
	for i, c := range top.list {
		found[i] = c.Skill
	}
	return found
}

type scoredSkill struct {
	*catalog.Skill
	score float32
}

// experienceOf sums the uses of a skill's tools up. A skill of all tools has
// none: every use would speak for it.
func (sel *Selection) experienceOf(i int, past map[int]experience) (sum experience) {
	s := &sel.selector.skills
	if s.allTools(i) {
		return sum
	}
	for _, tool := range s.tools[i] {
		if e, used := past[tool.Position()]; used {
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
// it: first those that it is, best first, last those that nobody may use now. The
// strategy lite tells of none, whatever stands here.
func (sel *Selection) Skills() []SkillVerdict {
	s := sel.selector
	scores, query := s.skills.score(sel.Request.Query)
	candidates := sel.candidateSkills()
	said := saidIn(sel.SkillList)
	list := make([]SkillVerdict, len(s.skills.list))
	for i, skill := range s.skills.list {
		v := &list[i]
		v.Skill, v.Score = skill.Name, round(scores[i])
		v.Terms, _ = s.skills.index.matching(query, i)
		if at := slices.IndexFunc(candidates, func(c candidateSkill) bool { return c.skill == skill }); at >= 0 {
			v.Recommendation = candidates[at].rounded()
		}
		v.Stage, v.Reason = sel.judge(i, v, said)
		v.Told = v.Stage == Sent
		v.Tokens = chat.Tokens(said[v.Skill])
		if v.Tokens == 0 {
			v.Tokens = chat.Tokens(skillLine(skill, maxSkillLine))
		}
	}
	slices.SortStableFunc(list, func(a, b SkillVerdict) int {
		return cmp.Or(compareBools(b.Told, a.Told), cmp.Compare(b.points(), a.points()), cmp.Compare(b.Score, a.Score))
	})
	for _, u := range s.catalog.Unavailable() {
		list = append(list, SkillVerdict{Skill: u.Name, Stage: Enabled, Reason: u.Reason})
	}
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

// judge decides whether the model is told of the skill at a place. Said is what the
// system prompt says of each skill.
func (sel *Selection) judge(i int, v *SkillVerdict, said map[string]string) (at Stage, why string) {
	req, skill := &sel.Request, sel.selector.skills.list[i]
	line, listed := said[skill.Name]
	switch {
	case sel.hidden[i] == byRule:
		return Visibility, sel.selector.catalog.WhySkillDenied(&req.Facts, sel.selector.skills.places[i])
	case sel.hidden[i] == byTools:
		return Visibility, "the caller may use none of its tools"
	case skill.Manual:
		return Requested, "models are not told of it: people take it up"
	case slices.Contains(req.ExcludeSkills, v.Skill):
		return Requested, "excluded by the request or by the agent's filter"
	case !sel.offered(i):
		return Requested, "not among the skills of the request or of the agent's filter"
	case slices.Contains(sel.AnnouncedSkills, skill) && v.Recommendation != nil:
		return Sent, recommended(v.Recommendation) + ", said with the message"
	case slices.Contains(sel.AnnouncedSkills, skill):
		return Sent, "it fits the question, said with the message"
	case listed && len(req.IncludeSkills) > 0:
		return Sent, "named by the request or by the agent's filter"
	case listed && !sel.anew:
		return Sent, "listed since the session began"
	case listed && v.Recommendation != nil && sel.Recommended != nil:
		return Sent, recommended(v.Recommendation)
	case listed && line == "":
		return Sent, "listed by its name: the descriptions of all are too long"
	case listed && sel.active():
		return Sent, fmt.Sprintf("the skill %q is active: nothing is recommended", req.Facts.Skill)
	case listed && sel.selector.config.Recommend.On:
		return Sent, "no skill fits the question: all are told"
	case listed:
		return Sent, "nothing is recommended: all are told"
	case sel.active():
		return Rank, fmt.Sprintf("not listed: the skill %q is active", req.Facts.Skill)
	case v.Score == 0:
		return Rank, "not listed: no word of the question matches, and none of its tools was used lately"
	}
	return Rank, "not listed: others fit better"
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
