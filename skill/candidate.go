package skill

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/tool"
)

// named holds all skills of one name.
type named struct {
	candidates []*candidate // in rising order: the last one is in effect
}

func (n *named) drop(source string) {
	n.candidates = slices.DeleteFunc(n.candidates, func(c *candidate) bool { return c.source == source })
}

// candidate is a skill of one source.
type candidate struct {
	skill      Skill
	details    Details
	definition tool.Definition
	schema     func() (*tool.Schema, error)
	scope      Scope
	source     string
	since      time.Time
	initial    State  // unless somebody decides otherwise
	why        string // why initial is not Enabled
	removed    bool
}

// precedence orders candidates by scope, then version, then source. The last one is
// in effect.
func precedence(a, b *candidate) int {
	return cmp.Or(cmp.Compare(a.scope, b.scope), compareVersions(a.details.Version, b.details.Version), cmp.Compare(a.source, b.source))
}

// compareVersions compares dotted versions number by number, and the rest as
// text: 1.10 is higher than 1.9, and a version higher than none.
func compareVersions(a, b string) int {
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(strings.TrimPrefix(a, "v"), ".")
		y, b, _ = strings.Cut(strings.TrimPrefix(b, "v"), ".")
		if c := cmp.Or(compareNumbers(x, y), strings.Compare(x, y)); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareNumbers compares the numbers at the beginning of two texts.
func compareNumbers(a, b string) int {
	digits := func(s string) string {
		s = s[:len(s)-len(strings.TrimLeft(s, "0123456789"))]
		return strings.TrimLeft(s, "0")
	}
	x, y := digits(a), digits(b)
	return cmp.Or(cmp.Compare(len(x), len(y)), strings.Compare(x, y))
}
