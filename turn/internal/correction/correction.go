// Package correction knows the words, in English and Chinese, with which people say that another tool
// was meant.
package correction

import (
	"slices"
	"strings"
	"unicode"

	"github.com/etui-run/etui/chat"
)

// How a person says that another tool was meant. Each phrase begins a message.
var (
	// plainly cannot be an answer to a question of the model.
	plainly = []string{
		"i meant", "i mean ", "sorry, i meant", "wrong", "not that", "not this", "that's not", "that is not", "that was not", "that was the wrong", "that's the wrong", "no, i meant", "no i meant", "no, not", "no not",
		"不是这个", "不是那个", "不对", "错了", "搞错", "弄错", "我是说", "我说的是", "我要的是", "我指的是", "不要这个", "别用这个",
	}
	// denying can, and then corrects nothing.
	denying = []string{"no,", "no.", "no -", "no –", "no —", "no the ", "no that ", "no use ", "nope", "不，", "不,", "不是"}
	// polite begins like a correction and is none, after its first word.
	polite = []string{"thank", "problem", "worr", "need", "that's all", "that's it", "that's fine", "that is all", "谢", "用了"}
)

// maxCorrection is how long a correction is at most, in words or Chinese characters:
// longer messages are requests of their own.
const maxCorrection = 20

// Reads reports whether a message reads like a correction of the last turn. Asked says that the turn
// ended with a question of the model.
func Reads(text string, asked bool) bool {
	text = strings.ToLower(strings.TrimSpace(strings.ReplaceAll(text, "’", "'")))
	if length(text) > maxCorrection {
		return false
	}
	begins := func(phrase string) bool { return strings.HasPrefix(text, phrase) }
	if slices.ContainsFunc(plainly, begins) {
		return true
	}
	i := slices.IndexFunc(denying, begins)
	if i < 0 || asked {
		return false
	}
	rest := strings.TrimLeftFunc(strings.TrimPrefix(text, denying[i]), func(r rune) bool { return !unicode.IsLetter(r) })
	return rest != "" && !slices.ContainsFunc(polite, func(p string) bool { return strings.HasPrefix(rest, p) })
}

// length counts the words of a text; each character of a wide script is one.
func length(text string) (n int) {
	inside := false
	for _, r := range text {
		letter := unicode.IsLetter(r) || unicode.IsDigit(r)
		if letter && (!inside || chat.Wide(r)) {
			n++
		}
		inside = letter
	}
	return n
}
