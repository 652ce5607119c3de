package rank

import (
	"math"
	"slices"
	"strings"
)

// vocabulary numbers words. It only grows.
type vocabulary struct {
	// terms numbers the stems, and glossed the meanings of Chinese words: see [Index].
	terms, glossed map[string]int32
	names          []string // by number
	meant          []bool   // by number: whether it is in glossed
	places         []int32  // by number: its place in the document being read, from 1; 0 between documents
	// surfaces numbers the words as they are written; stop words have noTerm.
	surfaces map[string]int32
	spoken   []surface
	heard    []bool // by number of surface: whether the document being read has it
	// spelled are the numbers of the surfaces that a misspelt word may stand for, in
	// order of the words.
	spelled map[spelling][]int32
	// grams numbers the grams of narrow words; see [likenesses].
	grams      map[gram]int32
	gramNames  []gram  // by number
	gramPlaces []int32 // by number: its place in the document being read, from 1; 0 between documents
}

// surface is a word as it is written, and its term.
type surface struct {
	word  string
	term  int32
	grams []int32 // empty for wide words
}

func newVocabulary() *vocabulary {
	return &vocabulary{terms: map[string]int32{}, glossed: map[string]int32{}, surfaces: map[string]int32{},
		spelled: map[spelling][]int32{}, grams: map[gram]int32{}}
}

// read counts the words of a definition.
func (v *vocabulary) read(texts []fieldText) *document {
	doc := &document{}
	count := func(term int32, f field) {
		i := int(v.places[term]) - 1
		if i < 0 {
			i = len(doc.terms)
			v.places[term] = int32(i + 1)
			doc.terms = append(doc.terms, term)
			doc.counts = append(doc.counts, [fields]uint8{})
		}
		if n := &doc.counts[i][f]; *n == 0 || *n < math.MaxUint8 && f != fieldEnrichedExample {
			*n++ // repeating a word in examples does not make it count more
		}
		doc.length[f]++
	}
	for _, text := range texts {
		alike, left := gramWeight(text.field), maxLike
		words(text.folded, func(word string, wide bool) {
			left -= len(word) + 1
			s := v.surface(word, wide)
			if s == noTerm {
				return
			}
			if alike > 0 && left > 0 {
				v.countGrams(doc, s, alike)
			}
			if !v.heard[s] {
				v.heard[s] = true
				doc.surfaces = append(doc.surfaces, s)
			}
			count(v.spoken[s].term, text.field)
		})
		for _, stem := range text.gloss {
			count(v.number(v.glossed, stem, true), fieldTranslation)
		}
	}
	for _, term := range doc.terms {
		v.places[term] = 0
	}
	for _, s := range doc.surfaces {
		v.heard[s] = false
	}
	for _, g := range doc.grams {
		v.gramPlaces[g] = 0
	}
	doc.grams, doc.gramCounts = slices.Clip(doc.grams), slices.Clip(doc.gramCounts)
	doc.terms, doc.counts, doc.surfaces = slices.Clip(doc.terms), slices.Clip(doc.counts), slices.Clip(doc.surfaces)
	return doc
}

// surface numbers a word as it is written. It returns noTerm for a stop word.
func (v *vocabulary) surface(word string, wide bool) int32 {
	if s, ok := v.surfaces[word]; ok {
		return s
	}
	if isStopWord(word) {
		v.surfaces[word] = noTerm
		return noTerm
	}
	word = strings.Clone(word) // does not keep the whole text in memory
	name := word
	if !wide {
		name = stem(word)
	}
	s := int32(len(v.spoken))
	v.surfaces[word] = s
	v.spoken = append(v.spoken, surface{word, v.number(v.terms, name, false), v.gramsOf(word, wide)})
	v.heard = append(v.heard, false)
	if !wide && len(word) >= shortestGuess-1 {
		at := spelling{word[0], len(word)}
		list := v.spelled[at]
		i, _ := slices.BinarySearchFunc(list, word,
			func(s int32, word string) int { return strings.Compare(v.spoken[s].word, word) })
		v.spelled[at] = slices.Insert(list, i, s)
	}
	return s
}

// gramsOf numbers the grams of a narrow word.
func (v *vocabulary) gramsOf(word string, wide bool) (list []int32) {
	if wide {
		return nil
	}
	wordGrams(word, func(g gram) {
		n, ok := v.grams[g]
		if !ok {
			n = int32(len(v.gramNames))
			v.grams[g] = n
			v.gramNames, v.gramPlaces = append(v.gramNames, g), append(v.gramPlaces, 0)
		}
		list = append(list, n)
	})
	return list
}

// countGrams counts the grams of a word of a document so many times.
func (v *vocabulary) countGrams(doc *document, s int32, times uint8) {
	for _, g := range v.spoken[s].grams {
		i := int(v.gramPlaces[g]) - 1
		if i < 0 {
			i = len(doc.grams)
			v.gramPlaces[g] = int32(i + 1)
			doc.grams, doc.gramCounts = append(doc.grams, g), append(doc.gramCounts, 0)
		}
		doc.gramCounts[i] += min(times, math.MaxUint8-doc.gramCounts[i])
	}
}

// number numbers a term of a kind.
func (v *vocabulary) number(kind map[string]int32, name string, glossed bool) int32 {
	term, ok := kind[name]
	if !ok {
		term = int32(len(v.names))
		kind[name] = term
		v.names = append(v.names, name)
		v.meant = append(v.meant, glossed)
		v.places = append(v.places, 0)
	}
	return term
}

// number gives an index the words of its documents, with numbers of its own, and
// turns the documents into postings. It returns how many surfaces the index has.
func (x *Index) number(v *vocabulary, documents []*document) (spoken int) {
	has, numbers := make([]bool, len(v.names)), make([]int32, len(v.names))
	heard := make([]bool, len(v.spoken))
	for _, d := range documents {
		for _, term := range d.terms {
			has[term] = true
		}
		for _, s := range d.surfaces {
			if !heard[s] {
				heard[s] = true
				spoken++
			}
		}
	}
	x.terms, x.glossed = make(map[string]int32, len(v.terms)), make(map[string]int32, len(v.glossed))
	x.surfaces, x.spelled = make(map[string]int32, spoken), make(map[spelling][]string, len(v.spelled))
	for term, name := range v.names {
		if !has[term] {
			continue
		}
		numbers[term] = int32(len(x.names))
		if v.meant[term] {
			x.glossed[name] = numbers[term]
		} else {
			x.terms[name] = numbers[term]
		}
		x.names = append(x.names, name)
	}
	for s, said := range v.spoken {
		if heard[s] {
			x.surfaces[said.word] = numbers[said.term]
		}
	}
	for at, list := range v.spelled {
		known := make([]string, 0, len(list))
		for _, s := range list {
			if heard[s] {
				known = append(known, v.spoken[s].word)
			}
		}
		x.spelled[at] = known
	}
	x.invert(documents, numbers)
	x.likenesses = newLikenesses(v, documents)
	return spoken
}
