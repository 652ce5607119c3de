package scan

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern matches what one of its alternatives matches, ignoring case.
type pattern []alternative

// alternative is a regular expression with words of which every match contains
// at least one. Looking for the words first makes large files cheap to read.
type alternative struct {
	re    *regexp.Regexp
	words []string // in lower case; none means unknown
}

// anyOf makes a pattern.
func anyOf(expressions ...string) pattern {
	var m pattern
	for _, e := range expressions {
		tree, err := syntax.Parse(`(?i)`+e, syntax.Perl)
		if err != nil {
			panic(err.Error()) // the expressions are part of the program
		}
		m = append(m, alternative{regexp.MustCompile(`(?i)` + e), literals(tree)})
	}
	return m
}

// possible reports whether the alternative may match in a text, given in lower
// case.
func (a alternative) possible(lower string) bool {
	return a.words == nil || slices.ContainsFunc(a.words,
		func(word string) bool { return strings.Contains(lower, word) })
}

// in returns the alternatives that may match in a page.
func (m pattern) in(p *page) pattern {
	return slices.DeleteFunc(slices.Clone(m), func(a alternative) bool { return !a.possible(p.lower) })
}

// match reports whether the pattern matches a line.
func (m pattern) match(l line) bool {
	return slices.ContainsFunc(m, func(a alternative) bool { return a.possible(l.lower) && a.re.MatchString(l.text) })
}

// minWord is the least length of a word that is looked for.
const minWord = 2

// literals returns words of which every match contains at least one.
func literals(t *syntax.Regexp) []string {
	switch t.Op {
	case syntax.OpLiteral:
		word := strings.ToLower(string(t.Rune))
		if len(word) >= minWord {
			return []string{word}
		}
	case syntax.OpCapture, syntax.OpPlus:
		return literals(t.Sub[0])
	case syntax.OpRepeat:
		if t.Min > 0 {
			return literals(t.Sub[0])
		}
	case syntax.OpConcat:
		var found []string
		for _, sub := range t.Sub {
			if words := literals(sub); better(words, found) {
				found = words
			}
		}
		return found
	case syntax.OpAlternate:
		var all []string
		for _, sub := range t.Sub {
			words := literals(sub)
			if words == nil {
				return nil
			}
			all = append(all, words...)
		}
		slices.Sort(all)
		return slices.Compact(all)
	}
	return nil
}

// better reports whether words narrow the search more than others: long ones,
// and few.
func better(words, others []string) bool {
	if words == nil || others == nil {
		return words != nil
	}
	shortest := func(list []string) int {
		return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
	}
	return shortest(words)-len(words)/8 > shortest(others)-len(others)/8
}
