package selection

import (
	"encoding/json"
	"math"
	"runtime"
	"slices"
	"sync"
	"unicode/utf8"

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

// fieldLength is how much a field's length matters (0: not at all, 1: fully).
// The ranking is BM25F: S. Robertson and H. Zaragoza, "The Probabilistic
// Relevance Framework: BM25 and Beyond", 2009, section 3.6. How much a word
// counts in each field is in [Weights]. The result is flat near these figures.
var fieldLength = [fields]float64{fieldName: 0.75, fieldAlias: 0.5, fieldDescription: 0.75, fieldTranslation: 0.75, fieldParameter: 0.5, fieldParameterText: 0.25, fieldGroup: 0, fieldExample: 0.5, fieldBody: 0.75}

const (
	// saturation is BM25's k1: how soon repeating a word stops counting.
	saturation = 0.9
	// singleWide scales the score of a single Chinese character, which says
	// less than a word of two.
	singleWide = 0.7
	// nameCover and descriptionCover are what a tool gains, as a multiple of the
	// field's weight, when a question has every word of its name, or of its
	// description; some of them, rare ones counting more, give a part of it. It
	// sets the tool that does what is asked apart from those that do more.
	nameCover        = 0.6
	descriptionCover = 2.0
)

// Index is the searchable text of a list of tools. It is immutable and safe for
// concurrent use.
type Index struct {
	size int
	// terms numbers the stems, and the characters and pairs of wide scripts.
	terms map[string]int32
	// glossed numbers the stems of English words that Chinese ones of the tools
	// mean. They are terms of their own: Chinese questions find the Chinese words.
	glossed map[string]int32
	// surfaces numbers words as they are written, so that a query's words are
	// stemmed only when no tool has them.
	surfaces map[string]int32
	// spelled lists the surfaces of scripts with spaces that may be meant by a
	// misspelt word.
	spelled map[spelling][]string
	names   []string  // the terms, by number
	places  []int32   // while the index is built: their places in a document, from 1
	rarity  []float32 // their inverse document frequency
	// postings are in order of term, then of document; those of term t stand from
	// start[t] to start[t+1].
	postings []posting
	start    []int32
	// groups numbers the first group of each tool; nil unless all have one.
	groups     []int32
	groupCount int
	// mean is how long the fields are on average, weight how much each counts.
	mean    [fields]float64
	weight  *[fields]float64
	scratch sync.Pool // of *scratch
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
	terms  []int32
	counts [][fields]uint8
	length [fields]float64
}

// NewIndex indexes tools, which takes about 10 µs for each. The zero Weights are
// [DefaultWeights].
func NewIndex(tools []*tool.Definition, weights Weights) *Index {
	if weights == (Weights{}) {
		weights = DefaultWeights()
	}
	x := emptyIndex()
	x.size, x.weight = len(tools), weights.fields()
	x.scratch.New = func() any { return x.newScratch() }
	x.readGroups(tools)
	documents := make([]document, 0, len(tools))
	for some := range slices.Chunk(tools, chunk) {
		for _, text := range x.texts(some) {
			d := x.read(text)
			for f, n := range d.length {
				x.mean[f] += n / float64(len(tools))
			}
			documents = append(documents, d)
		}
	}
	x.places = nil
	x.invert(documents)
	x.spell()
	return x
}

func emptyIndex() *Index {
	return &Index{terms: map[string]int32{}, glossed: map[string]int32{}, surfaces: map[string]int32{}}
}

// chunk is how many tools are read at once.
const chunk = 1024

// texts reads the texts of some tools, on all processors.
func (x *Index) texts(tools []*tool.Definition) [][]fieldText {
	list := make([][]fieldText, len(tools))
	var done sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), 1+len(tools)/64)
	for first := range workers {
		done.Go(func() {
			for i := first; i < len(tools); i += workers {
				list[i] = textsOf(tools[i], x.groups != nil)
			}
		})
	}
	done.Wait()
	return list
}

// readGroups numbers the groups. A group tells tools apart only where all have
// one: else those with one would win by having it.
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

// invert turns documents into postings.
func (x *Index) invert(documents []document) {
	x.start = make([]int32, len(x.names)+1)
	for _, d := range documents {
		for _, term := range d.terms {
			x.start[term+1]++
		}
	}
	x.rarity = make([]float32, len(x.names))
	for term, name := range x.names {
		x.rarity[term] = rarity(name, x.start[term+1], x.size)
	}
	for name, term := range x.glossed {
		if own, ok := x.terms[name]; ok { // a word is not rare because few tools say it in Chinese
			x.rarity[term] = rarity(name, min(x.start[term+1]+x.start[own+1], int32(x.size)), x.size)
		}
	}
	for term := range x.names {
		x.start[term+1] += x.start[term]
	}
	x.postings = make([]posting, x.start[len(x.names)])
	next := slices.Clone(x.start)
	for i := range documents {
		d := &documents[i]
		name, description := x.fieldMass(d, fieldName), x.fieldMass(d, fieldDescription)
		for k, term := range d.terms {
			f := frequency(&d.counts[k], &d.length, &x.mean, x.weight)
			impact := f / (saturation + f)
			if d.counts[k][fieldName] > 0 {
				impact += nameCover * x.weight[fieldName] / name
			}
			if d.counts[k][fieldDescription] > 0 {
				impact += descriptionCover * x.weight[fieldDescription] / description
			}
			x.postings[next[term]] = posting{int32(i), x.rarity[term] * float32(impact)}
			next[term]++
		}
	}
}

// inverseFrequency is BM25's inverse document frequency of what n of size
// documents have.
func inverseFrequency(n, size int) float64 {
	return math.Log(1 + (float64(size)-float64(n)+0.5)/(float64(n)+0.5))
}

// rarity is the inverse document frequency of a term that n of size documents
// have.
func rarity(name string, n int32, size int) float32 {
	idf := inverseFrequency(int(n), size)
	if r, size := utf8.DecodeRuneInString(name); size == len(name) && chat.Wide(r) {
		idf *= singleWide
	}
	return float32(idf)
}

// fieldMass adds up how rare the words of a field are.
func (x *Index) fieldMass(d *document, f field) float64 {
	var sum float64
	for k, term := range d.terms {
		if d.counts[k][f] > 0 {
			sum += float64(x.rarity[term])
		}
	}
	return sum
}

// list returns the postings of a term.
func (x *Index) list(term int32) []posting { return x.postings[x.start[term]:x.start[term+1]] }

// frequency is how often a term occurs in a document, each field counted with
// its weight and against its usual length.
func frequency(count *[fields]uint8, length, mean, weight *[fields]float64) float64 {
	var sum float64
	for f, n := range count {
		if n > 0 {
			sum += weight[f] * float64(n) / (1 - fieldLength[f] + fieldLength[f]*length[f]/mean[f])
		}
	}
	return sum
}

// fieldText is a folded text of a tool, with the stems of the English words that
// its Chinese ones mean.
type fieldText struct {
	field  field
	folded string
	gloss  []string
}

// textsOf returns the texts of a tool. Groups that only some tools have count
// as words of the description.
func textsOf(d *tool.Definition, grouped bool) []fieldText {
	list := make([]fieldText, 0, 16)
	add := func(f field, text string) {
		if text != "" {
			folded := fold(text)
			list = append(list, fieldText{f, folded, gloss(f, folded)})
		}
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
		if grouped {
			add(fieldGroup, g)
		} else {
			add(fieldDescription, g)
		}
	}
	for _, text := range d.Examples {
		add(fieldExample, text)
	}
	add(fieldBody, head(d.Body, maxBody))
	var schema schemaText
	// A part that is not as expected stays empty, the rest is read.
	_ = json.Unmarshal(d.Parameters, &schema)
	schema.walk(add, 0)
	return list
}

// gloss returns the stems of the English words that the Chinese ones of a folded
// text mean. Only what every tool has is translated, not what stands beside it in
// other words or at length.
func gloss(f field, folded string) (stems []string) {
	switch f {
	case fieldAlias, fieldTranslation, fieldExample, fieldBody:
		return nil
	}
	wideRuns(folded, func(run string) {
		translate(run, func(_, stem string) { stems = append(stems, stem) })
	})
	return stems
}

// read counts the words of a tool.
func (x *Index) read(texts []fieldText) document {
	var doc document
	count := func(term int32, f field) {
		i := int(x.places[term]) - 1
		if i < 0 {
			i = len(doc.terms)
			x.places[term] = int32(i + 1)
			doc.terms = append(doc.terms, term)
			doc.counts = append(doc.counts, [fields]uint8{})
		}
		if doc.counts[i][f] < math.MaxUint8 {
			doc.counts[i][f]++
		}
		doc.length[f]++
	}
	for _, text := range texts {
		words(text.folded, func(word string, wide bool) {
			if term := x.intern(word, wide); term != noTerm {
				count(term, text.field)
			}
		})
		for _, stem := range text.gloss {
			count(x.number(x.glossed, stem), fieldTranslation)
		}
	}
	for _, term := range doc.terms {
		x.places[term] = 0
	}
	return doc
}

// intern numbers a word of a tool.
func (x *Index) intern(word string, wide bool) int32 {
	if term, ok := x.surfaces[word]; ok {
		return term
	}
	term := noTerm
	if !isStopWord(word) {
		name := word
		if !wide {
			name = stem(word)
		}
		term = x.number(x.terms, name)
	}
	x.surfaces[word] = term
	return term
}

// number numbers a term of a kind.
func (x *Index) number(kind map[string]int32, name string) int32 {
	term, ok := kind[name]
	if !ok {
		term = int32(len(x.names))
		kind[name] = term
		x.names = append(x.names, name)
		x.places = append(x.places, 0)
	}
	return term
}

// impact returns what a term adds to a document's score.
func (x *Index) impact(term int32, doc int) float32 {
	list := x.list(term)
	i, ok := slices.BinarySearchFunc(list, int32(doc), func(p posting, doc int32) int { return int(p.doc - doc) })
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
