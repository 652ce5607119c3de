package rank

import (
	"strings"
	"unicode"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// names are those in a question, each between spaces and in lower case: of places, languages and
// products. Where tools mention one only as an example of a value, it is no topic: "translate for
// Paris" does not ask for the weather because a parameter says "such as Paris". Such a name counts
// for tools that another word finds.
type names struct {
	all string
	// parts are names that no tool has and that are written like PowerPoint, with their parts, which
	// are words by accident.
	parts string
}

// namesIn finds the names that are written with capitals.
func (x *Index) namesIn(text string) (found names) {
	if strings.IndexFunc(text, unicode.IsUpper) < 0 {
		return names{}
	}
	said, capitals, begins := 0, 0, true
	for word := range strings.FieldsSeq(head(text, maxTimed)) {
		word = strings.TrimSuffix(strings.TrimSuffix(word, "'s"), "’s")
		bare := strings.TrimFunc(word, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		said++
		if len(found.parts) < maxParts && joins(bare) {
			lower := strings.ToLower(bare)
			if _, known := x.surfaces[lower]; !known {
				found.parts += " " + lower + "  " + strings.ReplaceAll(fold(bare), string(soft), "  ") + " "
			}
		}
		if upper := strings.IndexFunc(bare, unicode.IsUpper) == 0; upper && !begins && capitals < maxNames {
			capitals++
			found.all += " " + strings.ToLower(bare) + " "
		}
		begins = strings.ContainsAny(word[max(len(word)-1, 0):], ".!?:")
	}
	if said > 3 && 2*capitals >= said || capitals == maxNames {
		found.all = "" // A Title Says Nothing By Its Capitals
	}
	return found
}

// maxNames and maxParts are how many names of a question, and bytes of their parts, are told apart.
const maxNames, maxParts = 16, 512

// joins reports whether a word of letters has a capital behind a small letter.
func joins(word string) bool {
	small, found := false, false
	for _, r := range word {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			return false
		}
		found = found || small && unicode.IsUpper(r)
		small = unicode.IsLower(r)
	}
	return found && small // pointA is no name
}

// has reports whether a word is a name.
func (n *names) has(word string) bool {
	if _, ok := places[word]; ok {
		return true
	}
	if n.all == "" || !strings.Contains(n.all, " "+word+" ") {
		return false
	}
	known, ok := lexicon.Lookup(stem(word))
	return !ok || known.Common == 0
}

// isPart reports whether a word is only a part of a name, or a name that no tool has.
func (n *names) isPart(word string) bool {
	return n.parts != "" && strings.Contains(n.parts, " "+word+" ")
}

// places are names of languages, countries and cities that people write without capitals, too.
var places = set(`english french german spanish italian portuguese russian chinese mandarin cantonese japanese korean arabic hindi turkish dutch polish swedish greek hebrew thai
	vietnamese indonesian latin
	china japan korea india france germany spain italy portugal russia turkey poland sweden norway denmark finland greece switzerland austria belgium netherlands ireland
	england britain scotland uk usa america canada mexico brazil argentina chile peru egypt israel singapore malaysia thailand vietnam indonesia australia
	paris london berlin munich hamburg frankfurt cologne vienna zurich geneva rome milan venice florence naples madrid barcelona lisbon amsterdam brussels dublin
	prague budapest warsaw stockholm oslo copenhagen helsinki athens istanbul moscow dubai cairo jerusalem delhi mumbai bangkok tokyo osaka kyoto seoul beijing
	shanghai shenzhen guangzhou hangzhou chengdu nanjing wuhan taipei hongkong sydney melbourne toronto vancouver montreal chicago boston seattle houston dallas
	denver miami atlanta philadelphia
	英语 英文 法语 法文 德语 德文 西班牙语 西班牙文 意大利语 葡萄牙语 俄语 俄文 中文 汉语 日语 日文 韩语 韩文 阿拉伯语
	中国 日本 韩国 印度 法国 德国 西班牙 意大利 葡萄牙 俄罗斯 土耳其 波兰 瑞典 挪威 丹麦 芬兰 希腊 瑞士 奥地利 比利时 荷兰 爱尔兰 英国 美国 加拿大 墨西哥 巴西
	埃及 以色列 新加坡 马来西亚 泰国 越南 澳大利亚 澳洲 巴黎 伦敦 柏林 慕尼黑 汉堡 法兰克福 维也纳 苏黎世 日内瓦 罗马 米兰 威尼斯 马德里 巴塞罗那 里斯本 阿姆斯特丹
	布鲁塞尔 都柏林 布拉格 莫斯科 迪拜 曼谷 东京 大阪 京都 首尔 北京 上海 天津 重庆 深圳 广州 杭州 成都 南京 武汉 西安 苏州 厦门 青岛 香港 台北 悉尼 墨尔本 多伦多
	温哥华 纽约 洛杉矶 旧金山 芝加哥 波士顿 西雅图`)

func set(words string) map[string]struct{} {
	set := map[string]struct{}{}
	for w := range strings.FieldsSeq(words) {
		set[w] = struct{}{}
	}
	return set
}
