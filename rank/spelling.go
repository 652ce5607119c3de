package rank

const (
	// shortestGuess is how long a word must be, in bytes, to be taken for a misspelt
	// one; one slip turns a shorter word into many others.
	shortestGuess = 5
	// maxGuesses is how many words of a question are taken for misspelt ones at
	// most, and maxMeant how many words each may stand for.
	maxGuesses, maxMeant = 8, 3
	// meant is the weight of a word that a misspelt one may stand for.
	meant = 0.7
)

// spelling is what a word and its misspelt form have in common, except that the
// length may differ by one.
type spelling struct {
	first  byte
	length int
}

// guess adds the words that differ from an unknown one by a slip: one letter is
// wrong, missing or too many, or two letters are swapped.
func (p *parser) guess(word string, weight float32) {
	if len(word) < shortestGuess || p.guesses == maxGuesses {
		return
	}
	p.guesses++
	found := 0
	for length := len(word) - 1; length <= len(word)+1; length++ {
		for _, known := range p.index.spelled[spelling{word[0], length}] {
			if found < maxMeant && slip(word, known) {
				p.add(queryTerm{term: p.index.surfaces[known], weight: weight * meant, from: word})
				found++
			}
		}
	}
}

// slip reports whether two different words differ by one slip.
func slip(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	i := 0
	for i < len(a) && a[i] == b[i] {
		i++
	}
	switch {
	case len(b) > len(a)+1:
		return false
	case len(b) > len(a):
		return a[i:] == b[i+1:]
	case a[i+1:] == b[i+1:]:
		return true
	}
	return len(a) > i+1 && a[i] == b[i+1] && a[i+1] == b[i] && a[i+2:] == b[i+2:]
}
