// Package divide tells the request of a message from the material that came with it, by the form
// and the place of the lines. It knows no kinds of material.
package divide

import (
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/cut"
)

// Bounds of the division. A longer message is read at its beginning and its end, where requests
// stand.
const (
	maxDivided = 64 << 10 // bytes of a message that are read
)

// What says that a message has material: lines of the same form, lines that are no prose, or much
// prose.
const (
	fewest       = 3   // lines of the same form, or requests of a task that is written out
	fewBytes     = 120 // of lines that are no prose
	severalLines = 5   // of prose
	severalBytes = 600
)

// How much a line reads like the request among the others. The numbers were chosen on the sets and
// kinds of bench/paste and checked on others, see docs/ranking.md.
const (
	edge      = 1.5  // at the beginning or the end of the message
	apartFrom = 1    // between blank lines
	foreign   = 1.5  // in another language than most of the prose
	brief     = 1    // much shorter than the other lines of prose
	strange   = -1.5 // no prose, or indented
	silent    = -2   // asks for nothing, while another line does
	clearly   = 1.5  // what a request has at least
	nearly    = 1.5  // how much less than the best one another request may have
	paragraph = 120  // bytes of a line that is more than one of many
	// wholly is how long a request is, in characters, that stands together with twice as much material.
	wholly = 600
)

// Message divides a message into what it asks for and the material that came with it. Lines that
// begin alike, that are not written as prose, that are quoted or fenced are material where another
// line reads like a request. A message of one long line is divided by its sentences. It is linear in
// the length of the message, reads 64 KiB of it at most, and returns the whole message as the request
// when it finds no material or no request.
func Message(text string) (request, material string) {
	if len(text) < longLine && !strings.ContainsAny(strings.TrimSpace(text), "\n\r") {
		return text, ""
	}
	whole := text
	if len(text) > maxDivided {
		text = cut.Bytes(text, maxDivided/2) + "\n" + tail(text, maxDivided/2)
	}
	lines := linesOf(text)
	oneLine := len(lines) == 1
	if oneLine {
		lines = lines[0].pieces()
	}
	if len(lines) < 2 || !judge(lines, oneLine) {
		return whole, ""
	}
	var asked, rest strings.Builder
	for _, l := range lines {
		to := &asked
		if l.material {
			to = &rest
		}
		to.WriteString(l.text)
		to.WriteByte('\n')
	}
	if asked.Len() == 0 || rest.Len() == 0 ||
		utf8.RuneCountInString(asked.String()) >= wholly && rest.Len() <= 2*asked.Len() {
		return whole, ""
	}
	return asked.String(), rest.String()
}

// tail returns the last n bytes of a text, cut between characters.
func tail(text string, n int) string {
	text = text[len(text)-n:]
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// judge decides which lines are material, or which pieces of one line. It reports whether there are both: material and a
// request.
func judge(lines []line, oneLine bool) bool {
	markForms(lines)
	m := survey(lines, oneLine)
	switch {
	case m.asking >= fewest && (!oneLine || 2*m.asked >= m.prose && m.otherBytes < fewBytes): // a task that is written out
		return false
	case oneLine && m.asking == 0:
		return false
	case m.others < fewest && m.otherBytes < fewBytes && m.proses < severalLines && m.prose < severalBytes:
		return false
	}
	best := 0.0
	for i := range lines {
		l := &lines[i]
		if l.material {
			continue
		}
		l.ask += m.place(l, i == 0 || i == len(lines)-1)
		best = max(best, l.ask)
	}
	if best < clearly {
		return false
	}
	least := max(best-nearly, clearly)
	for i := range lines {
		l := &lines[i]
		if l.material || m.continues(l) || l.step && i > 0 && !lines[i-1].material {
			continue
		}
		l.material = l.ask < least
	}
	return true
}

// markForms makes the lines material that are quoted or fenced, that come twice, or that begin alike,
// and those that follow each of these: what somebody said, below a name and a time. Steps that are counted do
// not begin alike for that.
func markForms(lines []line) {
	forms, texts, next := map[uint64]int{}, map[string]int{}, 1
	for i := range lines {
		l := &lines[i]
		texts[l.text]++
		if n := firstNumber(l.text); n > 0 && (n == next || n == 1) && (l.prose || l.sentence()) {
			l.form, l.prose, l.step, next = 0, true, true, n+1
		}
		if l.form != 0 {
			forms[l.form]++
		}
	}
	for i := range lines {
		l := &lines[i]
		l.material = l.fenced || l.text[0] == '>' || texts[l.text] > 1 || l.form != 0 && forms[l.form] >= fewest
	}
	follow := map[uint64]int{}
	follows := func(i int) bool {
		return forms[lines[i-1].form] >= fewest && !lines[i-1].fenced && forms[lines[i].form] < fewest &&
			!lines[i].before
	}
	for i := 1; i < len(lines); i++ {
		if follows(i) {
			follow[lines[i-1].form]++
		}
	}
	for i := 1; i < len(lines); i++ {
		head := lines[i-1].form
		lines[i].material = lines[i].material || follows(i) && follow[head] >= fewest && 2*follow[head] > forms[head]
	}
}

// message sums up the lines of a message: how many there are, and their bytes.
type message struct {
	proses, prose, han int // lines of prose, their bytes, those of the Chinese ones
	others, otherBytes int // all others
	asking             int // lines of prose that ask for something
	asked, askedHan    int // their bytes, those of the Chinese ones
}

func survey(lines []line, oneLine bool) (m message) {
	for i := range lines {
		l := &lines[i]
		if !l.material {
			l.ask = l.asks()
			if oneLine {
				l.ask = asksInLine(l.text, i == 0)
			}
		}
		if l.material || !l.prose {
			m.others++
			m.otherBytes += len(l.text)
			continue
		}
		chinese := 0
		if l.han {
			chinese = len(l.text)
		}
		m.proses, m.prose, m.han = m.proses+1, m.prose+len(l.text), m.han+chinese
		if l.ask >= 1 && !l.indented {
			m.asking, m.asked, m.askedHan = m.asking+1, m.asked+len(l.text), m.askedHan+chinese
		}
	}
	return m
}

// place returns what the place of a line among the others says about it.
func (m *message) place(l *line, atEdge bool) (score float64) {
	if m.asking > 0 && l.ask < 1 {
		score += silent
	}
	if atEdge {
		score += edge
	}
	if l.before && l.after {
		score += apartFrom
	}
	if m.proses > 2 && l.han != (2*m.han > m.prose) {
		score += foreign
	}
	if m.proses > 2 && 3*len(l.text)*m.proses < m.prose {
		score += brief
	}
	if !l.prose {
		score += strange
	}
	if l.indented {
		score += strange
	}
	return score
}

// continues reports whether a line is a paragraph in the language of a long request.
func (m *message) continues(l *line) bool {
	return l.prose && len(l.text) >= paragraph && 4*m.asked >= m.prose && l.han == (2*m.askedHan > m.asked)
}
