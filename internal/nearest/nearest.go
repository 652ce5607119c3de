// Package nearest finds the known name that a mistyped one probably means.
package nearest

import (
	"iter"
	"strings"
)

// maxName is the longest name that is compared, in bytes. A longer one is like no other.
const maxName = 64

// Name returns the known name closest to the written one, if it is close enough to be
// a slip: at most a third of its letters differ, or one begins with the other. Of
// equally close names it returns the first. A name that is written as it is known is no slip.
func Name(written string, known iter.Seq[string]) (string, bool) {
	if len(written) > maxName {
		return "", false
	}
	best, distance := "", len(written)/3+2
	for name := range known {
		if name == written {
			continue
		}
		d := edits(strings.ToLower(written), strings.ToLower(name))
		if d > 0 && len(written) >= 3 &&
			(strings.HasPrefix(name, written) || strings.HasPrefix(written, name) && len(name) >= 3) {
			d = 1
		}
		if d < distance && d < max(len(name), len(written)) {
			best, distance = name, d
		}
	}
	return best, best != ""
}

// Hint returns Name as the end of a sentence: `; did you mean "x"?`, or nothing.
func Hint(written string, known iter.Seq[string]) string {
	if name, ok := Name(written, known); ok {
		return `; did you mean "` + name + `"?`
	}
	return ""
}

// edits counts the letters to insert, remove, replace or swap with a neighbor to get
// from a to b.
func edits(a, b string) int {
	if len(b) > maxName {
		return maxName
	}
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
