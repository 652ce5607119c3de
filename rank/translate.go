package rank

import (
	"strings"

	"github.com/etui-run/etui/internal/lexicon"
)

// translate yields the stems of the English words for a run of Chinese
// characters, each with its Chinese word. It cuts the run into words twice, from
// the front and from the back, and takes the longest word each time: where both
// agree the cut is right, elsewhere both are used.
func translate(run string, yield func(word, stem string)) {
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
		meaning(run[starts[i]:starts[i+n]], n, yield)
		i += n
	}
	for i := count; i > 0; {
		n := min(lexicon.MaxWord, i)
		for n > 1 && !known(run[starts[i-n]:starts[i]]) {
			n--
		}
		meaning(run[starts[i-n]:starts[i]], n, yield)
		i -= n
	}
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
