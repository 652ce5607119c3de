package selection

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/kljensen/snowball/english"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/lexicon"
)

// soft separates the parts of one word: read_file, readFile and read-file are
// all read+soft+file.
const soft = '\x1f'

// maxWord is the longest word that is looked at, in bytes. Longer ones are
// keys, hashes and encoded data, which no tool is described by.
const maxWord = 64

// fold writes text in the form that [words] reads: lower case, full-width
// letters narrowed, traditional characters simplified, word parts separated by soft, everything that is neither
// letter nor digit a space.
func fold(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	var before rune // what stood before, in the original
	for i, r := range text {
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			r -= 0xFEE0
		case r >= 0x4E00 && r <= 0x9FFF:
			r = lexicon.Simplified(r)
		}
		switch {
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsUpper(before) && lowerFollows(text[i:])) {
				b.WriteByte(soft)
			}
			b.WriteRune(unicode.ToLower(r))
		case r == '_' || r == '-' || r == '.':
			b.WriteByte(soft)
		case r == '\'' || r == '’':
			// "user's" is one word, whose stem loses the ending.
			b.WriteByte('\'')
		default:
			b.WriteByte(' ')
		}
		before = r
	}
	return b.String()
}

// lowerFollows reports whether the second letter of text is lower case: the P
// of HTTPServer does not begin a word, the S does.
func lowerFollows(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	next, _ := utf8.DecodeRuneInString(text[size:])
	return unicode.IsLower(next)
}

// words yields the words of folded text. Those of scripts with spaces come as
// they stand, with a second one for all parts together where a word has
// several. Runs of Chinese, Japanese and Korean characters come as characters
// and as pairs of neighbours. Yielded strings are parts of folded, but for the
// joined ones.
func words(folded string, yield func(word string, wide bool)) {
	for start := 0; start < len(folded); {
		r, size := utf8.DecodeRuneInString(folded[start:])
		switch {
		case r == ' ' || r == soft || r == '\'':
			start += size
		case chat.Wide(r):
			start = wideRun(folded, start, yield)
		default:
			start = narrowRun(folded, start, yield)
		}
	}
}

// wideRuns yields the runs of wide characters of folded text.
func wideRuns(folded string, yield func(run string)) {
	start := -1
	for i, r := range folded {
		switch wide := chat.Wide(r); {
		case wide && start < 0:
			start = i
		case !wide && start >= 0:
			yield(folded[start:i])
			start = -1
		}
	}
	if start >= 0 {
		yield(folded[start:])
	}
}

func wideRun(s string, start int, yield func(string, bool)) int {
	previous := -1
	for i := start; ; {
		r, size := utf8.DecodeRuneInString(s[i:])
		if i >= len(s) || !chat.Wide(r) {
			return i
		}
		yield(s[i:i+size], true)
		if previous >= 0 {
			yield(s[previous:i+size], true)
		}
		previous, i = i, i+size
	}
}

func narrowRun(s string, start int, yield func(string, bool)) int {
	end, part, parts := start, start, 0
	for end <= len(s) {
		r, size := utf8.DecodeRuneInString(s[end:])
		inside := end < len(s) && r != ' ' && !chat.Wide(r)
		if !inside || r == soft {
			if w := strings.Trim(s[part:end], "'"); w != "" {
				parts++
				if len(w) <= maxWord {
					yield(w, false)
				}
			}
			part = end + size
		}
		if !inside {
			break
		}
		end += size
	}
	if parts > 1 && end-start <= maxWord {
		yield(strings.ReplaceAll(strings.Trim(s[start:end], "'"), string(soft), ""), false)
	}
	return end
}

// stem reduces an English word to its stem by Porter's second algorithm
// (snowballstem.org). Words of other languages pass nearly unchanged.
func stem(word string) string {
	if len(word) < 3 {
		return word
	}
	return english.Stem(word, false)
}

// isStopWord reports whether a word says nothing about which tool is meant.
func isStopWord(word string) bool {
	if len(word) <= 2 && strings.Trim(word, "0123456789") == "" {
		return true // the 3 and the 5 of "March 3 to 5" are values
	}
	_, ok := stopWords[word]
	return ok
}

// isPolite reports whether a word is said for politeness, and asks for nothing.
func isPolite(word string) bool {
	_, ok := politeWords[word]
	return ok
}

// politeWords are those of greetings and thanks, with the stop words that stand
// beside them.
var politeWords = func() map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(`hi hello hey thanks thank thx bye you so much very a lot for the all your help that is was that's it it's good great there my i'm i me to
		你好 你 好 您好 您 谢谢 谢 多谢 多 感谢 再见 再 见 早 晚安 晚 安 嗨 了 啊 哦 呀 的 们 大 家 我`) {
		set[w] = struct{}{}
	}
	return set
}()

// greetings are those whose words mean something elsewhere.
var greetings = []string{
	"good morning", "good afternoon", "good evening", "good night", "nice day",
	"早上好", "上午好", "中午好", "下午好", "晚上好",
}

// withoutGreetings takes greetings out of a folded question.
func withoutGreetings(folded string) string {
	for _, g := range greetings {
		if strings.Contains(folded, g) {
			folded = strings.ReplaceAll(folded, g, " ")
		}
	}
	return folded
}

// stopWords are the words of questions that carry no topic. Tool texts are
// short, so that such words look rare and important in them.
var stopWords = func() map[string]struct{} {
	set := map[string]struct{}{}
	for _, list := range []string{englishWords, chineseWords} {
		for _, w := range strings.Fields(list) {
			set[w] = struct{}{}
		}
	}
	return set
}()

const englishWords = `
a about an and any are as at be been but by can can't could did do does doing don't for from get give
had has have hello help hey hi how how's i i'd i'll i'm i've if in into is it it's its just kindly
know let let's like made make may me might mine more my need needs now of off on one or our
out please pls show so some tell than thank thanks that that's the their them then there these they
this those to too up us use using via want wanted was we were what what's when where which who
whose why will with would yes you your s t d ll m re ve
am another been being else ever he her him his other others quite rather really she very yet yourself myself`

const chineseWords = `
的 了 吗 呢 吧 啊 呀 哦 嗯 我 你 您 他 她 它 们 我们 你们 他们 这 那 这个 那个 这些 那些 哪 哪个 哪些 什么 怎么 怎样
请 帮 帮我 请帮 麻烦 给 给我 把 被 让 是 在 有 没 没有 和 与 及 或 也 都 还 就 才 又 很 太 要 想 想要 我想 我要 需要
能 可以 能否 可否 会 应该 一 一个 一下 下 个 些 里 上 中 吧 嘛 之 其 此 该 为 以 对 从 到 由 于 向 跟 并 而 但 如 若
看 看看 看一 告诉 诉我 知道 现在 今 你好 好 谢谢 帮忙 我的 下我 有没 什 么 怎 哪里`

// searchTerms yields what a text is searched by: stems, and the characters and
// pairs of wide scripts. Addresses and stop words are left out.
func searchTerms(text string, yield func(name string)) {
	words(fold(withoutAddresses(head(text, maxQuery))), func(word string, wide bool) {
		switch {
		case isStopWord(word):
		case wide:
			yield(word)
		default:
			yield(stem(word))
		}
	})
}
