package rank

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Parts is a message, divided by the form and the place of its lines.
type Parts struct {
	// Request is what the message asks for. It is the whole message when nothing else is in it.
	Request string
	// Material is what came with the request, such as a log, a mail or a table; empty when there
	// is none. It says a little about what is asked for.
	Material string
}

// Bounds of the division. A longer message is read at its beginning and its end, where requests
// stand.
const (
	maxDivided  = 128 << 10 // bytes of a message that are read
	maxMaterial = 4 << 10   // bytes of its material that are ranked
)

// How lines are judged. The numbers were chosen on five public sets with seven kinds of pasted text
// and checked on others, see docs/ranking.md.
const (
	fewest   = 3   // lines of the same form that are material
	edge     = 1.5 // at the beginning or the end of the message
	alone1   = 1   // between blank lines
	foreign  = 1.5 // in another script than the other lines
	brief    = 1   // much shorter than the other lines of prose
	labelled = -2  // "name: text"
	coded    = -1  // for each word with signs in it, up to three
	beside   = -1.5
	clearly  = 1.5 // what a request has at least
	nearly   = 1.5 // how much less than the best one another request may have
)

// line is a line of a message, or several that one sentence runs through.
type line struct {
	text     string
	form     uint64 // of its beginning, if that is no prose; lines with the same one are of one kind
	prose    bool
	before   bool // a blank line or the edge of the message is before it
	after    bool // or behind it
	indented bool
	fenced   bool
	material bool
	han      bool
	score    float64
}

// Divide divides a message into what it asks for and the material that came with it. It knows no
// kinds of material: lines that begin alike, that are not written as prose, that are quoted or
// fenced are material where another line reads like a request. It is linear in the length of the
// message, reads 128 KiB of it at most, and returns the whole message as the request when it finds
// no material or no request.
func Divide(text string) Parts {
	whole := Parts{Request: text}
	if !strings.ContainsAny(strings.TrimSpace(text), "\n\r") {
		return whole
	}
	if len(text) > maxDivided {
		text = head(text, maxDivided/2) + "\n" + tail(text, maxDivided/2)
	}
	lines := linesOf(text)
	if len(lines) < 2 || !judge(lines) {
		return whole
	}
	var request, material strings.Builder
	for _, l := range lines {
		to := &request
		if l.material {
			to = &material
		}
		to.WriteString(l.text)
		to.WriteByte('\n')
	}
	if request.Len() == 0 || material.Len() == 0 {
		return whole
	}
	return Parts{Request: request.String(), Material: material.String()}
}

// tail returns the last n bytes of a text, cut between characters.
func tail(text string, n int) string {
	text = text[len(text)-n:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
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
	var letters, digits, signs, spaces, wide, han int
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
		case !inProse(r):
			signs++
		}
		before = r
	}
	l.han = 2*han > letters
	l.form = formOf(l.text, l.indented)
	enough := letters >= 8 && spaces >= 2 || han >= 3
	l.prose = enough && (wide == 0 && 12*(signs+digits/2) <= letters || l.sentence())
	if l.prose && l.item() && spaces+han/2 >= wordy {
		l.form = 0 // an item of a list that is written out
	}
}

// wordy is how many words an item of a list has that may be a part of the request.
const wordy = 6

// sentence reports whether a line has the small words of sentences, whatever names stand among them.
func (l *line) sentence() bool {
	words, small := 0, 0
	for word := range strings.FieldsSeq(l.text) {
		words++
		if isStopWord(strings.ToLower(word)) && len(word) > 1 {
			small++
		}
	}
	return words >= 8 && 4*small >= words
}

// item reports whether a line is an item of a list.
func (l *line) item() bool {
	mark, _, ok := strings.Cut(l.text, " ")
	return ok && (mark == "-" || mark == "*" || mark == "•" || strings.Trim(mark, "0123456789.)(") == "" || strings.ContainsAny(mark[:1], "一二三四五六七八九十"))
}

// inProse reports whether a sign is usual in prose.
func inProse(r rune) bool {
	return strings.ContainsRune(`,.?!;'"’“”‘()-–—:，。？！；：、（）《》「」…`, r)
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

// judge decides which lines are material. It reports whether there are both: material and a
// request.
func judge(lines []line) bool {
	forms, steps := map[uint64]int{}, map[uint64]int{}
	for _, l := range lines {
		if l.form == 0 {
			continue
		}
		forms[l.form]++
		if firstNumber(l.text) == steps[l.form]+1 {
			steps[l.form]++
		}
	}
	for i := range lines {
		l := &lines[i]
		if l.form != 0 && l.sentence() && steps[l.form] == forms[l.form] { // a list of steps
			l.form, l.prose = 0, true
		}
		l.material = l.fenced || l.text[0] == '>' || l.form != 0 && forms[l.form] >= fewest
	}
	carry(lines, forms)
	said := map[string]bool{}
	var odd, prose, han int        // bytes of lines
	var strange, plain, asking int // lines
	for i := range lines {
		l := &lines[i]
		if l.material || !l.prose {
			odd += len(l.text)
			strange++
			continue
		}
		plain++
		prose += len(l.text)
		if l.han {
			han += len(l.text)
		}
		if l.asks() >= 1 && !said[l.text] {
			said[l.text] = true
			asking++
		}
	}
	if odd < 120 && strange < fewest && plain < 5 {
		return false
	}
	best := 0.0
	for i := range lines {
		l := &lines[i]
		if l.material {
			continue
		}
		l.score = l.asks()
		if i == 0 || i == len(lines)-1 {
			l.score += edge
		}
		if l.before && l.after {
			l.score += alone1
		}
		if plain > 2 && (l.han && 2*han < prose || !l.han && 2*han > prose) {
			l.score += foreign
		}
		if plain > 2 && 3*len(l.text)*plain < prose {
			l.score += brief
		}
		if !l.prose {
			l.score += beside
		}
		if l.indented {
			l.score += beside
		}
		best = max(best, l.score)
	}
	if best < clearly {
		return false
	}
	least := max(best-nearly, clearly)
	for i := range lines {
		l := &lines[i]
		if l.prose && !l.material && asking >= fewest { // a request of many sentences
			continue
		}
		l.material = l.material || l.score < least
	}
	return true
}

// firstNumber returns the first number of a line, of at most three digits; 0 when it has none.
func firstNumber(text string) (n int) {
	at := strings.IndexAny(text, "0123456789")
	for i := max(at, 0); at >= 0 && i < min(len(text), at+3) && text[i] >= '0' && text[i] <= '9'; i++ {
		n = 10*n + int(text[i]-'0')
	}
	return n
}

// carry makes the lines material that follow lines of the same form each time: what somebody said,
// below the name and the time.
func carry(lines []line, forms map[uint64]int) {
	follow := map[uint64]int{}
	for i := 1; i < len(lines); i++ {
		if head := lines[i-1]; head.material && head.form != 0 && !lines[i].material && !lines[i].before {
			follow[head.form]++
		}
	}
	for i := len(lines) - 1; i > 0; i-- {
		if head := lines[i-1]; head.material && !lines[i].before && follow[head.form] >= fewest && 2*follow[head.form] > forms[head.form] {
			lines[i].material = true
		}
	}
}
