package selection

import "slices"

// A candidate is close when its recommendation is at least closeTo of the best
// one's and it is among the first closeAmong.
const (
	closeTo    = 0.85
	closeAmong = 5
)

// Candidate is a tool or skill that may be put first by name.
type Candidate struct {
	// Name is a tool's, or "skill:" and a skill's.
	Name        string
	Description string
}

// Unsure returns the candidates that the recommender can hardly tell apart: first
// tools, then skills. They match by words, are among the five best that do, and
// reach 85 % of the best one's score. There are no tools among them when the best
// one has no rival or all are sent, and no skills when the best one has no rival.
func (sel *Selection) Unsure() []Candidate {
	var list []Candidate
	if sel.advice != nil && sel.Mode != Direct {
		first := slices.DeleteFunc(slices.Clone(sel.Ranked), func(m Match) bool { return m.Score == 0 })
		first = first[:min(len(first), closeAmong)]
		n := rivals(len(first), func(i int) float64 { return sel.advice[first[i].Position()].Score })
		for _, m := range first[:n] {
			list = append(list, Candidate{m.Definition.Name, m.Definition.Description})
		}
	}
	first := slices.DeleteFunc(recommender{sel}.candidateSkills(),
		func(c candidateSkill) bool { return c.Keyword == 0 })
	first = first[:min(len(first), closeAmong)]
	n := rivals(len(first), func(i int) float64 { return first[i].Score })
	for _, c := range first[:n] {
		list = append(list, Candidate{skillTarget + c.skill.Name, c.skill.Description})
	}
	return list
}

// rivals returns how many of the first of n scores are close to the first one, or
// 0 when only that one is.
func rivals(n int, score func(int) float64) int {
	near := 0
	for near < n && score(near) >= closeTo*score(0) {
		near++
	}
	if near < 2 {
		return 0
	}
	return near
}
