package markup

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Room is how long a text may be; Max 0 means that nothing bounds it. Length measures a text; nil
// counts characters. Code is how many lines of a block of code are shown; 0 means all. More says how
// many follow; nil says it in English.
type Room struct {
	Max    int
	Length func(text string) int
	Code   int
	More   func(lines int) string
}

// Measure returns how long a text is.
func (r Room) Measure(text string) int {
	if r.Length != nil {
		return r.Length(text)
	}
	return utf8.RuneCountInString(text)
}

// Fits reports whether a text needs no second message.
func (r Room) Fits(text string) bool { return r.Max == 0 || r.Measure(text) <= r.Max }

// Split cuts Markdown into messages that fit. Blocks stay whole where they can: paragraphs,
// lists, tables and fenced code. A longer code block is closed and opened again, a longer
// table repeats its head, and a longer paragraph is cut between sentences or words, but not
// in a link. Text that is bold across a cut is bold on both sides.
func Split(text string, t Room) (parts []string) {
	text = boundTables(strings.TrimSpace(strings.Map(unturned, strings.ToValidUTF8(text, "\uFFFD"))))
	if t.Code > 0 {
		text = shortenCode(text, t)
	}
	if text == "" {
		return nil
	}
	if t.Fits(text) {
		return []string{text}
	}
	now := ""
	add := func(piece, between string) {
		if now != "" && !t.Fits(now+between+piece) {
			parts, now = append(parts, now), ""
		}
		if now == "" {
			now = piece
		} else {
			now += between + piece
		}
	}
	for _, b := range blocksOf(text) {
		if t.Fits(b) {
			add(b, "\n\n")
			continue
		}
		for i, piece := range pieces(b, t) {
			if i > 0 { // a piece is as long as it can be
				parts, now = append(parts, now), ""
			}
			add(piece, "\n\n")
		}
	}
	if now != "" {
		parts = append(parts, now)
	}
	return slices.DeleteFunc(parts, func(p string) bool { return strings.TrimSpace(p) == "" })
}

// shortenCode keeps the first lines of a long block of code, and says how many follow.
func shortenCode(text string, t Room) string {
	var out, code []string
	open := ""
	end := func() {
		if more := len(code) - t.Code; more > 1 {
			line := fmt.Sprintf("[… %d more lines]", more)
			if t.More != nil {
				line = t.More(more)
			}
			code = append(code[:t.Code:t.Code], line)
		}
		out, code, open = append(out, code...), nil, ""
	}
	for line := range strings.SplitSeq(text, "\n") {
		f := fence(strings.TrimLeft(line, " \t>"))
		switch {
		case open == "":
			open = f
			out = append(out, line)
		case strings.HasPrefix(f, open) && strings.Trim(line, " \t>"+f[:1]) == "":
			end()
			out = append(out, line)
		default:
			code = append(code, line)
		}
	}
	end()
	return strings.Join(out, "\n")
}

// maxCells is how many cells the tables of a text may have, if each line is as long as the longest row.
const maxCells = 50_000

// boundTables makes tables beyond maxCells plain text: whoever reads Markdown fills each row up to the
// number of columns, so a table of 60 kB could mean 100 million cells.
func boundTables(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		row := strings.TrimLeft(line, "> \t*+-0123456789.)") // a table may be in quotations and lists
		if most := strings.Count(row, "|") + 1; most*len(lines) > maxCells && strings.Trim(row, "|-: \t\f\v\r") == "" {
			lines[i] = strings.ReplaceAll(line, "-", "\u2013")
		} else if strings.Contains(row, "|") && strings.Contains(row, "-") && strings.Trim(row, "|-: \t") == "" {
			for j := i + 1; j < len(lines) && strings.Contains(lines[j], "|"); j++ {
				lines[j] = keepCells(lines[j], cellsOf(line))
			}
		}
	}
	return strings.Join(lines, "\n")
}

// unturned leaves out the characters that turn the letters after them around.
func unturned(r rune) rune {
	if r >= '\u202a' && r <= '\u202e' {
		return -1
	}
	return r
}

// cellsOf returns how many cells a row of a table has.
func cellsOf(row string) int {
	row = strings.TrimSpace(row)
	return strings.Count(row, "|") - strings.Count(row, `\|`) + 1 -
		len(row) + len(strings.TrimPrefix(strings.TrimSuffix(row, "|"), "|"))
}

// keepCells writes the bars of a row as text that make more cells than the table has columns: of these
// whoever reads Markdown shows nothing. Those in code come first, and then the last ones.
func keepCells(row string, most int) string {
	if cellsOf(row) <= most {
		return row
	}
	var out strings.Builder
	for rest := row; ; {
		before, code, found := strings.Cut(rest, "`")
		marks := len(code) - len(strings.TrimLeft(code, "`"))
		inside, after, closed := strings.Cut(code[marks:], strings.Repeat("`", marks+1))
		if !found || !closed {
			row = out.String() + rest
			break
		}
		mark := strings.Repeat("`", marks+1)
		out.WriteString(before + mark + bar.ReplaceAllString(inside, `$1\|`) + mark)
		rest = after
	}
	out.Reset()
	start, end, seen := len(row)-len(strings.TrimLeft(row, " \t>")), len(strings.TrimRight(row, " \t\r"))-1, 0
	for i := range len(row) {
		if row[i] == '|' && i > start && i < end && row[i-1] != '\\' {
			if seen++; seen >= most {
				out.WriteByte('\\')
			}
		}
		out.WriteByte(row[i])
	}
	return out.String()
}

// bar is one that begins a cell.
var bar = regexp.MustCompile(`(^|[^\\])\|`)

// fence returns the fence that a line opens or closes; empty if it is none.
func fence(line string) string {
	line = strings.TrimLeft(line, " ")
	for _, mark := range []string{"`", "~"} {
		if n := len(line) - len(strings.TrimLeft(line, mark)); n >= 3 {
			return line[:n]
		}
	}
	return ""
}

// blocksOf cuts a text at its empty lines, but not in fenced code.
func blocksOf(text string) (blocks []string) {
	var now []string
	open := ""
	end := func() {
		if len(now) > 0 {
			blocks, now = append(blocks, strings.Join(now, "\n")), nil
		}
	}
	for line := range strings.SplitSeq(text, "\n") {
		f := fence(line)
		switch {
		case open == "" && f != "":
			end()
			open = f
			now = append(now, line)
		case open != "":
			now = append(now, line)
			if strings.HasPrefix(f, open) && strings.TrimLeft(strings.TrimSpace(line), f[:1]) == "" {
				open = ""
				end()
			}
		case strings.TrimSpace(line) == "":
			end()
		default:
			now = append(now, line)
		}
	}
	end()
	return blocks
}

// pieces cuts a block that is too long. A head that takes more than half of a message is not
// repeated: a few lines below it would become thousands of messages.
func pieces(block string, t Room) []string {
	lines := strings.Split(block, "\n")
	if f := fence(lines[0]); f != "" {
		head, tail := lines[0]+"\n", "\n"+f
		body := lines[1:]
		if n := len(body); n > 0 && strings.HasPrefix(strings.TrimSpace(body[n-1]), f) {
			body = body[:n-1]
		}
		if room := smaller(t, head+tail); room.Max >= t.Max/2 {
			list := packed(body, room)
			for i := range list {
				list[i] = head + list[i] + tail
			}
			return list
		}
	}
	if len(lines) > 2 && strings.HasPrefix(lines[0], "|") && strings.Trim(lines[1], "|-: ") == "" {
		head := lines[0] + "\n" + lines[1] + "\n"
		if room := smaller(t, head); room.Max >= t.Max/2 {
			list := packed(lines[2:], room)
			for i := range list {
				list[i] = head + list[i]
			}
			return list
		}
	}
	const room = 3 * maxMarks
	if marks := marksIn(block); len(marks) > 0 && t.Max > 2*room {
		list := reopen(block, packed(lines, Room{Max: t.Max - room, Length: t.Length}), marks)
		if !slices.ContainsFunc(list, func(piece string) bool { return !t.Fits(piece) }) {
			return list
		}
	}
	return packed(lines, t)
}

// maxMarks is how many bytes of marks are closed at a cut, and opened behind it.
const maxMarks = 12

// marked is a part of a block between marks: from is behind the first one, to before the last one.
type marked struct {
	from, to int
	mark     string
}

// marksIn returns the parts of a block that are bold, italic, struck or code, the outer ones first.
func marksIn(block string) (list []marked) {
	if !strings.ContainsAny(block, "*_~`") {
		return nil
	}
	_ = ast.Walk(GFM(false).Parse(text.NewReader([]byte(block))), func(n ast.Node, in bool) (ast.WalkStatus, error) {
		length := markLength(n)
		if !in || length == 0 {
			return ast.WalkContinue, nil
		}
		from, to := edge(n, ast.Node.FirstChild, false), edge(n, ast.Node.LastChild, true)
		if from >= length && to > from && to+length <= len(block) {
			if mark := block[from-length : from]; block[to:to+length] == mark {
				list = append(list, marked{from, to, mark})
			}
		}
		return ast.WalkContinue, nil
	})
	return list
}

// markLength is how long the mark of a node is; 0 for one without.
func markLength(n ast.Node) int {
	switch n := n.(type) {
	case *ast.Emphasis:
		return n.Level
	case *extensions.Strikethrough:
		return 2
	case *ast.CodeSpan:
		return 1
	}
	return 0
}

// edge returns where what is in a node begins or ends; -1 if that cannot be known.
func edge(n ast.Node, child func(ast.Node) ast.Node, end bool) int {
	c := child(n)
	if t, ok := c.(*ast.Text); ok {
		if end {
			return t.Segment.Stop
		}
		return t.Segment.Start
	}
	length := 0
	if c != nil {
		length = markLength(c)
	}
	at := -1
	if length > 0 {
		at = edge(c, child, end)
	}
	switch {
	case at < 0:
		return -1
	case end:
		return at + length
	}
	return at - length
}

// reopen closes the marks that are open where a block is cut, and opens them behind the cut.
func reopen(block string, pieces []string, marks []marked) []string {
	type span struct{ from, to int }
	spans := make([]span, len(pieces))
	at := 0
	for i, piece := range pieces {
		n := strings.Index(block[at:], piece)
		if n < 0 {
			return pieces
		}
		spans[i] = span{at + n, at + n + len(piece)}
		at = spans[i].to
	}
	for i := range spans[1:] { // no cut is beside a mark on its inner side
		a, b := &spans[i], &spans[i+1]
		for _, m := range slices.Backward(marks) {
			if length := len(m.mark); a.to == m.to {
				a.to, b.from = m.to+length, max(b.from, m.to+length)
			} else if a.to == m.from {
				a.to, b.from = m.from-length, m.from-length
			}
		}
	}
	var out []string
	for _, s := range spans {
		var before, after string
		for _, m := range marks {
			if m.from < s.from && s.from < m.to && len(before)+len(m.mark) <= maxMarks {
				before += m.mark
			}
			if m.from < s.to && s.to < m.to && len(after)+len(m.mark) <= maxMarks {
				after = m.mark + after
			}
		}
		if s.from < s.to {
			out = append(out, before+strings.TrimSpace(block[s.from:s.to])+after)
		}
	}
	return out
}

// smaller returns a limit with less room, by the length of a text.
func smaller(t Room, by string) Room {
	t.Max = max(0, t.Max-t.Measure(by))
	return t
}

// packed joins as many items as fit in each piece. An item that is too long alone is cut.
func packed(items []string, t Room) (list []string) {
	now, begun := "", false
	for _, item := range items {
		if !begun && t.Fits(item) {
			now, begun = item, true
			continue
		}
		if begun && t.Fits(now+"\n"+item) {
			now += "\n" + item
			continue
		}
		if begun {
			list = append(list, now)
		}
		for !t.Fits(item) {
			n := cut(item, t)
			list, item = append(list, strings.TrimRight(item[:n], " ")), strings.TrimLeft(item[n:], " ")
		}
		now, begun = item, item != ""
	}
	if begun {
		list = append(list, now)
	}
	return list
}

// cut returns how many bytes of a text a message takes: up to the end of a sentence in its
// second half, else to the last space that is not in a link, else as much as fits.
func cut(text string, t Room) int {
	fits, sentence, word := 0, 0, 0
	depth := 0 // in the brackets of a link
	last := rune(0)
	// Lengths do not shrink, so the search can be by halves.
	low, high := 0, len(text)
	for low < high {
		middle := (low + high + 1) / 2
		for middle < len(text) && text[middle]&0xC0 == 0x80 {
			middle++
		}
		if t.Fits(text[:middle]) {
			low = middle
		} else {
			for high = middle - 1; high > low && text[high]&0xC0 == 0x80; high-- {
			}
		}
	}
	fits = low
	for i, r := range text[:fits] {
		switch {
		case r == '[' || r == '(' && last == ']':
			depth++
		case (r == ']' || r == ')') && depth > 0:
			depth--
		case r == ' ' && depth == 0:
			word = i + 1
			if strings.ContainsRune(".!?", last) {
				sentence = i + 1
			}
		case strings.ContainsRune("。！？", r) && depth == 0:
			sentence = i + len(string(r))
		}
		last = r
	}
	if depth == 0 && fits < len(text) && text[fits] == ' ' {
		word = fits
		if strings.ContainsRune(".!?", last) {
			sentence = fits
		}
	}
	switch {
	case sentence > fits/2:
		return sentence
	case word > 0:
		return word
	case fits > 0:
		return fits
	}
	// Not even a character fits: it goes alone.
	for n := 1; n < len(text); n++ {
		if text[n]&0xC0 != 0x80 {
			return n
		}
	}
	return len(text)
}
