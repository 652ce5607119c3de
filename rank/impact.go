package rank

import (
	"math"
	"slices"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
)

const (
	// saturation is BM25's k1: how soon repeating a word stops counting.
	saturation = 0.9
	// singleWide scales the score of a single Chinese character, which says less
	// than a word of two.
	singleWide = 0.7
	// nameCover and descriptionCover are what a definition gains, as a multiple of
	// the field's weight, when a question has every word of its name, or of its
	// description. Some of the words give a part of it; rare ones count more. This
	// tells the tool that does what is asked from tools that do more.
	nameCover        = 0.6
	descriptionCover = 2.0
)

// invert turns documents into postings. The terms must be numbered already.
func (x *Index) invert(documents []*document, numbers []int32) {
	x.measure(documents)
	has := make([]int32, len(x.names)) // how many documents have a term
	total := 0
	x.samples = slices.Repeat([]bool{true}, len(x.names))
	for _, d := range documents {
		for k, term := range d.terms {
			has[numbers[term]]++
			if x.samples[numbers[term]] && d.topical(k) {
				x.samples[numbers[term]] = false
			}
		}
		total += len(d.terms)
	}
	x.rarity = make([]float32, len(x.names))
	for term, name := range x.names {
		x.rarity[term] = rarity(name, has[term], x.size)
	}
	for name, term := range x.glossed {
		if own, ok := x.terms[name]; ok { // a word is not rare because few definitions say it in Chinese
			x.rarity[term] = rarity(name, min(has[term]+has[own], int32(x.size)), x.size)
		}
	}
	words, examples := x.impacts(documents, numbers, total)
	x.words = x.list(documents, numbers, words)
	if examples != nil {
		x.examples = x.list(documents, numbers, examples)
	}
}

// topical reports whether a document has a term elsewhere than in texts about parameters and in its
// author's questions, which name examples of values. Of the questions that a model wrote there are
// many, and a name in several of them says something.
func (d *document) topical(k int) bool {
	c := d.counts[k]
	c[fieldParameterText], c[fieldExample] = 0, 0
	return c != [fields]uint8{}
}

// measure takes the average length of each field. Texts that were written elsewhere are
// compared with each other: some definitions may have none yet.
func (x *Index) measure(documents []*document) {
	var have [fields]float64
	for _, d := range documents {
		for f, n := range x.lengths(d) {
			x.mean[f] += n
			if n > 0 || field(f) < fieldEnrichedAlias {
				have[f]++
			}
		}
	}
	for f, n := range have {
		x.mean[f] /= max(n, 1)
	}
}

// list makes postings of impacts, which are by document in order of its terms, without
// those that add nothing.
func (x *Index) list(documents []*document, numbers []int32, impacts [][]float32) lists {
	l := lists{start: make([]int32, len(x.names)+1)}
	for i, d := range documents {
		for k, term := range d.terms {
			if impacts[i][k] > 0 {
				l.start[numbers[term]+1]++
			}
		}
	}
	for term := range x.names {
		l.start[term+1] += l.start[term]
	}
	l.postings = make([]posting, l.start[len(x.names)])
	next := slices.Clone(l.start)
	for i, d := range documents {
		for k, term := range d.terms {
			if impact := impacts[i][k]; impact > 0 {
				number := numbers[term]
				l.postings[next[number]] = posting{int32(i), impact}
				next[number]++
			}
		}
	}
	return l
}

// impacts returns what each term adds to the score of each document, in order of
// the document's terms, and what the examples of [tool.Texts] add to that, nil without
// any. Total is the number of terms of all documents. It uses all processors.
func (x *Index) impacts(documents []*document, numbers []int32, total int) (words, examples [][]float32) {
	words = parts(documents, total)
	if x.mean[fieldEnrichedExample] > 0 {
		examples = parts(documents, total)
	}
	each(len(documents), func(i int) {
		d := documents[i]
		norms := x.norms(x.lengths(d))
		rarities := words[i]
		var name, description float64 // the sums of how rare the words of these fields are
		for k, term := range d.terms {
			rarities[k] = x.rarity[numbers[term]]
			if c := x.counts(d, k); c[fieldName] > 0 {
				name += float64(rarities[k])
			}
			if c := x.counts(d, k); c[fieldDescription] > 0 {
				description += float64(rarities[k])
			}
		}
		for k := range d.terms {
			c := x.counts(d, k)
			all := 0.0 // with examples
			if c[fieldEnrichedExample] > 0 {
				all = frequency(&c, &norms, x.weight)
				c[fieldEnrichedExample] = 0
			}
			f := frequency(&c, &norms, x.weight)
			impact := f / (saturation + f)
			if all > 0 {
				examples[i][k] = rarities[k] * float32(all/(saturation+all)-impact)
			}
			if c[fieldName] > 0 {
				impact += nameCover * x.weight[fieldName] / name
			}
			if c[fieldDescription] > 0 {
				impact += descriptionCover * x.weight[fieldDescription] / description
			}
			rarities[k] *= float32(impact)
		}
	})
	return words, examples
}

// parts returns a number for each term of each document, in one piece of memory.
func parts(documents []*document, total int) [][]float32 {
	list, all := make([][]float32, len(documents)), make([]float32, total)
	for i, d := range documents {
		list[i], all = all[:len(d.terms):len(d.terms)], all[len(d.terms):]
	}
	return list
}

// counts returns how often a document has its k-th term, by field. Groups count as
// words of the description unless all definitions have one.
func (x *Index) counts(d *document, k int) [fields]uint8 {
	c := d.counts[k]
	if x.groups == nil && c[fieldGroup] > 0 {
		c[fieldDescription] = uint8(min(int(c[fieldDescription])+int(c[fieldGroup]), math.MaxUint8))
		c[fieldGroup] = 0
	}
	return c
}

// lengths returns how long a document's fields are, with groups as in counts.
func (x *Index) lengths(d *document) [fields]float64 {
	l := d.length
	if x.groups == nil {
		l[fieldDescription] += l[fieldGroup]
		l[fieldGroup] = 0
	}
	return l
}

// norms returns what the counts of a document's fields are divided by: how long
// the fields are compared with their average length.
func (x *Index) norms(length [fields]float64) (norms [fields]float64) {
	for f := range norms {
		norms[f] = 1 - fieldLength[f]
		if length[f] > 0 {
			norms[f] += fieldLength[f] * length[f] / x.mean[f]
		}
	}
	return norms
}

// inverseFrequency is BM25's inverse document frequency of a term that n of size
// documents have.
func inverseFrequency[N int | float64](n, size N) float64 {
	return math.Log(1 + (float64(size)-float64(n)+0.5)/(float64(n)+0.5))
}

// rarity is the inverse document frequency of a term, scaled down for single
// Chinese characters.
func rarity(name string, n int32, size int) float32 {
	idf := inverseFrequency(int(n), size)
	if r, size := utf8.DecodeRuneInString(name); size == len(name) && chat.Wide(r) {
		idf *= singleWide
	}
	return float32(idf)
}

// frequency is how often a term occurs in a document, where each field counts by
// its weight and length.
func frequency(count *[fields]uint8, norms, weight *[fields]float64) float64 {
	var sum float64
	for f, n := range count {
		if n > 0 {
			sum += weight[f] * float64(n) / norms[f]
		}
	}
	return sum
}
