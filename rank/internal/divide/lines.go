package divide

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/rank/internal/lexicon"
)

// line is a line of a message that is not blank.
type line struct {
	text string
	// form is that of its beginning, see formOf; 0 when it begins like prose.
	form uint64
	// prose reports that it is written as people write, han that it is Chinese.
	prose, han bool
	// before and after report a blank line, or the edge of the message, there.
	before, after    bool
	indented, fenced bool
	step             bool // of a list that counts its items
	material         bool
	ask              float64 // how much it reads like a request
}

// linesOf reads the lines of a text that are not blank.
func linesOf(text string) (lines []line) {
	blank, fence := true, ""
	for t := range strings.Lines(text) {
		bare := strings.TrimSpace(t)
		if bare == "" {
			if len(lines) > 0 {
				lines[len(lines)-1].after = true
			}
			blank = true
			continue
		}
		l := line{text: bare, before: blank, indented: t[0] == ' ' || t[0] == '\t'}
		switch mark := fenceOf(bare); {
		case mark != "" && fence == "":
			fence, l.fenced = mark, true
		case fence != "":
			if l.fenced = true; mark == fence {
				fence = ""
			}
		}
		l.read()
		lines = append(lines, l)
		blank = false
	}
	if len(lines) > 0 {
		lines[len(lines)-1].after = true
	}
	return lines
}

// fenceOf returns the marks with which a fenced block begins or ends; empty for other lines.
func fenceOf(text string) string {
	for _, mark := range []string{"```", "~~~"} {
		if strings.HasPrefix(text, mark) {
			return mark
		}
	}
	return ""
}

// read judges the form of a line by itself.
func (l *line) read() {
	var letters, digits, spaces, wide, han int
	signs := -2 // a pair of brackets or quotation marks is usual
	var before rune
	for _, r := range l.text {
		switch {
		case unicode.IsLetter(r):
			letters++
			if unicode.Is(unicode.Han, r) {
				han++
			}
		case unicode.IsDigit(r):
			digits++
		case unicode.IsSpace(r):
			if unicode.IsSpace(before) || r == '\t' {
				wide++
			}
			spaces++
		case !inProse(r), r == '(', r == ')', r == ';', (r == '\'' || r == '"') && !unicode.IsLetter(before):
			signs++
		}
		before = r
	}
	l.han = 2*han > letters
	l.form = formOf(l.text, l.indented)
	enough := letters >= 8 && spaces >= 2 || han >= 3
	l.prose = enough && (wide == 0 && 12*(max(signs, 0)+digits/2) <= letters+2*han || l.sentence())
	if l.prose && l.item() && spaces+han/2 >= wordy {
		l.form = 0 // an item of a list that is written out
	}
}

// wordy is how many words an item of a list has that may be a part of the request.
const wordy = 6

// maxWords is how many words of a line are read for that.
const maxWords = 100

// sentence reports whether a line has the small words of sentences, whatever names stand among them.
func (l *line) sentence() bool {
	words, small := 0, 0
	for word := range strings.FieldsSeq(l.text) {
		if words++; words > maxWords {
			break
		}
		if lexicon.Stop(strings.ToLower(word)) && len(word) > 1 {
			small++
		}
	}
	return words >= 8 && 4*small >= words
}

// item reports whether a line is an item of a list.
func (l *line) item() bool {
	mark, _, ok := strings.Cut(l.text, " ")
	return ok && (mark == "-" || mark == "*" || mark == "•" || strings.Trim(mark, "0123456789.)(") == "" ||
		strings.ContainsAny(mark[:1], "一二三四五六七八九十"))
}

// inProse reports whether a sign is usual in prose.
func inProse(r rune) bool {
	switch r {
	case ',', '.', '?', '!', ';', '\'', '"', '’', '“', '”', '‘', '(', ')', '-', '–', '—', ':', '，', '。', '？',
		'！', '；', '：', '、', '（', '）', '《', '》', '「', '」', '…':
		return true
	}
	return false
}

// formOf returns the form of the beginning of a line: its first six runs of letters, digits and
// spaces and single signs. It is 0 for a line that begins like prose.
func formOf(text string, indented bool) uint64 {
	form, marked, runs := uint64(1), indented, 0
	if indented {
		form = 2
	}
	var last uint64
	for i, r := range text {
		var class uint64
		switch {
		case unicode.IsLetter(r):
			class = 1
		case unicode.IsDigit(r):
			class, marked = 2, true
		case unicode.IsSpace(r):
			class = 3
		default:
			class = uint64(r)
			marked = marked || !inProse(r) || i == 0 && r < utf8.RuneSelf || r == ':'
		}
		if class <= 3 && class == last {
			continue
		}
		if runs++; runs > 6 {
			break
		}
		form, last = form*1_000_003+class, class
	}
	if !marked {
		return 0
	}
	return form
}

// firstNumber returns the number that a line begins with, perhaps behind a word such as "Step", of at
// most three digits; 0 when it has none.
func firstNumber(text string) (n int) {
	at := strings.IndexAny(text[:min(len(text), 8)], "0123456789")
	for i := max(at, 0); at >= 0 && i < min(len(text), at+3) && text[i] >= '0' && text[i] <= '9'; i++ {
		n = 10*n + int(text[i]-'0')
	}
	return n
}
