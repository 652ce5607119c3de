package secret

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// finder finds any of many words in a text. It reads three bytes at a time and knows
// the least distance to the next word (Wu and Manber), so that it skips most of a text
// that contains none. It is immutable.
type finder struct {
	words    []string
	shortest int
	shift    []uint8 // by hash of three bytes: how far to skip; 0 where a word may be
	first    []int32 // by hash of the last three of the first shortest bytes: a word's number plus one
	next     []int32 // by word: another one of the same hash
	mask     uint32
}

// block is how many bytes are hashed together.
const block = 3

// newFinder returns a finder of words of at least Shortest bytes; nil when there
// are none.
func newFinder(words []string) *finder {
	words = slices.DeleteFunc(words, func(w string) bool { return len(w) < Shortest })
	slices.SortFunc(words, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b)) })
	words = slices.Compact(words)
	if len(words) == 0 {
		return nil
	}
	f := &finder{words: words, shortest: min(len(words[0]), 64), next: make([]int32, len(words))}
	size := 1 << min(16, bits.Len(uint(len(words)*(f.shortest-block+1)*4)))
	f.mask = uint32(size - 1)
	f.shift, f.first = make([]uint8, size), make([]int32, size)
	farthest := uint8(f.shortest - block + 1)
	for i := range f.shift {
		f.shift[i] = farthest
	}
	for n, w := range words {
		for end := block; end <= f.shortest; end++ {
			h := f.hash(w[end-block], w[end-2], w[end-1])
			f.shift[h] = min(f.shift[h], uint8(f.shortest-end))
			if end == f.shortest {
				f.next[n], f.first[h] = f.first[h], int32(n+1)
			}
		}
	}
	return f
}

func (f *finder) hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435761 >> 12 & f.mask
}

// span is a piece of a text.
type span struct{ from, to int }

// find returns the places of words in a text, in the order in which they begin. They
// may overlap.
func (f *finder) find(text []byte) (found []span) {
	if f == nil {
		return nil
	}
	for end := f.shortest; end <= len(text); {
		h := f.hash(text[end-3], text[end-2], text[end-1])
		if far := f.shift[h]; far > 0 {
			end += int(far)
			continue
		}
		from := end - f.shortest
		longest := 0
		for n := f.first[h]; n > 0; n = f.next[n-1] {
			if w := f.words[n-1]; len(w) > longest && len(w) <= len(text)-from && string(text[from:from+len(w)]) == w {
				longest = len(w)
			}
		}
		if longest > 0 {
			found = append(found, span{from, from + longest})
		}
		end++
	}
	return found
}
