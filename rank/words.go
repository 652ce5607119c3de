package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank/internal/lexicon"
)

// soft separates the parts of one word: read_file, readFile and read-file are
// all read+soft+file.
const soft = '\x1f'

// maxWord is the longest word that is read, in bytes. Longer ones are keys, hashes
// and encoded data, which describe no tool.
const maxWord = 64

// fold writes text in the form that [words] reads: lower case, full-width letters
// narrowed, traditional characters simplified, word parts separated by soft, signs
// between numbers as words of their own, and a space for each other character that is
// neither letter nor digit.
func fold(text string) string {
	var b strings.Builder
	b.Grow(len(text) + len(text)/8)
	var before rune // the previous character of the original
	for i, r := range text {
		switch {
		case r >= 0xFF01 && r <= 0xFF5E:
			r -= 0xFEE0
		case r >= 0x4E00 && r <= 0x9FFF:
			r = lexicon.Simplify(r)
		}
		switch sign, ok := isSign(r); {
		case ok && betweenNumbers(text, i):
			b.WriteByte(' ')
			b.WriteByte(sign)
			b.WriteByte(' ')
		case unicode.IsLetter(r) || unicode.IsDigit(r):
			if unicode.IsUpper(r) && (unicode.IsLower(before) || unicode.IsUpper(before) && lowerFollows(text[i:])) {
				b.WriteByte(soft)
			}
			b.WriteRune(unicode.ToLower(r))
		case r == '_' || r == '-' || r == '.':
			b.WriteByte(soft)
		case r == '\'' || r == '’':
			// "user's" is one word; its stem loses the ending.
			b.WriteByte('\'')
		default:
			b.WriteByte(' ')
		}
		before = r
	}
	return b.String()
}

// isSign reports whether a character is a sign of arithmetic, and returns the usual form.
func isSign(r rune) (usual byte, ok bool) {
	switch r {
	case '+', '-', '*', '/', '^', '%':
		return byte(r), true
	case '−':
		return '-', true
	case '×':
		return '*', true
	case '÷':
		return '/', true
	}
	return 0, false
}

// betweenNumbers reports whether the sign at a place stands between numbers or brackets.
// Without spaces, - and / do not: they are parts of dates, ranges and names.
func betweenNumbers(text string, at int) bool {
	_, size := utf8.DecodeRuneInString(text[at:])
	before, after := text[:at], text[at+size:]
	if (text[at] == '-' || text[at] == '/') && (!strings.HasSuffix(before, " ") || !strings.HasPrefix(after, " ")) {
		return false
	}
	before, after = strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
	return before != "" && after != "" && strings.IndexByte("0123456789)", before[len(before)-1]) >= 0 &&
		strings.IndexByte("0123456789(.", after[0]) >= 0
}

// lowerFollows reports whether the second letter of text is lower case: the P
// of HTTPServer does not begin a word, the S does.
func lowerFollows(text string) bool {
	_, size := utf8.DecodeRuneInString(text)
	next, _ := utf8.DecodeRuneInString(text[size:])
	return unicode.IsLower(next)
}

// words yields the words of folded text. A word of several parts is yielded part
// by part and then as a whole. Chinese, Japanese and Korean text is yielded as
// characters and as pairs of neighbours. Yielded strings share the memory of
// folded, except words of several parts.
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

func stem(word string) string { return lexicon.Stem(word) }

// searchTerms yields the terms of a text: stems, and the characters and pairs of
// wide scripts, without addresses and stop words.
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

// NameParts splits a name: createIssue, create_issue and "create issue" have the
// same parts.
func NameParts(name string) []string {
	return strings.FieldsFunc(fold(name), func(r rune) bool { return r == soft || r == ' ' || r == '\'' })
}

func isStopWord(word string) bool { return lexicon.Stop(word) }

func isPolite(word string) bool { return lexicon.Polite(word) }
