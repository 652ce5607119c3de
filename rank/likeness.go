package rank

import "math"

// Likeness by letters: a question and a definition are alike when their words have the
// same sequences of four bytes, so that "log in" is like login and "reservations" like
// reserve. It adds to the score by words and never replaces it.
const (
	// gramSize is how many bytes a gram has. Words are read with a mark at each end.
	gramSize = 4
	// likeness is what the definition that is most alike gains, as a share of the
	// question's best score, if it is at least alikeEnough by the cosine.
	likeness, alikeEnough = 0.4, 0.45
	// ownShare scales how much less likeness counts when the conversation before found
	// what the question's own words do not.
	ownShare = 1.3
	// strangers is the likeness, as a share of the best, from which on a definition gains
	// that no word finds.
	strangers = 0.5
	// widePart is how much a wide character, or a pair, counts beside a word when the share
	// of narrow words is taken.
	widePart = 0.35
	// maxLike is how much of a description is read, in bytes.
	maxLike = 500
	// maxGrams is how many grams of a question are compared.
	maxGrams = 256
)

// gram is four bytes of a word.
type gram uint32

// wordGrams yields the grams of a word with a mark at each end: ^log, log$.
func wordGrams(word string, yield func(gram)) {
	g := gram('^')
	for i := range len(word) {
		g = g<<8 | gram(word[i])
		if i >= gramSize-2 {
			yield(g)
		}
	}
	if g = g<<8 | '$'; len(word) >= gramSize-2 {
		yield(g)
	}
}

// gramWeight is how often the words of a field count for likeness; 0 leaves the field out.
func gramWeight(f field) uint8 {
	switch f {
	case fieldName:
		return 2
	case fieldDescription, fieldAlias, fieldEnrichedAlias:
		return 1
	}
	return 0
}

// likenesses is the part of an index that knows the grams.
type likenesses struct {
	grams    map[gram]int32
	rarity   []float32 // by number
	postings []posting // as in the index
	start    []int32
	absent   float32 // the rarity of a gram that no definition has
}

// newLikenesses numbers the grams of documents and weighs them.
func newLikenesses(v *vocabulary, documents []*document) *likenesses {
	l := &likenesses{absent: float32(math.Log(1 + float64(len(documents))))}
	count := make([]int32, len(v.gramNames))
	total := 0
	for _, d := range documents {
		for _, g := range d.grams {
			count[g]++
		}
		total += len(d.grams)
	}
	numbers := make([]int32, len(count))
	l.grams = make(map[gram]int32, len(count))
	l.start = append(make([]int32, 0, len(count)+1), 0)
	for g, n := range count {
		if n > 0 {
			numbers[g] = int32(len(l.rarity))
			l.grams[v.gramNames[g]] = numbers[g]
			l.rarity = append(l.rarity, float32(math.Log(1+float64(len(documents))/float64(n))))
			l.start = append(l.start, l.start[len(l.start)-1]+n)
		}
	}
	l.postings = make([]posting, total)
	next := append([]int32(nil), l.start...)
	for i, d := range documents {
		var length float32
		for k, g := range d.grams {
			w := repetition(d.gramCounts[k]) * l.rarity[numbers[g]]
			length += w * w
		}
		scale := 1 / max(float32(math.Sqrt(float64(length))), 1e-9)
		for k, g := range d.grams {
			n := numbers[g]
			l.postings[next[n]] = posting{int32(i), repetition(d.gramCounts[k]) * l.rarity[n] * scale}
			next[n]++
		}
	}
	return l
}

// repetitions are 1 + ln n by n.
var repetitions = func() (list [256]float32) {
	for n := 1; n < len(list); n++ {
		list[n] = float32(1 + math.Log(float64(n)))
	}
	return list
}()

func repetition(n uint8) float32 { return repetitions[n] }

// gramCount is a gram of a question.
type gramCount struct {
	number int32
	count  uint8
}

// readGrams counts the grams of a narrow word of a question. Those that no definition has
// are absent.
func (p *parser) readGrams(word string) { wordGrams(word, p.countGram) }

func (p *parser) countGram(g gram) {
	n, ok := p.index.likenesses.grams[g]
	switch {
	case !ok:
		p.absent++
	case p.gramSlots[n] > 0:
		if c := &p.gramList[p.gramSlots[n]-1]; c.count < math.MaxUint8 {
			c.count++
		}
	case len(p.gramList) < maxGrams:
		p.gramList = append(p.gramList, gramCount{n, 1})
		p.gramSlots[n] = int32(len(p.gramList))
	}
}

// emptyGrams clears the grams of a question.
func (s *scratch) emptyGrams() {
	for _, g := range s.gramList {
		s.gramSlots[g.number] = 0
	}
	s.gramList, s.absent = s.gramList[:0], 0
}

// scoreLikeness adds what likeness by letters says. Own is the best score by the
// question's own words.
func (x *Index) scoreLikeness(narrow, own float32, admitted []bool, scores []float32, s *scratch) {
	l, best := x.likenesses, highest(scores, admitted)
	if len(s.gramList) == 0 || best == 0 || own == 0 {
		return
	}
	clear(s.total)
	length := float32(s.absent) * l.absent * l.absent
	for _, g := range s.gramList {
		w := repetition(g.count) * l.rarity[g.number]
		length += w * w
		for _, p := range l.postings[l.start[g.number]:l.start[g.number+1]] {
			s.total[p.doc] += w * p.impact
		}
	}
	most := highest(s.total, admitted)
	if most == 0 {
		return
	}
	cosine := most / float32(math.Sqrt(float64(length)))
	gain := likeness * narrow * min(1, ownShare*own/best) * min(1, cosine/alikeEnough) * best / most
	for i, alike := range s.total {
		if scores[i] > 0 || alike >= strangers*most {
			scores[i] += gain * min(alike, most)
		}
	}
}
