package rank

import "strings"

// scratch is the working memory of one ranking. It is reused.
type scratch struct {
	slots        []int32 // by term: its place in the parser's list, from 1; 0 between uses
	list         []queryTerm
	stems        map[string]string
	total, share []float32 // by document
	groups       []float32 // by group
	gramSlots    []int32   // by gram: its place in gramList, from 1; 0 between uses
	gramList     []gramCount
	strongest    []float32 // by document: of the forms of a word; 0 between uses
	cuts         []cut     // of the Chinese text that is read
	inWord       []bool    // by pair of its characters: whether a word has it
	joined       []byte
	heard        []string // the narrow words of the text that is read: stop words, and stems of others
	absent       int      // how many grams of the question no definition has
}

func (x *Index) newScratch() *scratch {
	return &scratch{
		slots: make([]int32, len(x.names)), list: make([]queryTerm, 0, maxTerms), stems: map[string]string{},
		heard: make([]string, 0, maxTerms),
		total: make([]float32, x.size), share: make([]float32, x.size), groups: make([]float32, x.groupCount),
		strongest: make([]float32, x.size),
		gramSlots: make([]int32, len(x.likenesses.rarity)), gramList: make([]gramCount, 0, maxGrams),
	}
}

// maxStems is how many stems of words that no definition has are remembered.
const maxStems = 4096

// stem returns the stem of a word. Looking a stem up is faster than finding it.
func (s *scratch) stem(word string) string {
	known, ok := s.stems[word]
	if !ok {
		if len(s.stems) == maxStems {
			clear(s.stems)
		}
		known = stem(word)
		s.stems[strings.Clone(word)] = known
	}
	return known
}
