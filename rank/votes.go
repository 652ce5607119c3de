package rank

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// PastQuestion is a question of the past with the tools that answered it.
type PastQuestion struct {
	// User is who asked it. Empty is a user like any other: all those without a name.
	User string
	// Own lets the question vote for its user only, otherwise it votes for everybody.
	Own bool
	// Question is what was asked.
	Question string
	// Tools are the names of the tools that did what was asked.
	Tools []string
	// Versions tells versions of the tools apart, by name. A tool gets no vote when it
	// has another version now. A tool without one here gets votes in every version.
	Versions map[string]string
	// Search is set when a model searched with these words, Corrected when the user
	// corrected which tool was meant. Both are for explanations.
	Search, Corrected bool
}

// Votes are past questions that vote: the questions most like a new one speak for
// the tools that answered them. Votes are immutable and safe for concurrent use;
// nil holds no questions.
//
// Votes only add to the scores of tools that the user may use. A question that
// led to no such tool has no vote, so that it cannot reveal what others may use.
// What votes add to a tool is less than the question's best score by words (or
// than what one rare word counts, where that is more), times [Weights].Votes: a
// tool that was never used keeps its score, and others overtake it only when
// similar questions led to them.
//
// However much one user asked, only one of these questions votes for another user, and
// what it adds is at most [MaxOther] of what votes can add.
type Votes struct {
	asked    []pastQuestion
	terms    map[string]int32
	rare     []float64   // how much a term counts
	unknown  float64     // how much a term counts that no question has
	postings [][]posting // by term, in order of question; a question has length 1
	tools    []version   // by number
}

// version is a tool as it was when it answered.
type version struct{ name, version string }

// pastQuestion is a question that a user asked once or several times.
type pastQuestion struct {
	user              string
	own               bool
	search, corrected bool
	times             int
	answers           []answer
}

// answer says how often a question led to a tool.
type answer struct {
	tool  int32
	times int
}

// How questions vote. Measured on eleven public sets, half of each as the past
// of the other half: asking more questions, or less similar ones, gains more where
// the past knows the tool and loses as much where it does not.
const (
	// MaxAsked is how many questions vote at most: the last ones given.
	MaxAsked = 20_000
	// voters is how many of the most similar questions vote.
	voters = 5
	// alike is the similarity, from 0 to 1, below which a question has no vote.
	alike = 0.25
	// doubt is what the votes are weighed against: a question that is asked again
	// word for word has 1 / (1 + doubt) of what votes can add.
	doubt = 0.3
	// few is how many questions there must be to tell common words from rare ones: of
	// fewer, a word counts as if so many had been asked.
	few = 50
	// other is the weight that the question of another user has at most; one that the
	// user asked word for word has 1. The questions of one other user then move no tool
	// by more than MaxOther, and many users who agree move it as far as before.
	other = 0.3
	// MaxOther is the share of what votes can add that one other user can give a tool.
	MaxOther = other / (other + doubt)
)

// NewVotes makes votes of questions, oldest first, in about 10 µs for each.
// Questions without words or without tools have no vote. A question that a user asked
// several times is one question and speaks for a tool as often as it led to it: "go on"
// leads everywhere and says nothing.
func NewVotes(log []PastQuestion) *Votes {
	v := &Votes{terms: map[string]int32{}}
	numbers := map[version]int32{}
	type key struct {
		user, question string
		own            bool
	}
	before := map[key]int{}
	var questions [][]int32 // the terms of each
	for _, a := range log[max(0, len(log)-MaxAsked):] {
		k := key{a.User, a.Question, a.Own}
		i, again := before[k]
		if !again {
			terms := v.read(a.Question)
			if len(terms) == 0 || len(a.Tools) == 0 {
				continue
			}
			i = len(v.asked)
			before[k] = i
			v.asked, questions = append(v.asked, pastQuestion{user: a.User, own: a.Own}), append(questions, terms)
		}
		for k, name := range a.Tools {
			if slices.Contains(a.Tools[:k], name) {
				continue
			}
			answered := version{name, a.Versions[name]}
			n, ok := numbers[answered]
			if !ok {
				n = int32(len(v.tools))
				numbers[answered], v.tools = n, append(v.tools, answered)
			}
			v.asked[i].add(n)
		}
		q := &v.asked[i]
		q.times++
		q.search, q.corrected = q.search || a.Search, q.corrected || a.Corrected
	}
	v.index(questions)
	return v
}

// Len returns how many questions vote.
func (v *Votes) Len() int {
	if v == nil {
		return 0
	}
	return len(v.asked)
}

// add counts a tool that a question led to.
func (a *pastQuestion) add(tool int32) {
	i := slices.IndexFunc(a.answers, func(a answer) bool { return a.tool == tool })
	if i < 0 {
		i = len(a.answers)
		a.answers = append(a.answers, answer{tool: tool})
	}
	a.answers[i].times++
}

// read numbers the terms of a question, at most [maxTerms], each once.
func (v *Votes) read(question string) []int32 {
	var list []int32
	searchTerms(Divide(question).Request, func(name string) {
		term, ok := v.terms[name]
		if !ok {
			term = int32(len(v.terms))
			v.terms[name] = term
		}
		if len(list) < maxTerms && !slices.Contains(list, term) {
			list = append(list, term)
		}
	})
	return list
}

// index fills the postings. A question is a vector of length 1 in which rare terms
// count more.
func (v *Votes) index(questions [][]int32) {
	v.rarities(questions)
	v.postings = make([][]posting, len(v.terms))
	for i, terms := range questions {
		var length float64
		for _, term := range terms {
			length += v.rare[term] * v.rare[term]
		}
		for _, term := range terms {
			v.postings[term] = append(v.postings[term], posting{int32(i), float32(v.rare[term] / math.Sqrt(length))})
		}
	}
}

// rarities says how much each term counts, as in the ranking. A user who asked more than
// all others together counts as much as they do, so that nobody can make the words of
// others common.
func (v *Votes) rarities(questions [][]int32) {
	by := map[string]int{}
	for _, q := range v.asked {
		by[q.user]++
	}
	counts := make([]float64, len(v.terms))
	var all float64
	for i, terms := range questions {
		weight := 1.0
		if mine := by[v.asked[i].user]; len(by) > 1 {
			weight = min(1, float64(len(v.asked)-mine)/float64(mine))
		}
		all += weight
		for _, term := range terms {
			counts[term] += weight
		}
	}
	all = max(all, few)
	v.rare = make([]float64, len(v.terms))
	for term, n := range counts {
		v.rare[term] = inverseFrequency(n, all)
	}
	v.unknown = inverseFrequency(0, all)
}

// Vote is what the past says for a definition.
type Vote struct {
	Position int
	// Share is the share of what votes can add, from 0 to 1.
	Share float32
	// Own and Others count the questions that voted: of the same user, and of others.
	// Searches and Corrected count those among them that were searched for and corrected.
	Own, Others, Searches, Corrected int
}

// why says which questions voted, as in "1 by the user, 2 by others, 1 corrected".
func (v Vote) why() string {
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{v.Own, "by the user"}, {v.Others, "by others"}, {v.Searches, "searched for"}, {v.Corrected, "corrected"}} {
		if part.n > 0 {
			parts = append(parts, fmt.Sprint(part.n, " ", part.what))
		}
	}
	return strings.Join(parts, ", ")
}

// count counts a question that voted.
func (v *Vote) count(q *pastQuestion, user string) {
	if q.user == user {
		v.Own++
	} else {
		v.Others++
	}
	if q.search {
		v.Searches++
	}
	if q.corrected {
		v.Corrected++
	}
}

// Find returns the position of a tool that has a version; the version is empty when any
// will do. It returns false for a tool that the user may not use, or that has another
// version: votes for it do not count.
type Find func(tool, version string) (position int, ok bool)

// Cast returns the votes of the questions most like the given one.
func (v *Votes) Cast(question, user string, find Find) []Vote {
	if v.Len() == 0 {
		return nil
	}
	var all float32
	var votes []Vote
	for _, similar := range v.similar(question, user, find) {
		weight := similar.impact * similar.impact
		q := &v.asked[similar.doc]
		if q.user != user {
			weight = min(weight, other)
		}
		all += weight
		for _, a := range q.answers {
			position, ok := find(v.tools[a.tool].name, v.tools[a.tool].version)
			if !ok {
				continue
			}
			i := slices.IndexFunc(votes, func(v Vote) bool { return v.Position == position })
			if i < 0 {
				i = len(votes)
				votes = append(votes, Vote{Position: position})
			}
			votes[i].Share += weight * (float32(a.times) / float32(q.times))
			votes[i].count(q, user)
		}
	}
	for i := range votes {
		votes[i].Share /= all + doubt
	}
	return votes
}

// similar returns the most similar questions that have a vote, one of each other user,
// with their similarity: the cosine of the angle between them and the given question.
func (v *Votes) similar(question, user string, find Find) []posting {
	best := make([]posting, 0, voters+1)
	for doc, s := range v.compare(question) {
		if s < alike || len(best) == voters && s <= best[voters-1].impact {
			continue
		}
		q := &v.asked[doc]
		if q.own && q.user != user {
			continue
		}
		if !slices.ContainsFunc(q.answers,
			func(a answer) bool { _, ok := find(v.tools[a.tool].name, v.tools[a.tool].version); return ok }) {
			continue
		}
		if q.user != user {
			if i := slices.IndexFunc(best, func(p posting) bool { return v.asked[p.doc].user == q.user }); i >= 0 {
				if s <= best[i].impact {
					continue
				}
				best = slices.Delete(best, i, i+1)
			}
		}
		i, _ := slices.BinarySearchFunc(best, s, func(p posting, s float32) int { return cmp.Compare(s, p.impact) })
		best = slices.Insert(best, i, posting{int32(doc), s})
		best = best[:min(len(best), voters)]
	}
	return best
}

// compare returns how similar each question of the past is to the given one.
func (v *Votes) compare(question string) []float32 {
	var length float64
	terms := make([]int32, 0, 32)
	searchTerms(Divide(question).Request, func(name string) {
		term, ok := v.terms[name]
		switch {
		case !ok:
			length += v.unknown * v.unknown
		case len(terms) < maxTerms && !slices.Contains(terms, term):
			terms = append(terms, term)
			length += v.rare[term] * v.rare[term]
		}
	})
	if len(terms) == 0 {
		return nil
	}
	similarity := make([]float32, len(v.asked))
	for _, term := range terms {
		weight := float32(v.rare[term] / math.Sqrt(length))
		for _, p := range v.postings[term] {
			similarity[p.doc] += weight * p.impact
		}
	}
	return similarity
}

// addVotes adds the votes of the past to the scores.
func (r *Ranking) addVotes(q *Query) {
	if len(q.Votes) == 0 || r.index.votes == 0 {
		return
	}
	r.votes = q.Votes
	r.byWords = highest(r.Scores, q.Admitted)
	r.voteScale = r.index.votes * r.scale()
	for _, v := range r.votes {
		r.Scores[v.Position] += v.Share * r.voteScale
	}
}
