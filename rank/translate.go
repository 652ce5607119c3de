package rank

import (
	"strings"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// cut is a word of a run of Chinese characters.
type cut struct {
	word   string
	length int // in characters
	start  int // in characters of the run
}

// cuts yields the words of a run of Chinese characters. It cuts the run twice, from
// the front and from the back, and takes the longest word each time: where both
// agree the cut is right, elsewhere both are used.
func cuts(run string, yield func(cut)) {
	starts := make([]int, 0, 64) // of the characters, and the end
	for i := range run {
		starts = append(starts, i)
	}
	count := len(starts)
	starts = append(starts, len(run))
	for i := 0; i < count; {
		n := min(lexicon.MaxWord, count-i)
		for n > 1 && !known(run[starts[i]:starts[i+n]]) {
			n--
		}
		yield(cut{run[starts[i]:starts[i+n]], n, i})
		i += n
	}
	for i := count; i > 0; {
		n := min(lexicon.MaxWord, i)
		for n > 1 && !known(run[starts[i-n]:starts[i]]) {
			n--
		}
		yield(cut{run[starts[i-n]:starts[i]], n, i - n})
		i -= n
	}
}

// translate yields the stems of the English words for a run of Chinese
// characters, each with its Chinese word.
func translate(run string, yield func(word, stem string)) {
	cuts(run, func(c cut) { meaning(c.word, c.length, yield) })
}

// known reports whether the dictionary has a Chinese word.
func known(word string) bool {
	_, ok := lexicon.English(word)
	return ok
}

// meaning yields the stems of the English words for a Chinese word; for a single
// character only the two most usual ones.
func meaning(word string, length int, yield func(word, stem string)) {
	if isStopWord(word) {
		return
	}
	stems, _ := lexicon.English(word)
	taken := 0
	for s := range strings.FieldsSeq(stems) {
		if taken++; length == 1 && taken > 2 {
			return
		}
		yield(word, s)
	}
}
