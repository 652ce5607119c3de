package hub

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// pattern matches what one of its alternatives does, without regard to case.
type pattern []alternative

// alternative is a regular expression with the words of which one stands in
// whatever it matches. Finding the words first is what makes reading large files
// cheap.
type alternative struct {
	re    *regexp.Regexp
	words []string // in lower case; none means that nothing is known
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

// match reports whether the pattern fits a text.
func (m pattern) match(text string) bool {
	lower := strings.ToLower(text)
	has := func(word string) bool { return strings.Contains(lower, word) }
	return slices.ContainsFunc(m, func(a alternative) bool {
		return (a.words == nil || slices.ContainsFunc(a.words, has)) && a.re.MatchString(text)
	})
}

// minWord is the least length of a word that is looked for first.
const minWord = 2

// literals returns texts of which at least one is part of every match.
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

// better reports whether words say more than others: long ones, and few.
func better(words, others []string) bool {
	if words == nil || others == nil {
		return words != nil
	}
	shortest := func(list []string) int {
		return len(slices.MinFunc(list, func(a, b string) int { return len(a) - len(b) }))
	}
	return shortest(words)-len(words)/8 > shortest(others)-len(others)/8
}

// lines yields the numbers, from 0, of the page's lines that may match.
func (m pattern) lines(p *page, yield func(int) bool) {
	var found []int
	for _, a := range m {
		if a.words == nil {
			found = found[:0]
			for i := range p.lines {
				found = append(found, i)
			}
			break
		}
		for _, w := range a.words {
			found = p.with(w, found)
		}
	}
	slices.Sort(found)
	for _, i := range slices.Compact(found) {
		if !yield(i) {
			return
		}
	}
}

// with adds the lines that hold a word.
func (p *page) with(word string, found []int) []int {
	for at := 0; ; {
		i := strings.Index(p.lower[at:], word)
		if i < 0 {
			return found
		}
		after, _ := slices.BinarySearch(p.starts, at+i+1)
		found = append(found, after-1)
		if after == len(p.starts) {
			return found
		}
		at = p.starts[after]
	}
}
