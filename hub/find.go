package hub

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/etui-run/etui/internal/panics"
)

// patienceFind is how long a source may take to answer a search.
const patienceFind = 15 * time.Second

// MaxFound bounds what a search returns of each source.
const MaxFound = 50

// Find searches all sources, or the named one, at the same time. It returns the
// results in the order of the sources, at most limit of each, and the errors of
// the sources that did not answer.
func (in *Installer) Find(ctx context.Context, source, text string, limit int) ([]Match, []error) {
	asked, err := in.sources(source)
	if err != nil {
		return nil, []error{err}
	}
	limit = max(1, min(limit, MaxFound))
	lists, errs := make([][]Match, len(asked)), make([]error, len(asked))
	ctx, cancel := context.WithTimeout(ctx, patienceFind)
	defer cancel()
	var running panics.Group
	for i, s := range asked {
		running.Go(func() {
			errs[i] = panics.Try(in.c.Log, "searching for skills", func() (err error) {
				lists[i], err = s.Search(ctx, text, limit)
				return err
			})
		})
	}
	running.Wait()
	all := slices.Concat(lists...)
	in.mark(all)
	return all, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// mark notes which skills are installed.
func (in *Installer) mark(list []Match) {
	root, err := os.OpenRoot(in.c.Folder)
	if err != nil {
		return // none is
	}
	defer root.Close()
	for i, f := range list {
		o, err := readOrigin(root, f.Name)
		list[i].Installed = err == nil && o != nil && o.Registry == f.Registry && (f.Owner == "" || o.Owner == f.Owner)
	}
}

// Best returns the skills whose names or descriptions contain words of a text, the
// best first. A name counts more than a description. An empty text matches all.
func Best(all []Match, text string, limit int) []Match {
	terms := termsOf(text)
	scores := make(map[string]int, len(all))
	for _, f := range all {
		name, description := strings.ToLower(f.Name), strings.ToLower(f.Description)
		for _, t := range terms {
			switch {
			case strings.Contains(name, t):
				scores[f.Words()] += 3
			case strings.Contains(description, t):
				scores[f.Words()]++
			}
		}
	}
	all = slices.DeleteFunc(all, func(f Match) bool { return len(terms) > 0 && scores[f.Words()] == 0 })
	slices.SortStableFunc(all, func(a, b Match) int {
		return cmp.Or(cmp.Compare(scores[b.Words()], scores[a.Words()]), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), limit)]
}

// termsOf returns the words of a text, and pairs of characters where a script has
// no blanks between words.
func termsOf(text string) (terms []string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text),
		func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' }) {
		runes := []rune(word)
		if !unicode.Is(unicode.Han, runes[0]) || len(runes) < 3 {
			terms = append(terms, word)
			continue
		}
		for i := range len(runes) - 1 {
			terms = append(terms, string(runes[i:i+2]))
		}
	}
	return terms
}
