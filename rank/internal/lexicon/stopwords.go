package lexicon

import "strings"

// Stop reports whether a word says nothing about which tool a question needs.
func Stop(word string) bool {
	if len(word) <= 2 && strings.Trim(word, "0123456789") == "" {
		return true // the 3 and the 5 of "March 3 to 5" are values
	}
	_, ok := stopWords[word]
	return ok
}

// Polite reports whether a word is only polite and asks for nothing.
func Polite(word string) bool {
	_, ok := politeWords[word]
	return ok
}

// politeWords are the words of greetings and thanks, and the stop words that go
// with them.
var politeWords = func() map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(`hi hello hey thanks thank thx bye you so much very a lot for the all your help that is was that's it it's good great there my i'm i me to
		你好 你 好 您好 您 谢谢 谢 多谢 多 感谢 再见 再 见 早 晚安 晚 安 嗨 了 啊 哦 呀 的 们 大 家 我
		帮助 帮 助 没事 没 事 哈 哈哈 无聊 无 聊 辛苦 辛 苦 拜拜 拜 太 真 棒 没关系`) {
		set[w] = struct{}{}
	}
	return set
}()

// greetings are greetings, and questions about etui itself, made of words that mean something elsewhere.
var greetings = []string{
	"good morning", "good afternoon", "good evening", "good night", "nice day",
	"早上好", "上午好", "中午好", "下午好", "晚上好",
	"能做什么", "能做些什么", "会做什么", "会做些什么", "可以做什么", "可以做些什么", "能干什么", "能干嘛",
	"能帮我做什么", "能帮我什么", "你会什么", "您会什么",
	"有什么功能", "有哪些功能", "你是谁", "您是谁", "怎么使用你", "怎么用你",
}

// WithoutGreetings removes greetings from a folded question.
func WithoutGreetings(folded string) string {
	for _, g := range greetings {
		if strings.Contains(folded, g) {
			folded = strings.ReplaceAll(folded, g, " ")
		}
	}
	return folded
}

// stopWords are words without a topic. The texts of tools are short, so such words
// would look rare and important in them.
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
know let let's like made make may me might mine more my need needs now of on one or our
please pls show so some tell than thank thanks that that's the their them then there these they
this those to too up us use using via want wanted was we were what what's when where which who
whose why will with would yes you your s t d ll m re ve
am another been being else ever he her him his other others quite rather really she very yet yourself myself`

const chineseWords = `
的 了 吗 呢 吧 啊 呀 哦 嗯 我 你 您 他 她 它 们 我们 你们 他们 这 那 这个 那个 这些 那些 哪 哪个 哪些 什么 怎么 怎样
请 帮 帮我 请帮 麻烦 给 给我 把 被 让 是 在 有 没 没有 和 与 及 或 也 都 还 就 才 又 很 太 要 想 想要 我想 我要 需要
能 可以 能否 可否 会 应该 一 一个 一下 下 个 些 里 上 中 吧 嘛 之 其 此 该 为 以 对 从 到 由 于 向 跟 并 而 但 如 若
看 看看 看一 告诉 诉我 知道 现在 今 你好 好 谢谢 帮忙 我的 下我 有没 什 么 怎 哪里`
