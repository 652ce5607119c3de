package chat

import "unicode/utf8"

// Tokens estimates how many tokens a language model counts for text: one for each
// Chinese, Japanese or Korean character, and one for every four bytes of anything else,
// rounded up. The estimate uses no model's vocabulary, and is within about 15 % for
// English prose and JSON.
func Tokens[T ~string | ~[]byte](text T) int {
	wide, rest := 0, 0
	for i := 0; i < len(text); {
		if text[i] < utf8.RuneSelf {
			rest++
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(string(text[i:min(i+utf8.UTFMax, len(text))]))
		if Wide(r) {
			wide++
		} else {
			rest += size
		}
		i += size
	}
	return wide + (rest+3)/4
}

// Wide reports whether r is a character of a script that is written without
// spaces between words: Chinese characters, kana and hangul.
func Wide(r rune) bool {
	return r >= 0x2E80 && (r <= 0x9FFF && r != 0x3000 && (r < 0x3001 || r > 0x303F) ||
		r >= 0xAC00 && r <= 0xD7AF || r >= 0xF900 && r <= 0xFAFF || r >= 0x20000 && r <= 0x3FFFF)
}
