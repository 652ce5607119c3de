package lexicon

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

//go:embed smalltalk.txt
var smallTalkText string

// phrase is a phrase of small talk.
type phrase struct {
	text string
	open bool
}

// phrases are by their first word, or their first Chinese character, the longest first.
var phrases = sync.OnceValue(func() map[string][]phrase {
	list := map[string][]phrase{}
	open := false
	for line := range strings.Lines(smallTalkText) {
		switch line = strings.TrimSpace(line); {
		case line == "= open":
			open = true
		case line != "" && line[0] != '#':
			first := firstOf(line)
			list[first] = append(list[first], phrase{line, open})
		}
	}
	for _, l := range list {
		slices.SortFunc(l, func(a, b phrase) int { return len(b.text) - len(a.text) })
	}
	return list
})

// firstOf returns the first word of a text, or its first character if words are written
// without spaces.
func firstOf(text string) string {
	if text[0] >= utf8.RuneSelf {
		_, size := utf8.DecodeRuneInString(text)
		return text[:size]
	}
	word, _, _ := strings.Cut(text, " ")
	return word
}

// SmallTalk returns the length of the longest phrase of small talk that a text begins
// with; 0 when there is none. The text is in lower case, with single spaces and without
// punctuation. Open says that the phrase may go on with what was said before: "sounds
// good".
func SmallTalk(text string) (length int, open bool) {
	if text == "" {
		return 0, false
	}
	for _, p := range phrases()[firstOf(text)] {
		rest, ok := strings.CutPrefix(text, p.text)
		if ok && (rest == "" || rest[0] == ' ' || p.text[0] >= utf8.RuneSelf) {
			return len(p.text), p.open
		}
	}
	return 0, false
}
