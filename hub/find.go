package hub

import (
	"cmp"
	"context"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
)

// patienceFind is how long a registry may take to answer a search.
const patienceFind = 15 * time.Second

// MaxFound bounds what a search returns of each registry.
const MaxFound = 50

// Find asks the registries, or the named one, at the same time. The results are
// in the order of the registries, and at most limit of each. Registries that do
// not answer are told in the errors; the others' results come all the same.
func (in *Installer) Find(ctx context.Context, registry, text string, limit int) ([]Found, []error) {
	asked := in.c.Registries
	if registry != "" {
		r, err := in.Registry(registry)
		if err != nil {
			return nil, []error{err}
		}
		asked = []Source{r}
	}
	limit = max(1, min(limit, MaxFound))
	lists, errs := make([][]Found, len(asked)), make([]error, len(asked))
	ctx, cancel := context.WithTimeout(ctx, patienceFind)
	defer cancel()
	var running sync.WaitGroup
	for i, r := range asked {
		running.Go(func() { lists[i], errs[i] = r.Search(ctx, text, limit) })
	}
	running.Wait()
	all := slices.Concat(lists...)
	in.mark(all)
	return all, slices.DeleteFunc(errs, func(err error) bool { return err == nil })
}

// mark notes what is installed.
func (in *Installer) mark(list []Found) {
	root, err := os.OpenRoot(in.c.Folder)
	if err != nil {
		return // nothing is
	}
	defer root.Close()
	for i, f := range list {
		o, err := readOrigin(root, f.Name)
		list[i].Installed = err == nil && o != nil && o.Registry == f.Registry && (f.Owner == "" || o.Owner == f.Owner)
	}
}

// Words is how the skill is named to install it.
func (f Found) Words() string {
	switch {
	case f.Owner == "":
		return f.Name
	case strings.Contains(f.Owner, "/"):
		return f.Owner + "@" + f.Name
	}
	return "@" + f.Owner + "/" + f.Name
}

// Best ranks skills that were not searched for yet: by how many words of a text
// stand in their names, then in their descriptions. An empty text fits all.
func Best(all []Found, text string, limit int) []Found {
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
	all = slices.DeleteFunc(all, func(f Found) bool { return len(terms) > 0 && scores[f.Words()] == 0 })
	slices.SortStableFunc(all, func(a, b Found) int {
		return cmp.Or(cmp.Compare(scores[b.Words()], scores[a.Words()]), cmp.Compare(a.Name, b.Name))
	})
	return all[:min(len(all), limit)]
}

// termsOf are what is looked for: words, and pairs of characters where a script
// has no blanks between words.
func termsOf(text string) (terms []string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' }) {
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
