package selection

import (
	"cmp"
	"iter"
	"math"
	"slices"

	"github.com/etui-run/etui/catalog"
)

// Asked is a question of the past with the tools that answered it.
type Asked struct {
	// User is the only one for whom the question votes; empty means everybody.
	User string
	// Question is what was asked.
	Question string
	// Tools are the names of those that did what they were asked to.
	Tools []string
}

// Usage is what was asked in the past, ready to vote: the questions most like a
// new one speak for the tools that they led to. It is immutable and safe for
// concurrent use; nil is a past of which nothing is known.
//
// Votes only add to the scores of tools that the caller may use. A question that
// led to no such tool has no vote, so that what others may use cannot be seen.
// What the votes add to a tool is less than the question's best score by words (or
// than what one rare word counts, where that is more), times [Weights].Usage: a
// tool that was never used keeps its score, and is overtaken only where similar
// questions led elsewhere.
type Usage struct {
	asked    []asked
	terms    map[string]int32
	postings [][]posting // by term, in order of question; a question has length 1
	tools    []string    // by number
}

// asked is a question, which may have been asked several times.
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
// of the other half: more similar questions, or less similar ones, bring more
// where the past knows the tool, and take as much where it does not.
const (
	// MaxAsked is how many questions a Usage looks at: the last ones given.
	MaxAsked = 20_000
	// voters is how many of the most similar questions vote.
	voters = 5
	// alike is the similarity, from 0 to 1, below which a question has no vote.
	alike = 0.25
	// doubt is what the votes are weighed against: a question that is asked again
	// word for word has 1 / (1 + doubt) of what the votes can have.
	doubt = 0.3
	// usageTerm is how the votes are named among the words of a [Verdict].
	usageTerm = "(usage)"
)

// NewUsage makes votes of questions, oldest first. Questions without words or
// without tools have none. What is asked again and again is one question, which
// speaks for a tool as often as it led there: "go on" leads everywhere and says
// nothing. It takes about 10 µs for each.
func NewUsage(log []Asked) *Usage {
	u := &Usage{terms: map[string]int32{}}
	numbers := map[string]int32{}
	before := map[[2]string]int{}
	var questions [][]int32 // the terms of each
	for _, a := range log[max(0, len(log)-MaxAsked):] {
		i, again := before[[2]string{a.User, a.Question}]
		if !again {
			terms := u.read(a.Question)
			if len(terms) == 0 || len(a.Tools) == 0 {
				continue
			}
			i = len(u.asked)
			before[[2]string{a.User, a.Question}] = i
			u.asked, questions = append(u.asked, asked{user: a.User}), append(questions, terms)
		}
		for k, name := range a.Tools {
			if slices.Contains(a.Tools[:k], name) {
				continue
			}
			n, ok := numbers[name]
			if !ok {
				n = int32(len(u.tools))
				numbers[name], u.tools = n, append(u.tools, name)
			}
			u.asked[i].add(n)
		}
		u.asked[i].times++
	}
	u.index(questions)
	return u
}

// Len is how many questions vote.
func (u *Usage) Len() int {
	if u == nil {
		return 0
	}
	return len(u.asked)
}

// add counts a tool that a question led to.
func (a *asked) add(tool int32) {
	for i := range a.answers {
		if a.answers[i].tool == tool {
			a.answers[i].times++
			return
		}
	}
	a.answers = append(a.answers, answer{tool, 1})
}

// read numbers the terms of a question, at most [maxTerms], each once.
func (u *Usage) read(question string) []int32 {
	var list []int32
	searchTerms(question, func(name string) {
		term, ok := u.terms[name]
		if !ok {
			term = int32(len(u.terms))
			u.terms[name] = term
		}
		if len(list) < maxTerms && !slices.Contains(list, term) {
			list = append(list, term)
		}
	})
	return list
}

// index turns the questions' terms around. A question is a vector of length 1 in
// which rare terms count more.
func (u *Usage) index(questions [][]int32) {
	u.postings = make([][]posting, len(u.terms))
	for i, terms := range questions {
		for _, term := range terms {
			u.postings[term] = append(u.postings[term], posting{doc: int32(i)})
		}
	}
	length := make([]float64, len(questions))
	for i, terms := range questions {
		for _, term := range terms {
			length[i] += u.rarity(len(u.postings[term])) * u.rarity(len(u.postings[term]))
		}
	}
	for _, list := range u.postings {
		for i, p := range list {
			list[i].impact = float32(u.rarity(len(list)) / math.Sqrt(length[p.doc]))
		}
	}
}

// rarity is how much a term of n questions counts, as in the ranking.
func (u *Usage) rarity(n int) float64 { return inverseFrequency(n, len(u.asked)) }

// vote is what the past says for a tool: a share of what votes can have, from 0
// to 1.
type vote struct {
	entry *catalog.Entry
	share float32
}

// votes asks the questions most like that of a selection.
func (u *Usage) votes(sel *Selection) []vote {
	var all float32
	var votes []vote
	for _, similar := range u.similar(sel) {
		weight := similar.impact * similar.impact
		all += weight
		for e, part := range u.usable(sel, similar.doc) {
			i := slices.IndexFunc(votes, func(v vote) bool { return v.entry == e })
			if i < 0 {
				i = len(votes)
				votes = append(votes, vote{entry: e})
			}
			votes[i].share += weight * part
		}
	}
	for i := range votes {
		votes[i].share /= all + doubt
	}
	return votes
}

// similar returns the most similar questions that have a vote, with their
// similarity: the cosine of the angle between them and the selection's.
func (u *Usage) similar(sel *Selection) []posting {
	similarity := u.compare(sel.Request.Query)
	best := make([]posting, 0, voters+1)
	for doc, s := range similarity {
		if s < alike || len(best) == voters && s <= best[voters-1].impact {
			continue
		}
		if user := u.asked[doc].user; user != "" && user != sel.Request.Facts.User {
			continue
		}
		for range u.usable(sel, int32(doc)) {
			i, _ := slices.BinarySearchFunc(best, s, func(p posting, s float32) int { return cmp.Compare(s, p.impact) })
			best = slices.Insert(best, i, posting{int32(doc), s})
			best = best[:min(len(best), voters)]
			break
		}
	}
	return best
}

// compare returns how similar each question is to another one.
func (u *Usage) compare(question string) []float32 {
	var length float64
	terms := make([]int32, 0, 32)
	searchTerms(question, func(name string) {
		term, ok := u.terms[name]
		switch {
		case !ok:
			length += u.rarity(0) * u.rarity(0)
		case len(terms) < maxTerms && !slices.Contains(terms, term):
			terms = append(terms, term)
			length += u.rarity(len(u.postings[term])) * u.rarity(len(u.postings[term]))
		}
	})
	if len(terms) == 0 {
		return nil
	}
	similarity := make([]float32, len(u.asked))
	for _, term := range terms {
		weight := float32(u.rarity(len(u.postings[term])) / math.Sqrt(length))
		for _, p := range u.postings[term] {
			similarity[p.doc] += weight * p.impact
		}
	}
	return similarity
}

// usable yields the tools that a question led to and that the caller may use,
// with the part of the times that it did.
func (u *Usage) usable(sel *Selection, question int32) iter.Seq2[*catalog.Entry, float32] {
	return func(yield func(*catalog.Entry, float32) bool) {
		q := u.asked[question]
		for _, a := range q.answers {
			e, ok := sel.selector.catalog.Get(u.tools[a.tool])
			if ok && sel.stages[e.Position()] == Sent && !yield(e, float32(a.times)/float32(q.times)) {
				return
			}
		}
	}
}

// vote adds the votes of the past to the scores.
func (sel *Selection) vote() {
	u, weight := sel.selector.usage, float32(sel.selector.config.Weights.Usage)
	if u.Len() == 0 || weight == 0 {
		return
	}
	sel.votes = u.votes(sel)
	if len(sel.votes) == 0 {
		return
	}
	sel.byWords = highest(sel.scores, sel.stages)
	scale := weight * sel.scale()
	for i, v := range sel.votes {
		sel.votes[i].share *= scale
		sel.scores[v.entry.Position()] += sel.votes[i].share
	}
}

// scale is the measure of what votes and meanings add: the best score by words, or
// what one rare word counts where that is more. Where hardly a word matches, what
// they add is all there is.
func (sel *Selection) scale() float32 {
	return max(sel.byWords, sel.selector.index.unknown())
}
