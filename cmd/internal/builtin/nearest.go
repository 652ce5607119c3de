package builtin

import (
	"fmt"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// nearest shows the lines of a text that are most similar to the wanted ones, if any.
func nearest(text, old string) string {
	wanted := strings.Split(strings.Trim(lf(old), "\n"), "\n")
	wanted = wanted[:min(len(wanted), maxNearest)]
	like, key := make([]likeness, len(wanted)), 0
	for i, line := range wanted {
		if like[i] = newLikeness(line); len(like[i].line) > len(like[key].line) {
			key = i // the most distinctive line
		}
	}
	lines, best, from, tried := strings.Split(lf(text), "\n"), 0.0, -1, 0
	for i, line := range lines {
		v := like[key].of(line)
		if v < leastLike {
			continue
		}
		if tried++; tried > maxTried {
			break
		}
		first := max(0, i-key)
		for k := range min(len(wanted), len(lines)-first) {
			v += like[k].of(lines[first+k])
		}
		if v > best {
			best, from = v, first
		}
	}
	if from < 0 {
		return ""
	}
	shown := strings.Join(lines[from:min(len(lines), from+len(wanted))], "\n")
	if len(shown) > maxNearestText {
		shown = strings.ToValidUTF8(shown[:maxNearestText], "") + "…"
	}
	return fmt.Sprintf("; closest match, from line %d:\n%s", from+1, shown)
}

// Limits of the comparison.
const (
	maxNearest     = 20   // lines to compare and show
	maxTried       = 500  // places to compare in full
	maxNearestText = 1500 // bytes of the lines shown
	leastLike      = 0.6
)

// likeness measures the similarity of two lines by the character pairs that both
// contain: 1 if they differ only in spaces, case, the form of quotation marks and the
// like.
type likeness struct {
	line  string
	pairs map[[2]rune]int
	count int
}

func newLikeness(line string) likeness {
	l := likeness{squeeze(line), map[[2]rune]int{}, 0}
	pairs(l.line, func(p [2]rune) { l.pairs[p]++; l.count++ })
	return l
}

func (l likeness) of(line string) float64 {
	line = squeeze(line)
	switch {
	case l.line == "" || line == "":
		return 0
	case line == l.line:
		return 1
	case strings.Contains(line, l.line):
		return 0.95
	}
	seen, both, count := map[[2]rune]int{}, 0, 0
	pairs(line, func(p [2]rune) {
		if count++; seen[p] < l.pairs[p] {
			seen[p]++
			both++
		}
	})
	return 2 * float64(both) / float64(count+l.count)
}

func pairs(line string, each func([2]rune)) {
	var before rune
	for _, r := range line {
		each([2]rune{before, r})
		before = r
	}
}

// squeeze removes from a line what is easily mistyped; it returns at most 500 bytes.
func squeeze(line string) string {
	line = marks.Replace(norm.NFKC.String(line[:min(len(line), 500)]))
	return strings.ToLower(strings.Join(strings.Fields(line), " "))
}

var marks = strings.NewReplacer("\u2018", "'", "\u2019", "'", "\u201c", `"`, "\u201d", `"`, "\u2013", "-", "\u2014",
	"-", "\u2212", "-", "\u3002", ".", "\u3001", ",")
