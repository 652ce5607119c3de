package rank

import (
	"cmp"
	"math"
	"slices"
)

// Asked is a question of the past with the tools that answered it.
type Asked struct {
	// User is the only user for whom the question votes; empty means everybody.
	User string
	// Question is what was asked.
	Question string
	// Tools are the names of the tools that did what was asked.
	Tools []string
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
type Votes struct {
	asked    []asked
	terms    map[string]int32
	postings [][]posting // by term, in order of question; a question has length 1
	tools    []string    // by number
}

// asked is a question that was asked once or several times.
type asked struct {
	user    string
	times   int
	answers []answer
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
)

// NewVotes makes votes of questions, oldest first, in about 10 µs for each.
// Questions without words or without tools have no vote. A question that was
// asked several times is one question and speaks for a tool as often as it led to
// it: "go on" leads everywhere and says nothing.
func NewVotes(log []Asked) *Votes {
	v := &Votes{terms: map[string]int32{}}
	numbers := map[string]int32{}
	before := map[[2]string]int{}
	var questions [][]int32 // the terms of each
	for _, a := range log[max(0, len(log)-MaxAsked):] {
		i, again := before[[2]string{a.User, a.Question}]
		if !again {
			terms := v.read(a.Question)
			if len(terms) == 0 || len(a.Tools) == 0 {
				continue
			}
			i = len(v.asked)
			before[[2]string{a.User, a.Question}] = i
			v.asked, questions = append(v.asked, asked{user: a.User}), append(questions, terms)
		}
		for k, name := range a.Tools {
			if slices.Contains(a.Tools[:k], name) {
				continue
			}
			n, ok := numbers[name]
			if !ok {
				n = int32(len(v.tools))
				numbers[name], v.tools = n, append(v.tools, name)
			}
			v.asked[i].add(n)
		}
		v.asked[i].times++
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
func (a *asked) add(tool int32) {
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
	searchTerms(question, func(name string) {
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
	v.postings = make([][]posting, len(v.terms))
	for i, terms := range questions {
		for _, term := range terms {
			v.postings[term] = append(v.postings[term], posting{doc: int32(i)})
		}
	}
	length := make([]float64, len(questions))
	for i, terms := range questions {
		for _, term := range terms {
			length[i] += v.rarity(len(v.postings[term])) * v.rarity(len(v.postings[term]))
		}
	}
	for _, list := range v.postings {
		for i, p := range list {
			list[i].impact = float32(v.rarity(len(list)) / math.Sqrt(length[p.doc]))
		}
	}
}

// rarity is how much a term counts that n questions have, as in the ranking.
func (v *Votes) rarity(n int) float64 { return inverseFrequency(n, len(v.asked)) }

// Vote is what the past says for a definition.
type Vote struct {
	Position int
	// Share is the share of what votes can add, from 0 to 1.
	Share float32
}

// Cast returns the votes of the questions most like the given one. Find returns
// the position of a tool, and false for a tool that the user may not use: votes
// for it do not count.
func (v *Votes) Cast(question, user string, find func(tool string) (position int, ok bool)) []Vote {
	if v.Len() == 0 {
		return nil
	}
	var all float32
	var votes []Vote
	for _, similar := range v.similar(question, user, find) {
		weight := similar.impact * similar.impact
		all += weight
		q := &v.asked[similar.doc]
		for _, a := range q.answers {
			position, ok := find(v.tools[a.tool])
			if !ok {
				continue
			}
			i := slices.IndexFunc(votes, func(v Vote) bool { return v.Position == position })
			if i < 0 {
				i = len(votes)
				votes = append(votes, Vote{Position: position})
			}
			votes[i].Share += weight * (float32(a.times) / float32(q.times))
		}
	}
	for i := range votes {
		votes[i].Share /= all + doubt
	}
	return votes
}

// similar returns the most similar questions that have a vote, with their
// similarity: the cosine of the angle between them and the given question.
func (v *Votes) similar(question, user string, find func(tool string) (int, bool)) []posting {
	best := make([]posting, 0, voters+1)
	for doc, s := range v.compare(question) {
		if s < alike || len(best) == voters && s <= best[voters-1].impact {
			continue
		}
		q := &v.asked[doc]
		if q.user != "" && q.user != user {
			continue
		}
		if !slices.ContainsFunc(q.answers, func(a answer) bool { _, ok := find(v.tools[a.tool]); return ok }) {
			continue
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
	searchTerms(question, func(name string) {
		term, ok := v.terms[name]
		switch {
		case !ok:
			length += v.rarity(0) * v.rarity(0)
		case len(terms) < maxTerms && !slices.Contains(terms, term):
			terms = append(terms, term)
			length += v.rarity(len(v.postings[term])) * v.rarity(len(v.postings[term]))
		}
	})
	if len(terms) == 0 {
		return nil
	}
	similarity := make([]float32, len(v.asked))
	for _, term := range terms {
		weight := float32(v.rarity(len(v.postings[term])) / math.Sqrt(length))
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
