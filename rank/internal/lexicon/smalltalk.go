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
	if end := strings.IndexAny(text, separators); end >= 0 {
		return text[:end]
	}
	return text
}

// separators stand between words.
const separators = " \x1f"

func separates(c byte) bool { return strings.IndexByte(separators, c) >= 0 }

// SmallTalk returns how many bytes of a text its longest phrase of small talk at the
// beginning takes; 0 when it begins with none. The text is in lower case; its words are
// separated by spaces and \x1f. Open says that the phrase may go on with what was said
// before: "sounds good".
func SmallTalk(text string) (length int, open bool) {
	if text == "" {
		return 0, false
	}
	for _, p := range phrases()[firstOf(text)] {
		if length = begins(text, p.text); length > 0 {
			return length, p.open
		}
	}
	return 0, false
}

// begins returns how many bytes of a text a phrase takes that it begins with, or 0.
func begins(text, phrase string) int {
	at := 0
	for i := range len(phrase) {
		before := at
		switch {
		case phrase[i] == ' ':
			for at < len(text) && separates(text[at]) {
				at++
			}
		case at < len(text) && text[at] == phrase[i]:
			at++
		}
		if at == before {
			return 0
		}
	}
	if at < len(text) && phrase[0] < utf8.RuneSelf && !separates(text[at]) {
		return 0
	}
	return at
}
