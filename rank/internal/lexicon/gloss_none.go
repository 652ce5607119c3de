//go:build etui_nogloss

package lexicon

const glossText, pinyinText = "", ""
