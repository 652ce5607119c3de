package selection

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
)

// SkillVerdict says whether the model learns of a skill, and why.
type SkillVerdict struct {
	Skill string `json:"skill"`
	// Stage is the stage that dropped the skill, or Sent. Told is set when it is
	// Sent: the model learns of the skill.
	Stage  Stage  `json:"stage"`
	Told   bool   `json:"told"`
	Reason string `json:"reason"`
	// Score is the skill's score for the question, and Terms the words that
	// matched, as for tools.
	Score float64     `json:"score"`
	Terms []rank.Term `json:"terms,omitempty"`
	// Tokens is what describing it to the model costs.
	Tokens int `json:"tokens"`
	// Recommendation is how the recommender scored it; nil if it did not.
	Recommendation *Recommendation `json:"recommendation,omitempty"`
}

// Skills returns a verdict for every skill except [catalog.Full]: first the skills
// that the model learns of, best first, and last the skills that are unavailable.
// Under the strategy lite the model learns of none, whatever the verdicts are.
func (sel *Selection) Skills() []SkillVerdict {
	s := sel.selector
	ranking := s.skills.rank(sel.Request.Query)
	candidates := recommender{sel}.candidateSkills()
	said := s.skills.saidIn(sel.SkillList)
	list := make([]SkillVerdict, len(s.skills.list))
	for i, skill := range s.skills.list {
		v := &list[i]
		v.Skill, v.Score = skill.Name, rank.Round(ranking.Scores[i])
		v.Terms, _ = ranking.Words(i)
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
		return cmp.Or(compareSent(a.Stage, b.Stage), cmp.Compare(b.points(), a.points()), cmp.Compare(b.Score, a.Score))
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

// judge returns the stage of the skill at a place, and why. Said has the line of
// each skill in the system prompt.
func (sel *Selection) judge(i int, v *SkillVerdict, said map[string]string) (at Stage, why string) {
	req, skill := &sel.Request, sel.selector.skills.list[i]
	line, listed := said[skill.Name]
	switch {
	case sel.hidden[i] == byChannel:
		return Visibility, onlyOn(skill.Channels)
	case sel.hidden[i] == byRule:
		return Visibility, sel.selector.catalog.WhySkillDenied(&req.Facts, sel.selector.skills.places[i])
	case sel.hidden[i] == byTools:
		return Visibility, "the caller may use none of its tools"
	case sel.hidden[i] == byBound:
		return Visibility, "hidden from the one who started this sub-agent"
	case skill.Manual:
		return Requested, "hidden from models: only people take it up"
	case slices.Contains(req.ExcludeSkills, v.Skill):
		return Requested, "excluded by the request or by the agent's filter"
	case !sel.offered(i):
		return Requested, "not among the skills of the request or of the agent's filter"
	case slices.Contains(sel.AnnouncedSkills, skill) && v.Recommendation != nil:
		return Sent, recommended(v.Recommendation) + ", described with the message"
	case slices.Contains(sel.AnnouncedSkills, skill):
		return Sent, "it fits the question, described with the message"
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
		return Sent, "no skill fits the question: all are listed"
	case listed:
		return Sent, "nothing is recommended: all are listed"
	case sel.active():
		return Rank, fmt.Sprintf("not listed: the skill %q is active", req.Facts.Skill)
	case v.Score == 0:
		return Rank, "not listed: no word of the question matches, and none of its tools was used lately"
	}
	return Rank, "not listed: others fit better"
}
