package selection

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/etui-run/etui/catalog"
)

// Recommend says how much else counts beside words when the candidates of a
// question are ordered. The recommender ranks and explains; the model picks.
//
// A candidate's score is from 0 to 100 and has four parts:
//
//   - channel: 1 when it is made for the question's channel, 0.5 when it exists on
//     all channels;
//   - keyword: its score by words, relative to the best of this question;
//   - history: how often it was used in this session. A use counts half after
//     three days. One use gives 0.5, two 0.75, and so on;
//   - recency: how long ago it was last used, half after each hour.
//
// A tool or skill is a candidate only if a word of the question matches or it was
// used within the last hour. An explicit choice comes
// first: nothing is recommended when the request includes certain tools or skills,
// or when a skill is active.
type Recommend struct {
	// On turns the recommender on.
	On bool
	// Channel, Keyword, History and Recency are the weights of the parts, as shares
	// of their sum. All zero means 40, 30, 20 and 10.
	Channel, Keyword, History, Recency float64
}

// lately is the recency from which on a use alone makes a tool a candidate: "and
// in Berlin?" continues with what the previous question used.
const lately = 0.5

// skillTarget begins the names of skills among preferred names.
const skillTarget = "skill:"

func (r Recommend) withDefaults() Recommend {
	sum := r.Channel + r.Keyword + r.History + r.Recency
	if sum <= 0 {
		return Recommend{r.On, 40, 30, 20, 10}
	}
	f := 100 / sum
	return Recommend{r.On, r.Channel * f, r.Keyword * f, r.History * f, r.Recency * f}
}

// Recommendation is how a candidate was scored.
type Recommendation struct {
	// Score is from 0 to 100, the sum of the parts.
	Score   float64 `json:"score"`
	Channel float64 `json:"channel"`
	Keyword float64 `json:"keyword"`
	History float64 `json:"history"`
	Recency float64 `json:"recency"`
	// Preferred is set when it was put first by name, see [Request.Preferred].
	Preferred bool `json:"preferred,omitempty"`
}

// advice is how the recommender scored a candidate.
type advice struct {
	Recommendation
	place int // among the preferred ones; others come after them
}

func compareAdvice(a, b *advice) int {
	return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(b.Score, a.Score))
}

// recommender scores the candidates of a selection.
type recommender struct{ sel *Selection }

// advise scores a candidate.
func (r recommender) advise(name string, channels []string, keyword float64, e experience) *advice {
	w := r.sel.selector.config.Recommend
	a := &advice{place: slices.Index(r.sel.Request.Preferred, name)}
	a.Preferred = a.place >= 0
	if !a.Preferred {
		a.place = len(r.sel.Request.Preferred)
	}
	a.Channel = w.Channel // what is admitted and has channels is made for this one
	if len(channels) == 0 {
		a.Channel /= 2
	}
	a.Keyword = w.Keyword * keyword
	a.History = w.History * (1 - math.Exp2(-e.count))
	a.Recency = w.Recency * e.recency
	a.Score = a.Channel + a.Keyword + a.History + a.Recency
	return a
}

// active reports whether a skill is active. Then nothing is recommended.
func (sel *Selection) active() bool {
	skill := sel.Request.Facts.Skill
	return skill != "" && skill != catalog.Full
}

// recommend orders the candidates by more than their words.
func (sel *Selection) recommend() {
	if !sel.selector.config.Recommend.On || sel.active() {
		return
	}
	r := recommender{sel}
	for _, c := range r.candidateSkills() {
		sel.Recommended = append(sel.Recommended, c.skill.Name)
	}
	if len(sel.Request.Include) > 0 {
		return
	}
	keyword := r.keywords()
	past := r.experiences()
	sel.advice = advices{}
	for _, m := range r.candidates(past) {
		i := m.Position()
		sel.advice[i] = r.advise(m.Definition.Name, m.Definition.Channels, keyword(m), past[i])
	}
	slices.SortStableFunc(sel.Ranked, sel.advice.compare)
}

// keywords returns how well the question's own words fit a candidate, relative to
// the best one. The conversation before counts in history and recency; it counts
// here only when none of the question's own words fit.
func (r recommender) keywords() func(Match) float64 {
	own := func(m Match) float32 { return r.sel.ranking.Own(m.Position()) }
	best, all := float32(0), float32(0)
	for _, m := range r.sel.Ranked {
		best, all = max(best, own(m)), max(all, m.Score)
	}
	if best < r.sel.ranking.Least() {
		return func(m Match) float64 { return share(m.Score, all) }
	}
	return func(m Match) float64 { return share(max(own(m), 0), best) }
}

// share returns a score relative to the best one.
func share(score, best float32) float64 {
	if best <= 0 {
		return 0
	}
	return float64(score / best)
}

// candidates adds the tools that were used lately or are preferred to the ranked
// ones, if they may be used.
func (r recommender) candidates(past map[int]experience) []Match {
	c := r.sel.selector.catalog
	add := func(e *catalog.Entry) {
		if r.sel.stages[e.Position()] == Sent &&
			!slices.ContainsFunc(r.sel.Ranked, func(m Match) bool { return m.Entry == e }) {
			r.sel.Ranked = append(r.sel.Ranked, Match{e, r.sel.ranking.Scores[e.Position()]})
		}
	}
	for _, u := range r.sel.Request.Used { // in their order, which is the same every time
		if e, ok := c.Get(u.Tool); ok && past[e.Position()].recency >= lately {
			add(e)
		}
	}
	for _, name := range r.sel.Request.Preferred {
		if e, ok := c.Get(name); ok {
			add(e)
		}
	}
	return r.sel.Ranked
}

// advices are the candidates, by position.
type advices map[int]*advice

// compare puts recommended tools first, in the recommender's order.
func (all advices) compare(a, b Match) int {
	x, y := all[a.Position()], all[b.Position()]
	switch {
	case x == nil && y == nil:
		return 0
	case x == nil:
		return 1
	case y == nil:
		return -1
	}
	return compareAdvice(x, y)
}

// rounded keeps two decimals, enough for a person.
func (r Recommendation) rounded() *Recommendation {
	two := func(x float64) float64 { return math.Round(x*100) / 100 }
	return &Recommendation{two(r.Score), two(r.Channel), two(r.Keyword), two(r.History), two(r.Recency), r.Preferred}
}

// recommended explains a recommendation.
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
	text := fmt.Sprintf("recommended %.0f of 100 (%s)", r.Score, strings.Join(parts, ", "))
	if r.Preferred {
		text = "preferred; " + text
	}
	return text
}
