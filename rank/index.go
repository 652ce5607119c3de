package rank

import (
	"slices"
	"sync"

	"github.com/etui-run/etui/tool"
)

// Index is the searchable text of a list of definitions. It is immutable and
// safe for concurrent use.
type Index struct {
	size int
	// terms numbers the stems, and the characters and pairs of wide scripts.
	terms map[string]int32
	// glossed numbers the stems of the English words that the Chinese words of
	// definitions mean. They are separate terms: Chinese questions find the Chinese
	// words themselves.
	glossed map[string]int32
	// surfaces numbers words as they are written, so that a question's words are
	// stemmed only when no definition has them.
	surfaces map[string]int32
	// spelled lists the surfaces of scripts with spaces that a misspelt word may
	// stand for.
	spelled map[spelling][]string
	names   []string  // the terms, by number
	rarity  []float32 // their inverse document frequency
	// samples says by term that definitions have it only in texts about parameters, or in questions.
	samples []bool
	// words are the postings without the words of examples in [tool.Texts], which count
	// less the longer a question is: examples has what they add.
	words, examples lists
	// groups numbers the first group of each definition; nil unless all have one.
	groups     []int32
	groupCount int
	// mean is the average length of each field.
	mean       [fields]float64
	weight     *[fields]float64
	votes      float32 // the weight of votes
	likenesses *likenesses
	enriched   map[string]tool.Texts // by name; what counts of them
	// toolWords are the stems of the words of the definitions' names.
	toolWords func() map[string]struct{}
	scratch   sync.Pool
}

// meant reports whether a term is in glossed.
func (x *Index) meant(term int32) bool {
	own, ok := x.glossed[x.names[term]]
	return ok && own == term
}

// posting is what a term adds to a document's score.
type posting struct {
	doc    int32
	impact float32
}

// noTerm is a word that is not searched for.
const noTerm = int32(-1)

// New indexes definitions. It takes about 10 µs for each. The zero Weights are
// [DefaultWeights].
func New(tools []*tool.Definition, weights Weights) *Index {
	return NewIndexer(weights).Index(tools, nil)
}

// readGroups numbers the groups. A group tells definitions apart only when each
// has one: otherwise those with a group would win by having it.
func (x *Index) readGroups(tools []*tool.Definition) {
	numbers := map[string]int32{}
	groups := make([]int32, len(tools))
	for i, d := range tools {
		if len(d.Groups) == 0 {
			return
		}
		n, ok := numbers[d.Groups[0]]
		if !ok {
			n = int32(len(numbers))
			numbers[d.Groups[0]] = n
		}
		groups[i] = n
	}
	x.groups, x.groupCount = groups, len(numbers)
}

// lists are postings in order of term, then of document; those of term t are at
// start[t] to start[t+1]. The zero value has none.
type lists struct {
	postings []posting
	start    []int32
}

func (l *lists) of(term int32) []posting {
	if l.start == nil {
		return nil
	}
	return l.postings[l.start[term]:l.start[term+1]]
}

// impact returns what a term adds to a document's score when the words of examples have
// the given share.
func (x *Index) impact(term int32, doc int, share float32) float32 {
	return x.words.impact(term, doc) + share*x.examples.impact(term, doc)
}

func (l *lists) impact(term int32, doc int) float32 {
	list := l.of(term)
	i, ok := slices.BinarySearchFunc(list, int32(doc), func(p posting, doc int32) int { return int(p.doc - doc) })
	if !ok {
		return 0
	}
	return list[i].impact
}
