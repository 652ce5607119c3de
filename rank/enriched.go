package rank

import (
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/etui-run/etui/tool"
)

// What counts of [tool.Texts]: whoever wrote a definition that a model enriched may have
// tried to get more than its share.
const (
	// maxEnriched is how many aliases, and how many examples, count of one definition.
	maxEnriched = 24
	// maxEnrichedText is how much counts of each, in bytes.
	maxEnrichedText = 300
	// maxClaims is how many definitions an alias may have.
	maxClaims = 3
)

// bound returns the texts that count. An alias that many definitions claim, or that is
// the name of one from another source, says nothing.
func bound(tools []*tool.Definition, enriched map[string]tool.Texts) map[string]tool.Texts {
	if len(enriched) == 0 {
		return nil
	}
	sources := make(map[string]string, len(tools)) // by name
	named := make(map[string]*tool.Definition, len(tools))
	for _, d := range tools {
		named[aliasKey(d.Name)], sources[d.Name] = d, d.Source
	}
	claims := make(map[string]int, 4*len(enriched))
	own := map[string]bool{} // what one definition claims, however often
	for _, texts := range enriched {
		clear(own)
		for _, alias := range texts.Aliases {
			if key := aliasKey(alias); !own[key] {
				own[key] = true
				claims[key]++
			}
		}
	}
	kept := maps.Clone(enriched)
	for name, texts := range enriched {
		says := func(alias string) bool {
			key := aliasKey(alias)
			other := named[key]
			return len(alias) <= maxEnrichedText && claims[key] <= maxClaims &&
				(other == nil || other.Source == sources[name])
		}
		short := func(example string) bool { return len(example) <= maxEnrichedText }
		kept[name] = tool.Texts{Aliases: some(texts.Aliases, says), Examples: some(texts.Examples, short)}
	}
	return kept
}

// some returns the texts that f accepts, at most maxEnriched. It makes a new list only if
// one is missing.
func some(texts []string, f func(string) bool) []string {
	texts = texts[:min(len(texts), maxEnriched)]
	if !slices.ContainsFunc(texts, func(text string) bool { return !f(text) }) {
		return texts
	}
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return !f(text) })
}

// aliasKey is the same for "read file", "read_file" and "readFile".
func aliasKey(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}
