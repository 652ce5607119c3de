package rank

import (
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank/internal/lexicon"
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
	phrases, goesOn := 0, false
	for text := trimmed(folded); text != ""; text = trimmed(text) {
		length, open := lexicon.SmallTalk(text)
		if length > 0 {
			phrases++
			goesOn = goesOn || open
		} else if length = politeWord(text); length == 0 {
			return false
		}
		text = text[length:]
	}
	if phrases == 0 {
		return false // polite words alone are known without this
	}
	past, lean := dialogue(history, 0)
	return len(past) == 0 || lean < 1 && !goesOn
}

// trimmed returns a folded text from its first word on.
func trimmed(text string) string { return strings.TrimLeft(text, between) }

// between is what stands between the words of a folded text.
const between = " \x1f"

// politeWord returns the length of the polite word that a text begins with; 0 when it
// begins with another one.
func politeWord(text string) int {
	end := strings.IndexAny(text, between)
	if end < 0 {
		end = len(text)
	}
	if isPolite(text[:end]) {
		return end
	}
	if _, size := utf8.DecodeRuneInString(text); size > 1 && isPolite(text[:size]) {
		return size
	}
	return 0
}
