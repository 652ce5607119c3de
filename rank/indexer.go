package rank

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/tool"
)

// Indexer builds one index after the other and reads only the definitions that
// changed in between. An index that it builds is equal, to the last bit, to one
// that [New] builds. It is not safe for concurrent use; its indexes are.
type Indexer struct {
	weights Weights
	// words and documents hold what was read for the newest index, and words of
	// earlier ones until [Indexer.forget] drops them.
	words     *vocabulary
	documents map[string]*document // by name of the definition
}

// NewIndexer returns an indexer that has read nothing yet. The zero Weights are
// [DefaultWeights].
func NewIndexer(weights Weights) *Indexer {
	if weights == (Weights{}) {
		weights = DefaultWeights()
	}
	return &Indexer{weights: weights, words: newVocabulary()}
}

// document is what was read of a definition: how often it has each term, by
// field.
type document struct {
	definition *tool.Definition
	enriched   tool.Texts
	terms      []int32 // by the numbers of the vocabulary
	counts     [][fields]uint8
	length     [fields]float64
	surfaces   []int32 // the words as they are written, each once, without stop words
	grams      []int32 // by the numbers of the vocabulary
	gramCounts []uint8
}

// Index indexes definitions with what was written about them elsewhere, by their names.
// Neither may change while the indexer is in use.
func (a *Indexer) Index(tools []*tool.Definition, enriched map[string]tool.Texts) *Index {
	x := &Index{size: len(tools), weight: a.weights.fields(), votes: float32(a.weights.Votes)}
	x.scratch.New = func() any { return x.newScratch() }
	x.readGroups(tools)
	x.enriched = bound(tools, enriched)
	x.toolWords = sync.OnceValue(func() map[string]struct{} { return wordsOfNames(tools) })
	documents := a.read(tools, x.enriched)
	a.forget(x.number(a.words, documents))
	return x
}

// wordsOfNames returns the stems of the words of the definitions' names.
func wordsOfNames(tools []*tool.Definition) map[string]struct{} {
	all := map[string]struct{}{}
	for _, d := range tools {
		words(fold(d.Name), func(word string, wide bool) {
			if !wide {
				all[stem(word)] = struct{}{}
			}
		})
	}
	return all
}

// chunk is how many definitions are read at once.
const chunk = 1024

// read returns the documents of definitions.
func (a *Indexer) read(tools []*tool.Definition, enriched map[string]tool.Texts) []*document {
	documents := make([]*document, len(tools))
	var changed []int
	for i, d := range tools {
		if old := a.documents[d.Name]; old != nil && sameTexts(old.definition, d) &&
			old.enriched.Equal(enriched[d.Name]) {
			old.definition = d // releases the old definition
			documents[i] = old
		} else {
			changed = append(changed, i)
		}
	}
	for some := range slices.Chunk(changed, chunk) {
		texts := make([][]fieldText, len(some))
		each(len(some), func(i int) {
			d := tools[some[i]]
			texts[i] = textsOf(d, enriched[d.Name])
		})
		for i, text := range texts {
			d := a.words.read(text)
			d.definition = tools[some[i]]
			d.enriched = enriched[d.definition.Name]
			documents[some[i]] = d
		}
	}
	a.documents = make(map[string]*document, len(documents))
	for _, d := range documents {
		a.documents[d.definition.Name] = d
	}
	return documents
}

// forget drops everything once most of the vocabulary belongs to definitions
// that are gone, which bounds the vocabulary. The next index then reads all
// definitions again.
func (a *Indexer) forget(spoken int) {
	if len(a.words.spoken) > 2*spoken+10_000 {
		a.words, a.documents = newVocabulary(), nil
	}
}

// each calls f with all numbers below n, on all processors, and waits.
func each(n int, f func(int)) {
	workers := min(runtime.GOMAXPROCS(0), 1+n/64)
	if workers == 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var done panics.Group
	for first := range workers {
		done.Go(func() {
			for i := first; i < n; i += workers {
				f(i)
			}
		})
	}
	done.Wait()
}

// sameTexts reports whether the texts that are indexed are the same in two
// definitions. Comparing strings that share their memory costs nothing.
func sameTexts(a, b *tool.Definition) bool {
	return a == b || a.Name == b.Name && a.Description == b.Description && a.Body == b.Body &&
		bytes.Equal(a.Parameters, b.Parameters) &&
		slices.Equal(a.Groups, b.Groups) && slices.Equal(a.Aliases, b.Aliases) &&
		slices.Equal(a.Examples, b.Examples) && maps.Equal(a.Translations, b.Translations)
}
