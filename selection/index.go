package selection

import (
	"cmp"
	"encoding/json"
	"math"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// field is a part of a tool's text. A word counts more in some than in others.
type field int

const (
	fieldName field = iota
	fieldAlias
	fieldDescription
	fieldTranslation
	fieldParameter
	fieldParameterText
	fieldGroup
	fieldExample
	fieldBody
	fields
)

// How much a word counts in each field, and how much the field's length
// matters (0: not at all, 1: fully). The ranking is BM25F: S. Robertson and H.
// Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond", 2009,
// section 3.6. The result is flat near these figures.
var (
	fieldWeight = [fields]float64{fieldName: 2, fieldAlias: 1, fieldDescription: 0.5, fieldTranslation: 0.5, fieldParameter: 0.5, fieldParameterText: 0.5, fieldGroup: 1, fieldExample: 0.5, fieldBody: 0.1}
	fieldLength = [fields]float64{fieldName: 0.75, fieldAlias: 0.5, fieldDescription: 0.75, fieldTranslation: 0.75, fieldParameter: 0.5, fieldParameterText: 0.25, fieldGroup: 0, fieldExample: 0.5, fieldBody: 0.75}
)

const (
	// saturation is BM25's k1: how soon repeating a word stops counting.
	saturation = 1.2
	// singleWide scales the score of a single Chinese character, which says
	// less than a word of two.
	singleWide = 0.7
)

// index is the searchable text of one catalog. It is immutable.
type index struct {
	// terms numbers the stems, and the characters and pairs of wide scripts.
	terms map[string]int32
	// surfaces numbers words as they are written, so that a query's words are
	// stemmed only when no tool has them.
	surfaces map[string]int32
	names    []string    // the terms, by number
	postings [][]posting // by term, in order of document
}

// posting says what a term adds to a document's score.
type posting struct {
	doc    int32
	impact float32
}

// maxBody is how much of a tool's Body is read, in bytes.
const maxBody = 8 << 10

// noTerm stands for a word that is not searched for.
const noTerm = int32(-1)

// document counts a tool's terms while the index is built.
type document struct {
	counts map[int32]*[fields]float64
	length [fields]float64
}

func newIndex(texts []*tool.Definition) *index {
	x := &index{terms: map[string]int32{}, surfaces: map[string]int32{}}
	documents := make([]document, 0, len(texts))
	var mean [fields]float64
	for _, text := range texts {
		d := x.read(text)
		for f, n := range d.length {
			mean[f] += n / float64(len(texts))
		}
		documents = append(documents, d)
	}
	x.postings = make([][]posting, len(x.names))
	for i, d := range documents {
		for term, count := range d.counts {
			x.postings[term] = append(x.postings[term], posting{int32(i), float32(frequency(count, &d.length, &mean))})
		}
	}
	for term, list := range x.postings {
		idf := math.Log(1 + (float64(len(texts))-float64(len(list))+0.5)/(float64(len(list))+0.5))
		if r := []rune(x.names[term]); len(r) == 1 && chat.Wide(r[0]) {
			idf *= singleWide
		}
		for i := range list {
			f := float64(list[i].impact)
			list[i].impact = float32(idf * f / (saturation + f))
		}
		slices.SortFunc(list, func(a, b posting) int { return cmp.Compare(a.doc, b.doc) })
	}
	return x
}

// frequency is how often a term occurs in a document, each field counted with
// its weight and against its usual length.
func frequency(count, length, mean *[fields]float64) float64 {
	var sum float64
	for f, n := range count {
		if n > 0 {
			sum += fieldWeight[f] * n / (1 - fieldLength[f] + fieldLength[f]*length[f]/mean[f])
		}
	}
	return sum
}

func (x *index) read(d *tool.Definition) document {
	doc := document{counts: map[int32]*[fields]float64{}}
	add := func(f field, text string) {
		words(fold(text), func(word string, wide bool) {
			term := x.intern(word, wide)
			if term == noTerm {
				return
			}
			c := doc.counts[term]
			if c == nil {
				c = new([fields]float64)
				doc.counts[term] = c
			}
			c[f]++
			doc.length[f]++
		})
	}
	add(fieldName, d.Name)
	add(fieldDescription, d.Description)
	for _, text := range d.Translations {
		add(fieldTranslation, text)
	}
	for _, text := range d.Aliases {
		add(fieldAlias, text)
	}
	for _, g := range d.Groups {
		add(fieldGroup, g)
	}
	for _, text := range d.Examples {
		add(fieldExample, text)
	}
	add(fieldBody, d.Body[:min(len(d.Body), maxBody)])
	var schema schemaText
	// A part that is not as expected stays empty, the rest is read.
	_ = json.Unmarshal(d.Parameters, &schema)
	schema.walk(add, 0)
	return doc
}

// intern numbers a word of a tool.
func (x *index) intern(word string, wide bool) int32 {
	if term, ok := x.surfaces[word]; ok {
		return term
	}
	term := noTerm
	if !isStopWord(word) {
		name := word
		if !wide {
			name = stem(word)
		}
		var ok bool
		if term, ok = x.terms[name]; !ok {
			term = int32(len(x.names))
			x.terms[name] = term
			x.names = append(x.names, name)
		}
	}
	x.surfaces[word] = term
	return term
}

// lookup numbers a word of a query; noTerm when no tool has it.
func (x *index) lookup(word string, wide bool) int32 {
	if term, ok := x.surfaces[word]; ok {
		return term
	}
	if wide || isStopWord(word) {
		return noTerm
	}
	if term, ok := x.terms[stem(word)]; ok {
		return term
	}
	return noTerm
}

// impact returns what a term adds to a document's score.
func (x *index) impact(term int32, doc int) float32 {
	list := x.postings[term]
	i, ok := slices.BinarySearchFunc(list, int32(doc), func(p posting, doc int32) int { return cmp.Compare(p.doc, doc) })
	if !ok {
		return 0
	}
	return list[i].impact
}

// schemaText is the part of a JSON Schema that is made of words.
type schemaText struct {
	Description string                `json:"description"`
	Enum        []any                 `json:"enum"`
	Properties  map[string]schemaText `json:"properties"`
	Items       *schemaText           `json:"items"`
}

// walk adds the names and words of a schema, at most four levels deep: what
// lies deeper says little about when to use a tool.
func (s *schemaText) walk(add func(field, string), depth int) {
	if depth > 4 {
		return
	}
	if depth > 0 {
		add(fieldParameterText, s.Description)
	}
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			add(fieldParameterText, text)
		}
	}
	for name, p := range s.Properties {
		add(fieldParameter, name)
		p.walk(add, depth+1)
	}
	if s.Items != nil {
		s.Items.walk(add, depth)
	}
}
