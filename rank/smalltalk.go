package rank

import (
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/lexicon"
)

// maxSmallTalk is how long a message of small talk is at most, in bytes.
const maxSmallTalk = 120

// isSmallTalk reports whether a folded message is made of phrases that ask for nothing,
// such as "nice to meet you" and "you made my day". An answer to the assistant is not
// small talk: "happy birthday" may be what the card should say. Phrases such as "sounds
// good" go on with the conversation, if there is one.
func isSmallTalk(folded string, history []chat.Message) bool {
	if len(folded) > maxSmallTalk {
		return false
	}
	text := strings.Join(strings.FieldsFunc(folded, func(r rune) bool { return r == ' ' || r == soft }), " ")
	phrases, goesOn := 0, false
	for text != "" {
		length, open := lexicon.SmallTalk(text)
		if length > 0 {
			phrases++
			goesOn = goesOn || open
		} else if length = politeWord(text); length == 0 {
			return false
		}
		text = strings.TrimPrefix(text[length:], " ")
	}
	if phrases == 0 {
		return false // polite words alone are known without this
	}
	past, lean := dialogue(history, 0)
	return len(past) == 0 || lean < 1 && !goesOn
}

// politeWord returns the length of the polite word that a text begins with; 0 when it
// begins with another one.
func politeWord(text string) int {
	word, _, _ := strings.Cut(text, " ")
	if isPolite(word) {
		return len(word)
	}
	if _, size := utf8.DecodeRuneInString(text); size > 1 && isPolite(text[:size]) {
		return size
	}
	return 0
}
