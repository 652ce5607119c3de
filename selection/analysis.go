package selection

import (
	"bytes"
	"maps"
	"runtime"
	"slices"
	"sync"

	"github.com/etui-run/etui/tool"
)

// analysis is what was read of tools, kept from one index to the next: only what
// changed is read again. An index made from it is the same, to the last bit, as
// one that is made anew. It holds the documents of the newest index and the words
// of those before, as far as [analysis.forget] lets it. It is not safe for
// concurrent use; the indexes are.
type analysis struct {
	weights   Weights
	words     *vocabulary
	documents map[string]*document // by name of the tool
}

func newAnalysis(weights Weights) *analysis {
	if weights == (Weights{}) {
		weights = DefaultWeights()
	}
	return &analysis{weights: weights, words: newVocabulary()}
}

// document is what was read of a tool: how often it has each term, by field.
type document struct {
	definition *tool.Definition
	terms      []int32 // by the numbers of the vocabulary
	counts     [][fields]uint8
	length     [fields]float64
	surfaces   []int32 // the words as they are written, each once; stop words are left out
}

// index makes an index of some tools.
func (a *analysis) index(tools []*tool.Definition) *Index {
	x := &Index{size: len(tools), weight: a.weights.fields()}
	x.scratch.New = func() any { return x.newScratch() }
	x.readGroups(tools)
	documents := a.read(tools)
	a.forget(x.number(a.words, documents))
	return x
}

// chunk is how many tools are read at once.
const chunk = 1024

// read returns the documents of some tools.
func (a *analysis) read(tools []*tool.Definition) []*document {
	documents := make([]*document, len(tools))
	var changed []int
	for i, d := range tools {
		if old := a.documents[d.Name]; old != nil && sameTexts(old.definition, d) {
			old.definition = d // the other one may go
			documents[i] = old
		} else {
			changed = append(changed, i)
		}
	}
	for some := range slices.Chunk(changed, chunk) {
		texts := make([][]fieldText, len(some))
		each(len(some), func(i int) { texts[i] = textsOf(tools[some[i]]) })
		for i, text := range texts {
			d := a.words.read(text)
			d.definition = tools[some[i]]
			documents[some[i]] = d
		}
	}
	a.documents = make(map[string]*document, len(documents))
	for _, d := range documents {
		a.documents[d.definition.Name] = d
	}
	return documents
}

// forget drops everything when most of the vocabulary is of tools that have gone,
// so that it cannot grow for ever. The next index is then made anew.
func (a *analysis) forget(spoken int) {
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
	var done sync.WaitGroup
	for first := range workers {
		done.Go(func() {
			for i := first; i < n; i += workers {
				f(i)
			}
		})
	}
	done.Wait()
}

// sameTexts reports whether the ranking reads the same in two definitions. Texts
// that are shared are compared at no cost.
func sameTexts(a, b *tool.Definition) bool {
	return a == b || a.Name == b.Name && a.Description == b.Description && a.Body == b.Body && bytes.Equal(a.Parameters, b.Parameters) &&
		slices.Equal(a.Groups, b.Groups) && slices.Equal(a.Aliases, b.Aliases) && slices.Equal(a.Examples, b.Examples) && maps.Equal(a.Translations, b.Translations)
}
