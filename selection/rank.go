package selection

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strings"
)

// maxQuery is how much of a question is read, in bytes, and maxTerms how many
// different words of it are searched for. A pasted log file asks nothing more
// after that.
const (
	maxQuery = 16 << 10
	maxTerms = 64
)

// floor is the share of the best score below which a tool is noise.
const floor = 0.15

// queryTerm is a word of the question that some tool has.
type queryTerm struct {
	term   int32
	weight float32
}

// rank scores every tool, and orders those that may be used.
func (sel *Selection) rank() {
	x := sel.selector.index
	sel.query = x.parse(sel.Request.Query)
	touched := make([]int32, 0, 256)
	for _, q := range sel.query {
		for _, p := range x.postings[q.term] {
			if sel.scores[p.doc] == 0 {
				touched = append(touched, p.doc)
			}
			sel.scores[p.doc] += p.impact * q.weight
		}
	}
	touched = sel.compareMeanings(touched)
	best := newTop(max(2*sel.limit, 16))
	for _, doc := range touched {
		if sel.stages[doc] == Sent {
			best.add(Match{sel.selector.catalog.At(int(doc)), sel.scores[doc]})
		}
	}
	sel.Ranked = best.matches
	for i, m := range sel.Ranked {
		if m.Score < floor*sel.Ranked[0].Score {
			sel.Ranked = sel.Ranked[:i]
			break
		}
	}
}

// parse turns a question into the terms to search for. A word that is repeated
// counts a little more, as in "logs, show logs".
func (x *index) parse(query string) []queryTerm {
	if len(query) > maxQuery {
		query = query[:maxQuery]
	}
	terms := make([]queryTerm, 0, 32)
	words(fold(withoutAddresses(query)), func(word string, wide bool) {
		term := x.lookup(word, wide)
		if term == noTerm {
			return
		}
		if i := slices.IndexFunc(terms, func(q queryTerm) bool { return q.term == term }); i >= 0 {
			terms[i].weight++
		} else if len(terms) < maxTerms {
			terms = append(terms, queryTerm{term, 1})
		}
	})
	for i := range terms {
		if terms[i].weight > 1 {
			terms[i].weight = float32(math.Pow(float64(terms[i].weight), 0.3))
		}
	}
	return terms
}

var (
	mailAddress = regexp.MustCompile(`[\w.+-]+@[\w.-]+`)
	webAddress  = regexp.MustCompile(`\w+://[\w./?&=%#~:+-]+`)
)

// withoutAddresses takes mail and web addresses out of a question: they are
// values, and the words in them are not what it is about. That there is a web
// address may be.
func withoutAddresses(query string) string {
	if strings.Contains(query, "@") {
		query = mailAddress.ReplaceAllString(query, " ")
	}
	if strings.Contains(query, "://") {
		query = webAddress.ReplaceAllString(query, " url ")
	}
	return query
}

// top keeps the best matches, best first; of equal ones the first registered.
type top struct {
	matches []Match
	limit   int
}

func newTop(limit int) *top { return &top{make([]Match, 0, limit+1), limit} }

func (t *top) add(m Match) {
	if len(t.matches) == t.limit && compareMatches(m, t.matches[t.limit-1]) > 0 {
		return
	}
	i, _ := slices.BinarySearchFunc(t.matches, m, compareMatches)
	t.matches = slices.Insert(t.matches, i, m)
	t.matches = t.matches[:min(len(t.matches), t.limit)]
}

func compareMatches(a, b Match) int {
	return cmp.Or(cmp.Compare(b.Score, a.Score), a.Position()-b.Position())
}
