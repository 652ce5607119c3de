//go:build !etui_nogloss

package lexicon

import _ "embed" // glossText, pinyinText

//go:embed gloss.txt
var glossText string

//go:embed pinyin.txt
var pinyinText string
