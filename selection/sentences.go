package selection

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"
)

// next are words that begin another request within a sentence.
var next = []string{
	" then ", " finally ", " additionally ", " moreover ", " lastly ", " afterwards ", " after that ",
	"然后", "并且", "以及", "同时", "接着", "最后", "另外", "还有",
}

// sentences yields the sentences of a text, cut also at words such as "then"
// that begin another request.
func sentences(text string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start := 0
		for at := 0; at < len(text); {
			r, size := utf8.DecodeRuneInString(text[at:])
			at += size
			if endsSentence(r, text[at:]) {
				if !requests(text[start:at], yield) {
					return
				}
				start = at
			}
		}
		requests(text[start:], yield)
	}
}

// endsSentence reports whether a character ends a sentence, before rest. The
// point in 3.5 does not.
func endsSentence(r rune, rest string) bool {
	switch r {
	case '。', '；', '！', '？', '\n':
		return true
	case '.', ';', '!', '?':
		return rest == "" || rest[0] == ' ' || rest[0] == '\n'
	}
	return false
}

// requests yields the parts of a sentence that are not blank.
func requests(sentence string, yield func(string) bool) bool {
	lower := lowerASCII(sentence)
	for sentence != "" {
		at, size := len(sentence), 0
		for _, word := range next {
			if i := strings.Index(lower, word); i >= 0 && i < at {
				at, size = i, len(word)
			}
		}
		if strings.TrimSpace(sentence[:at]) != "" && !yield(sentence[:at]) {
			return false
		}
		sentence, lower = sentence[at+size:], lower[at+size:]
	}
	return true
}

// lowerASCII lowers the ASCII letters of a text, so that its length stays.
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
