package divide

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// longLine is how many bytes a line has that may hold material beside the request.
const longLine = 200

// maxContext is how many bytes a message has that Requests divides.
const maxContext = 800

// How a line is cut into a request and material that stand in it together.
const (
	wideFrom  = 0x2E80 // the first character of Chinese, Japanese and Korean
	maxClause = 10     // words before a comma after which a request begins
	maxWish   = 64     // words that are read of a sentence
	fewCodes  = 3      // words with signs in a stretch that is no prose
	gap       = 5      // words between two of them
)

// pieces cuts a long line into its sentences, texts in quotation marks, and stretches of words that
// are no prose. A colon ends a sentence where much follows.
func (l *line) pieces() (pieces []line) {
	text := l.text
	add := func(part string, coded bool) {
		if part = strings.TrimSpace(part); part == "" {
			return
		}
		p := line{text: part, fenced: coded}
		p.read()
		pieces = append(pieces, p)
	}
	for text != "" {
		begin, end := codedIn(text)
		sentences(text[:begin], func(part string) { add(part, false) })
		if end > begin {
			end += untilRequest(text[end:])
		}
		add(text[begin:end], true)
		text = text[end:]
	}
	if len(pieces) > 0 {
		pieces[0].before, pieces[len(pieces)-1].after = true, true
	}
	return pieces
}

// codedIn returns where the first stretch of a text begins and ends that is no prose, both the length of the
// text when there is none.
func codedIn(text string) (begin, end int) {
	codes, since, at := 0, 0, 0
	for at < len(text) {
		size := wordLen(text[at:])
		if isCode(text[at : at+size]) {
			if codes == 0 {
				begin = at
			}
			codes, since, end = codes+1, 0, at+size
		} else if since++; codes > 0 && since > gap {
			if codes >= fewCodes && end-begin >= fewBytes/2 {
				return begin, end
			}
			codes = 0
		}
		at += size
	}
	if codes >= fewCodes && end-begin >= fewBytes/2 {
		return begin, end
	}
	return len(text), len(text)
}

// untilRequest returns where a request begins within the first words behind a stretch that is no
// prose: a word with a capital with which requests begin. It is 0 where there is none.
func untilRequest(text string) int {
	for at, n := 0, 0; at < len(text) && n <= 2*gap; n++ {
		size := wordLen(text[at:])
		word := strings.TrimSpace(text[at : at+size])
		if _, ok := requestWords[strings.ToLower(word)]; ok && word[0] <= 'Z' {
			return at
		}
		if strings.ContainsAny(word, ".?!。？！") {
			break
		}
		at += size
	}
	return 0
}

// wordLen returns the length of the first word of a text and the spaces behind it. A wide character
// is a word.
func wordLen(text string) int {
	for i, r := range text {
		if unicode.IsSpace(r) {
			rest := strings.TrimLeftFunc(text[i:], unicode.IsSpace)
			return len(text) - len(rest)
		}
		if r >= wideFrom {
			if i == 0 {
				_, i = utf8.DecodeRuneInString(text)
			}
			return i
		}
	}
	return len(text)
}

// isCode reports whether a word is written as people write no words.
func isCode(word string) bool {
	word = strings.TrimLeft(strings.TrimSpace(word), "$")
	if coding(word) || strings.Contains(word, `":`) {
		return true
	}
	bare := strings.Trim(word, `.,;:!?"'()`)
	digits, upper, lower := 0, 0, 0
	for _, r := range bare {
		switch {
		case unicode.IsDigit(r):
			digits++
		case unicode.IsUpper(r):
			upper++
		case unicode.IsLetter(r):
			lower++
		}
	}
	return digits > 2 && (upper > 0 || lower > 0) || upper > 3 && lower == 0
}

// sentences yields the sentences of a text. A colon ends one where much follows, and so does a
// quotation mark that opens a long text.
func sentences(text string, yield func(sentence string)) {
	begin, closing, next := 0, -1, 0 // next is where a quotation mark follows
	for i, size := 0, 0; i < len(text); i += size {
		var r rune
		r, size = utf8.DecodeRuneInString(text[i:])
		end := i + size
		rest := text[end:]
		ends := false
		switch r {
		case '。', '！', '？', '；', '\n':
			ends = true
		case '.', '!', '?', ';':
			ends = rest == "" || rest[0] == ' '
		case ':', '：':
			ends = len(rest) >= longLine/2 && (r != ':' || rest[0] == ' ')
		case '"', '“', '«', '「', '”', '»', '」':
			if next <= i && next >= 0 {
				if next = strings.IndexAny(rest, "\"”»」"); next >= 0 {
					next += end
				}
			}
			length := next - end
			switch {
			case i < closing:
			case i == closing:
				ends = true
			case length >= longLine/2:
				end, ends, closing = i, true, end+length
			case length >= 0: // of a name
				closing = end + length + 1
			}
		}
		if ends && end > begin {
			yield(text[begin:end])
			begin = end
		}
	}
	yield(text[begin:])
}

// Requests divides a short message into the sentences that ask for something and those around them
// that ask for nothing. Context is empty when all do, or none, or where a request refers to the others.
func Requests(text string) (requests, context string) {
	if len(text) > maxContext {
		return text, ""
	}
	var asked, said []string
	sentences(text, func(s string) {
		s = strings.TrimSpace(s)
		switch alone := asked == nil && said == nil && len(s) == len(text); {
		case alone || s == "": // most messages are one sentence
		case states(s) && !wish(s):
			said = append(said, s)
		default:
			asked = append(asked, s)
		}
	})
	if said == nil || asked == nil || slices.ContainsFunc(asked, refers) {
		return text, ""
	}
	return strings.Join(asked, "\n"), strings.Join(said, "\n")
}

// refers reports whether a request refers to the sentences around it.
func refers(request string) bool {
	words := strings.FieldsFunc(strings.ToLower(request), func(r rune) bool { return !unicode.IsLetter(r) })
	for i, word := range words {
		if _, ok := references[word]; ok && !isExpletive(words, i) {
			return true
		}
	}
	return strings.ContainsAny(request, "这那它其此")
}

// isExpletive reports whether an "it" or "there" stands for nothing: "will it rain", "what day is it",
// "is there a train".
func isExpletive(words []string, i int) bool {
	in := func(i int, list string) bool {
		return i >= 0 && i < len(words) && slices.Contains(strings.Fields(list), words[i])
	}
	switch words[i] {
	case "it":
		return in(i-1, "is") && in(i-2, "time day date month year") ||
			slices.ContainsFunc(words[i:min(i+5, len(words))], func(word string) bool {
				_, ok := weather[word]
				return ok
			})
	case "there":
		const be = "is are was were be"
		return in(i-1, be) || in(i+1, be)
	}
	return false
}

// references are words that stand for something that was said.
var references = set(`this that it its these those them their they he his him she her such same there`)

// weather are words that say of "it" how the weather is.
var weather = set(`rain rains raining rainy snow snows snowing snowy hail hailing drizzle drizzling pouring stormy thunder freezing
	sunny windy cloudy foggy`)

// states reports whether a sentence begins as statements do: with a pronoun or an article.
func states(sentence string) bool {
	first, _, _ := strings.Cut(sentence, " ")
	if _, ok := subjects[strings.ToLower(strings.Trim(first, `,"'`))]; ok {
		return true
	}
	for _, s := range hanSubjects {
		if strings.HasPrefix(sentence, s) {
			return true
		}
	}
	return false
}

// asksInLine returns how much a piece of a line reads like a request, as asks does for a line.
func asksInLine(text string, first bool) (score float64) {
	if wish(text) {
		score = 2
	}
	if first && (strings.HasSuffix(text, ":") || strings.HasSuffix(text, "：")) {
		score++
	}
	return score
}

// wish reports whether a sentence asks for something clearly: it is a question, tells somebody to do
// something, or says what somebody wants.
func wish(sentence string) bool {
	sentence = strings.TrimSpace(sentence)
	text := strings.TrimRight(sentence, ` "'”’)）`)
	if strings.HasSuffix(text, "?") || strings.HasSuffix(text, "？") {
		return true
	}
	wide := 0
	for _, r := range text {
		if unicode.Is(unicode.Han, r) {
			wide += 3
		}
	}
	if 2*wide > len(text) {
		for _, w := range wishes {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	said, first, self, clause := 0, false, -1, false
	n := 0
	for word := range strings.FieldsSeq(text) {
		bare := strings.ToLower(strings.TrimFunc(word,
			func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) }))
		if bare == "" {
			continue
		}
		if n++; n > maxWish {
			break
		}
		if bare == "please" || bare == "kindly" {
			return true
		}
		if _, ok := wanting[bare]; ok && self >= 0 && n-self <= 4 {
			return true
		}
		if _, ok := othersWant[bare]; ok {
			return true
		}
		switch bare {
		case "i", "we", "i'm", "we're", "i'd", "we'd", "i'll", "i've":
			if self = n; strings.HasSuffix(bare, "'d") {
				return true
			}
		}
		if _, ok := requestWords[bare]; ok && said == 0 {
			_, states := stating[bare]
			first = first || !states
		}
		if _, ok := opening[bare]; !lexicon.Polite(bare) && !ok {
			said++
		}
		if strings.HasSuffix(word, ",") && !clause && said <= maxClause { // "once it is there, show"
			said, clause = 0, true
		}
	}
	return first
}

// wanting are words with which one says what one wants, behind "I" and "we".
var wanting = set(`need want wish like would require looking searching seeking trying hoping hope wonder wondering interested curious must should can't cannot
	can could prefer love planning plan going know`)

// othersWant are words with which one says what somebody wants, wherever they stand.
var othersWant = set(`needs wants need want requires looking interested`)

// stating are words of requestWords that begin statements, too.
var stating = set(`i i'd i'm i've i'll is are did do does may will having given get when if any who whose who's`)

// opening are words before the first one that says something.
var opening = set(`and also then so but now next finally first second third firstly secondly thirdly ok okay additionally furthermore moreover lastly afterwards`)

// subjects are words with which statements begin.
var subjects = set(`i i've i'm i'll we we've we're he she it it's they there this that these those my our his her its their a an the last yesterday`)

// hanSubjects are those of Chinese statements.
var hanSubjects = strings.Fields(`我 这 那 他 她 它 昨 去年 上周 上个月 今年 最近 不 外面 老板 朋友`)
