package demo

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"
	"time"
)

// seed replaces a random source: the same words always give the same figures.
type seed uint64

func seedOf(words ...string) seed {
	h := fnv.New64a()
	for _, w := range words {
		h.Write([]byte(w))
		h.Write([]byte{0})
	}
	// FNV's low bits hardly differ for similar words, so mix in the high ones.
	x := h.Sum64()
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	return seed(x ^ x>>33)
}

// next returns another seed for each n.
func (s seed) next(n int) seed { return seedOf(strconv.FormatUint(uint64(s), 36), strconv.Itoa(n)) }

// n draws a number from 0 to limit-1.
func (s seed) n(limit int) int { return int(uint64(s) % uint64(limit)) }

func (s seed) pick(options []string) string { return options[s.n(len(options))] }

func (s seed) hex(length int) string { return fmt.Sprintf("%016x", uint64(s))[:length] }

// between draws from a range such as "3-14" or "0.5-2.5", with as many decimals as its
// lower end.
func (s seed) between(span string) string {
	low, high, _ := strings.Cut(span, "-")
	_, decimals, _ := strings.Cut(low, ".")
	a, _ := strconv.ParseFloat(low, 64)
	b, _ := strconv.ParseFloat(high, 64)
	x := a + (b-a)*float64(s.n(10_001))/10_000
	return strconv.FormatFloat(x, 'f', len(decimals), 64)
}

// value draws a value by a specification, as in world.json:
//
//	#3-14  %20-90  $5-900     a number, a share, an amount
//	@+10  @-20  @0  @clock    a day within ten days, within twenty ago; today; a time of day
//	@hex  @person             a commit's hash; an entry of a list of the world
//	open,paid,@service        one of several
func (w *world) value(spec string, s seed, now time.Time) string {
	switch {
	case spec == "":
		return ""
	case strings.Contains(spec, ","):
		return w.value(s.pick(strings.Split(spec, ",")), s.next(1), now)
	case spec == "@clock":
		return fmt.Sprintf("%02d:%02d", 8+s.n(10), s.next(1).n(12)*5)
	case spec == "@month":
		return now.AddDate(0, -s.n(6), 0).Format("2006-01")
	case spec == "@hex":
		return s.hex(7)
	case spec == "@lines":
		from := 1 + s.n(180)
		return fmt.Sprintf("%d-%d", from, from+s.next(1).n(30))
	case spec[0] == '#':
		return s.between(spec[1:])
	case spec[0] == '%':
		return s.between(spec[1:]) + " %"
	case spec[0] == '$':
		return money(s.between(spec[1:])) + " EUR"
	case spec[0] == '@' && strings.ContainsAny(spec[1:2], "+-0123456789"):
		days, _ := strconv.Atoi(spec[1:])
		if days > 0 {
			days = s.n(days) + 1
		} else if days < 0 {
			days = -s.n(-days)
		}
		return now.AddDate(0, 0, days).Format(time.DateOnly)
	case spec[0] == '@':
		name, rest, _ := strings.Cut(spec[1:], "-")
		if rest != "" {
			rest = "-" + rest
		}
		return s.pick(w.Lists[name]) + rest
	}
	return spec
}

// money adds thousands separators.
func money(amount string) string {
	whole, cents, _ := strings.Cut(amount, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if cents != "" {
		whole += "." + cents
	}
	return whole
}
