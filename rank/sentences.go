package rank

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// next are words that start another request within a sentence.
var next = [...]string{
	" then ", " finally ", " additionally ", " moreover ", " lastly ", " afterwards ", " after that ",
	"然后", "并且", "以及", "同时", "接着", "最后", "另外", "还有", "随后", "之后", "接下来",
	"此外", "顺便", "其次", "，并", "，再", "，也",
}

// sentence returns the first sentence of a text that is not blank, and the text
// after it. A word such as "then", which starts another request, also ends a
// sentence.
func sentence(text string) (first, rest string) {
	for first == "" && text != "" {
		end := 0
		for ended := false; end < len(text) && !ended; {
			r, size := utf8.DecodeRuneInString(text[end:])
			end += size
			ended = endsSentence(r, text[end:])
		}
		var after int
		first, after = request(text[:end])
		text = text[after:]
	}
	return first, text
}

// request returns the first request of a sentence that is not blank, and where the text
// after it begins. It looks for each word once, however many of them follow each other.
func request(sentence string) (first string, after int) {
	lower := lowerASCII(sentence)
	var places [len(next)]int // where the words are next, plus 1; 0 is unknown
	for first == "" && after < len(sentence) {
		begin, end, skip := after, len(sentence), 0
		for i, word := range next {
			if places[i] <= begin {
				places[i] = len(lower) + 1
				if at := strings.Index(lower[begin:], word); at >= 0 {
					places[i] = begin + at + 1
				}
			}
			if at := places[i] - 1; at+len(word) <= end {
				end, skip = at, len(word)
			}
		}
		first, after = strings.TrimSpace(sentence[begin:end]), end+skip
	}
	return first, after
}

// endsSentence reports whether a character that is followed by rest ends a
// sentence. The point in 3.5 does not.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '。', '；', '！', '？', '\n':
		return true
	case '.', ';', '!', '?':
		return rest == "" || rest[0] == ' ' || rest[0] == '\n'
	}
	return false
}

// lowerASCII lowers the ASCII letters of a text and keeps its length.
func lowerASCII(text string) string {
	if !slices.ContainsFunc([]byte(text), func(c byte) bool { return 'A' <= c && c <= 'Z' }) {
		return text
	}
	b := []byte(text)
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			b[i] = c + 'a' - 'A'
		}
	}
	return string(b)
}
