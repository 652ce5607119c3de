package skill

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/tool"
)

// candidates holds all skills of one name.
type candidates struct {
	candidates []*candidate // in rising order: the last one is in effect
}

func (n *candidates) drop(source string) {
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
	return cmp.Or(cmp.Compare(a.scope, b.scope), CompareVersions(a.details.Version, b.details.Version),
		cmp.Compare(a.source, b.source))
}

// CompareVersions compares dotted versions number by number, and the rest as text: 1.10
// is higher than 1.9, and a version higher than none. A pre-release, such as 1.2.0-rc.1 or
// 1.2rc1, is lower than its release, and among pre-releases a number is lower than a word.
// The text after a plus sign does not count.
func CompareVersions(a, b string) int {
	if a == "" || b == "" {
		return cmp.Compare(len(a), len(b))
	}
	a, before := release(a)
	b, later := release(b)
	switch c := compareParts(a, b, false); {
	case c != 0:
		return c
	case before == "" || later == "":
		return -cmp.Compare(len(before), len(later))
	default:
		return compareParts(before, later, true)
	}
}

// release splits a version into the release and what makes it a pre-release of that.
func release(version string) (number, before string) {
	version, _, _ = strings.Cut(strings.TrimPrefix(version, "v"), "+")
	if number, before, ok := strings.Cut(version, "-"); ok {
		return number, before
	}
	if at := preRelease.FindStringIndex(version); at != nil {
		return version[:at[0]+1], strings.TrimLeft(version[at[0]+1:], "._")
	}
	return version, ""
}

// preRelease matches marks of pre-releases without a hyphen, and the digit before.
var preRelease = regexp.MustCompile(`\d[._]?(?:alpha|beta|preview|pre|rc|dev|a|b|c|snapshot)[._]?\d*$`)

// compareParts compares dotted texts part by part. A text that goes on is higher. In the
// texts of pre-releases, a number is lower than a word.
func compareParts(a, b string, pre bool) int {
	isWord := func(s string) bool { return strings.Trim(s, "0123456789") != "" }
	for a != "" && b != "" {
		var x, y string
		x, a, _ = strings.Cut(a, ".")
		y, b, _ = strings.Cut(b, ".")
		if pre && isWord(x) != isWord(y) {
			if isWord(x) {
				return 1
			}
			return -1
		}
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
