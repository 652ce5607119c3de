package rank

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// next are words that start another request within a sentence.
var next = []string{
	" then ", " finally ", " additionally ", " moreover ", " lastly ", " afterwards ", " after that ",
	"然后", "并且", "以及", "同时", "接着", "最后", "另外", "还有", "随后", "之后", "接下来",
	"此外", "顺便", "其次", "，并", "，再", "，也",
}

// sentence returns the first sentence of a text that is not blank, and the text
// after it. A word such as "then", which starts another request, also ends a
// sentence.
func sentence(text string) (first, rest string) {
	for first == "" && text != "" {
		end, skip := len(text), 0
		for at := 0; at < end; {
			r, size := utf8.DecodeRuneInString(text[at:])
			at += size
			if endsSentence(r, text[at:]) {
				end = at
			}
		}
		lower := lowerASCII(text[:end])
		for _, word := range next {
			if i := strings.Index(lower, word); i >= 0 {
				end, skip = i, len(word)
				lower = lower[:i]
			}
		}
		first, text = strings.TrimSpace(text[:end]), text[end+skip:]
	}
	return first, text
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
