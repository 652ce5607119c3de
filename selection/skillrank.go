package selection

import (
	"cmp"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/rank"
)

// rank scores every skill for a question, by place in the list. Only the question's
// own words count; the tools that were used reflect the conversation before.
func (s skills) rank(query string) rank.Ranking { return s.index.Rank(rank.Query{Text: query}) }

// SearchSkills returns the skills that the model may take up and that fit the
// question, best first, at most limit of them.
func (s *Selector) SearchSkills(req Request, limit int) []*catalog.Skill {
	if len(s.skills.list) == 0 {
		return nil
	}
	sel := s.begin(req)
	sel.admit()
	return recommender{sel}.fittingSkills(limit)
}

// candidateSkill is a skill that fits a question.
type candidateSkill struct {
	skill *catalog.Skill
	*advice
}

// candidateSkills returns the recommended skills, best first, at most as many as
// tools are sent.
func (r recommender) candidateSkills() []candidateSkill {
	s := r.sel.selector
	if !s.config.Recommend.On || r.sel.active() || len(r.sel.Request.IncludeSkills) > 0 || len(s.skills.list) == 0 {
		return nil
	}
	ranking, best := r.scoreSkills()
	least := ranking.Noise(best)
	past := r.experiences()
	var list []candidateSkill
	for i, skill := range s.skills.list {
		e := r.experienceOf(i, past)
		name := skillTarget + skill.Name
		fits := ranking.Scores[i] >= least || e.recency >= lately || slices.Contains(r.sel.Request.Preferred, name)
		if fits && r.sel.offered(i) {
			list = append(list, candidateSkill{skill,
				r.advise(name, skill.Channels, share(ranking.Scores[i], best), e)})
		}
	}
	slices.SortStableFunc(list, func(a, b candidateSkill) int { return compareAdvice(a.advice, b.advice) })
	return list[:min(len(list), r.sel.limit)]
}

// scoreSkills scores the offered skills and returns the best score. The scores of
// the others are 0.
func (r recommender) scoreSkills() (ranking rank.Ranking, best float32) {
	ranking = r.sel.selector.skills.rank(r.sel.Request.Query)
	for i := range ranking.Scores {
		if !r.sel.offered(i) {
			ranking.Scores[i] = 0
		}
		best = max(best, ranking.Scores[i])
	}
	return ranking, best
}

// fittingSkills returns the skills that fit the question by their words, best
// first, at most limit of them.
func (r recommender) fittingSkills(limit int) []*catalog.Skill {
	s := &r.sel.selector.skills
	ranking, best := r.scoreSkills()
	least := ranking.Noise(best)
	top := rank.NewTop[scoredSkill](limit, func(a, b scoredSkill) int {
		return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.Name, b.Name))
	})
	for i, score := range ranking.Scores {
		if score > 0 && score >= least {
			top.Add(scoredSkill{s.list[i], score})
		}
	}
	found := make([]*catalog.Skill, len(top.List))
	for i, c := range top.List {
		found[i] = c.Skill
	}
	return found
}

type scoredSkill struct {
	*catalog.Skill
	score float32
}

// experienceOf sums up the uses of a skill's tools. A skill of all tools has none,
// because every use would count for it.
func (r recommender) experienceOf(i int, past map[int]experience) (sum experience) {
	s := &r.sel.selector.skills
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
