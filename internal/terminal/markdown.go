package terminal

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"github.com/etui-run/etui/internal/printable"
)

// Markdown writes Markdown as readable text to a terminal, line by line as it comes:
// headings, lists, quotes, code, tables and emphasis. It leaves the
// rest as it is, but for control characters, which it leaves out. Close writes the last line;
// a Markdown is for one answer.
type Markdown struct {
	out   io.Writer
	width int
	plain bool
	rest  []byte
	fence string   // that ends the code; empty outside of code
	table []string // rows of the table that is being read
	// preview shows an incomplete line until the next one or a complete one replaces
	// it. Nil shows none.
	preview func(line string)
}

// NewMarkdown returns a writer of lines of at most width columns. Plain leaves styles
// out. The line that is not complete yet is shown, too, if out can replace it: if it is
// the writer of [Config.Send], or a terminal.
func NewMarkdown(out io.Writer, width int, plain bool) *Markdown {
	m := &Markdown{out: out, width: max(width, 20), plain: plain}
	switch t := out.(type) {
	case *screen:
		m.preview = t.preview
	case *os.File:
		if CanTalk(t, t) {
			m.preview = func(line string) {
				fmt.Fprint(t, "\r\x1b[K"+ansi.TruncateLeft(line, max(0, ansi.StringWidth(line)-m.width+1), ""))
			}
		}
	}
	return m
}

// Write implements io.Writer.
func (m *Markdown) Write(text []byte) (int, error) {
	m.rest = append(m.rest, text...)
	for {
		i := bytes.IndexByte(m.rest, '\n')
		if i < 0 {
			m.show(printable.Text(strings.ToValidUTF8(string(m.rest), "")))
			return len(text), nil
		}
		line := string(m.rest[:i])
		m.rest = m.rest[i+1:]
		m.show("")
		if err := m.line(strings.TrimRight(line, "\r")); err != nil {
			return 0, err
		}
	}
}

// Close implements io.Closer: it writes what has no line end yet, with one.
func (m *Markdown) Close() error {
	m.show("")
	if len(m.rest) > 0 {
		if err := m.line(string(m.rest)); err != nil {
			return err
		}
		m.rest = nil
	}
	return m.endTable()
}

func (m *Markdown) show(line string) {
	if m.preview != nil {
		m.preview(line)
	}
}

// maxTable bounds the rows of a table that are kept to align them; longer tables are
// aligned in parts.
const maxTable = 200

var (
	heading = regexp.MustCompile(`^#{1,6} +(.*?)(?: +#+)?$`)
	item    = regexp.MustCompile(`^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$`)
	task    = regexp.MustCompile(`^\[([ xX])\] +`)
	quote   = regexp.MustCompile(`^ {0,3}> ?(.*)$`)
	opening = regexp.MustCompile("^\\s*(```+|~~~+)")
	across  = regexp.MustCompile(`^ {0,3}(?:(?:- *){3,}|(?:\* *){3,}|(?:_ *){3,})$`)
	divider = regexp.MustCompile(`^\|?\s*:?-+:?\s*(?:\|\s*:?-+:?\s*)*\|?$`)
)

// line writes one line.
func (m *Markdown) line(line string) error {
	line = printable.Text(line)
	if m.fence != "" {
		if strings.HasPrefix(strings.TrimSpace(line), m.fence) &&
			strings.Trim(strings.TrimSpace(line), m.fence[:1]) == "" {
			m.fence = ""
			return nil
		}
		return m.put("  ", "  ", m.style(faint, line), false)
	}
	if row := strings.TrimSpace(line); strings.HasPrefix(row, "|") && strings.Count(row, "|") > 1 {
		m.table = append(m.table, row)
		if len(m.table) < maxTable {
			return nil
		}
		return m.endTable()
	}
	if err := m.endTable(); err != nil {
		return err
	}
	if found := opening.FindStringSubmatch(line); found != nil {
		m.fence = found[1]
		return nil
	}
	if found := heading.FindStringSubmatch(line); found != nil {
		return m.put("", "", m.style(bold, strip(found[1])), true)
	}
	if across.MatchString(line) {
		return m.put("", "", m.style(faint, strings.Repeat("─", min(m.width, 40))), false)
	}
	if found := item.FindStringSubmatch(line); found != nil {
		mark, text := found[2], found[3]
		if strings.ContainsAny(mark, "-*+") {
			mark = "•"
		}
		if box := task.FindStringSubmatch(text); box != nil {
			mark = "☐"
			if box[1] != " " {
				mark = "☑"
			}
			text = text[len(box[0]):]
		}
		first := strings.ReplaceAll(found[1], "\t", "    ") + mark + " "
		return m.put(first, strings.Repeat(" ", ansi.StringWidth(first)), m.inline(text), true)
	}
	if found := quote.FindStringSubmatch(line); found != nil {
		bar := m.style(faint, "│ ")
		return m.put(bar, bar, m.inline(found[1]), true)
	}
	return m.put("", "", m.inline(line), true)
}

// put writes a text behind a first indent and, where it is wrapped, behind the next one.
func (m *Markdown) put(first, next, text string, wrap bool) error {
	if wrap {
		text = ansi.Wrap(text, max(m.width-ansi.StringWidth(first), 10), "")
	}
	_, err := io.WriteString(m.out, first+strings.ReplaceAll(text, "\n", "\n"+next)+"\n")
	return err
}

// endTable writes the table that was read.
func (m *Markdown) endTable() error {
	lines := m.table
	m.table = nil
	if len(lines) == 0 {
		return nil
	}
	var rows [][]string
	var widths []int
	for _, line := range lines {
		if divider.MatchString(line) {
			continue
		}
		var row []string
		for i, cell := range strings.Split(strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00"), "|") {
			cell = m.inline(strings.ReplaceAll(strings.TrimSpace(cell), "\x00", "|"))
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], ansi.StringWidth(cell))
			row = append(row, cell)
		}
		rows = append(rows, row)
	}
	for n, row := range rows {
		text := ""
		for i, cell := range row {
			text += cell + strings.Repeat(" ", widths[i]-ansi.StringWidth(cell)+2)
		}
		text = strings.TrimRight(text, " ")
		if n == 0 && len(lines) > len(rows) {
			text = m.style(bold, text)
		}
		if err := m.put("", "", text, false); err != nil {
			return err
		}
	}
	return nil
}

// The styles of terminals.
const (
	bold   = "1"
	faint  = "2"
	italic = "3"
	under  = "4"
	struck = "9"
)

func (m *Markdown) style(code, text string) string {
	if m.plain || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[m"
}

// spans finds code, links, strong words, the names of files that have stars, strong text and emphasis, in this
// order where they begin at the same place.
var spans = regexp.MustCompile("`+[^`]+`+" +
	`|\[[^\[\]]+\]\([^()\s]+\)|\*\*[^\s*]+\*\*|~~[^~]+~~|` + glob + `|\*\*[^\s*](?:[^*]*[^\s*])?\*\*|\*[^\s*](?:[^*]*[^\s*])?\*|\\[\\*_` + "`" + `\[\]#>|~-]`)

const glob = `(?:[\w.-]+/)*(?:\*{1,2}/[\w.*/-]*|\*\.[a-z0-9]+)`

// inline styles the parts of a line.
func (m *Markdown) inline(line string) string {
	return spans.ReplaceAllStringFunc(line, func(s string) string {
		switch {
		case s[0] == '`':
			return m.style(bold, strings.Trim(s, "`"))
		case s[0] == '\\':
			return s[1:]
		case s[0] == '[':
			text, address, _ := strings.Cut(s[1:len(s)-1], "](")
			if text == address {
				return m.style(under, address)
			}
			return text + " (" + m.style(under, address) + ")"
		case strings.HasPrefix(s, "**") && strings.HasSuffix(s, "**"):
			return m.style(bold, strip(s[2:len(s)-2]))
		case s[0] == '~' && !m.plain:
			return m.style(struck, s[2:len(s)-2])
		case s[0] == '*' && s[len(s)-1] == '*':
			return m.style(italic, s[1:len(s)-1])
		}
		return s
	})
}

// strip leaves out what would style the parts of a line.
func strip(line string) string { return (&Markdown{plain: true}).inline(line) }
