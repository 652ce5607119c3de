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
	for i := range documents {
		for f, n := range x.lengths(documents[i]) {
			x.mean[f] += n / float64(x.size)
		}
	}
	x.start = make([]int32, len(x.names)+1)
	for _, d := range documents {
		for _, term := range d.terms {
			x.start[numbers[term]+1]++
		}
	}
	x.rarity = make([]float32, len(x.names))
	for term, name := range x.names {
		x.rarity[term] = rarity(name, x.start[term+1], x.size)
	}
	for name, term := range x.glossed {
		if own, ok := x.terms[name]; ok { // a word is not rare because few definitions say it in Chinese
			x.rarity[term] = rarity(name, min(x.start[term+1]+x.start[own+1], int32(x.size)), x.size)
		}
	}
	for term := range x.names {
		x.start[term+1] += x.start[term]
	}
	x.postings = make([]posting, x.start[len(x.names)])
	next := slices.Clone(x.start)
	for i, impacts := range x.impacts(documents, numbers) {
		for k, term := range documents[i].terms {
			number := numbers[term]
			x.postings[next[number]] = posting{int32(i), impacts[k]}
			next[number]++
		}
	}
}

// impacts returns what each term adds to the score of each document, in order of
// the document's terms. It uses all processors.
func (x *Index) impacts(documents []*document, numbers []int32) [][]float32 {
	list := make([][]float32, len(documents))
	all := make([]float32, x.start[len(x.names)]) // one for each posting
	for i, d := range documents {
		list[i], all = all[:len(d.terms):len(d.terms)], all[len(d.terms):]
	}
	each(len(documents), func(i int) {
		d := documents[i]
		norms := x.norms(x.lengths(d))
		rarities := list[i]
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
			f := frequency(&c, &norms, x.weight)
			impact := f / (saturation + f)
			if c[fieldName] > 0 {
				impact += nameCover * x.weight[fieldName] / name
			}
			if c[fieldDescription] > 0 {
				impact += descriptionCover * x.weight[fieldDescription] / description
			}
			rarities[k] *= float32(impact)
		}
	})
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
func inverseFrequency(n, size int) float64 {
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
