package discord

import (
	"bufio"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"
)

// markup turns Markdown into Discord's kind of it, which knows neither tables nor pictures
// nor headings below the third, and in which <, _ and | mean other things.
type markup struct{ parser parser.Parser }

func newMarkup() markup {
	return markup{goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()}
}

// length is how Discord counts a text of the agent: as it is sent. What is much too long
// anyway is counted as it is. A character beyond Unicode's first 65,536 counts twice, as in
// Discord's own apps.
func (m markup) length(markdown string) int {
	sent := markdown
	if len(markdown) < 4*maxText {
		sent = m.render(markdown)
	}
	n := 0
	for _, r := range sent {
		n += utf16.RuneLen(r)
	}
	return n
}

func (m markup) render(markdown string) string {
	source := []byte(markdown)
	r := &renderer{source: source}
	if out := strings.Trim(r.blocks(m.parser.Parse(text.NewReader(source)), 0), "\n"); strings.TrimSpace(out) != "" {
		return out
	}
	return escape(markdown) // a definition of a link, say
}

// escaper writes what means something to Discord anywhere. Without a < no text can mention
// anybody.
var escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, "[", `\[`, "<", `\<`)

func escape(s string) string { return escaper.Replace(s) }

type renderer struct{ source []byte }

// maxDepth is how deep quotes and lists are shown as such; what is deeper is shown as if it
// were there.
const maxDepth = 8

// blocks writes the blocks in a node.
func (r *renderer) blocks(parent ast.Node, depth int) string {
	var b strings.Builder
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		s := r.block(n, depth)
		if s == "" {
			continue
		}
		if b.Len() > 0 {
			b.WriteString("\n")
			if _, tight := n.(*ast.TextBlock); !tight && n.HasBlankPreviousLines() {
				b.WriteString("\n")
			}
		}
		b.WriteString(s)
	}
	return b.String()
}

func (r *renderer) block(n ast.Node, depth int) string {
	switch n := n.(type) {
	case *ast.Heading:
		s := strings.ReplaceAll(r.inlines(n), "\n", " ")
		if n.Level > 3 || s == "" {
			return strong(s)
		}
		return strings.Repeat("#", n.Level) + " " + s
	case *ast.FencedCodeBlock:
		return fence(string(n.Language(r.source)), string(n.Lines().Value(r.source)))
	case *ast.CodeBlock:
		return fence("", string(n.Lines().Value(r.source)))
	case *ast.HTMLBlock:
		s := string(n.Lines().Value(r.source))
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(r.source))
		}
		return starts(escape(strings.TrimRight(s, "\n")))
	case *ast.ThematicBreak:
		return "———"
	case *ast.Blockquote:
		s := r.blocks(n, depth+1)
		if depth >= maxDepth || strings.Contains(s, "```") {
			return s // Discord shows no code in quotations
		}
		return "> " + strings.ReplaceAll(strings.ReplaceAll("\n"+s, "\n> ", "\n")[1:], "\n", "\n> ") // Discord knows no quotation in another
	case *ast.List:
		return r.list(n, depth)
	case *extensions.Table:
		return r.table(n)
	}
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return r.blocks(n, depth+1)
	}
	return starts(r.inlines(n))
}

func strong(s string) string {
	if s == "" || strings.Contains(s, "**") {
		return s
	}
	return "**" + s + "**"
}

// starts escapes what means something to Discord where a line begins.
func starts(s string) string {
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		bare := strings.TrimLeft(line, " \t")
		indent := line[:len(line)-len(bare)]
		digits := strings.TrimLeft(bare, "0123456789")
		switch {
		case bare == "":
		case strings.ContainsRune("#>-+", rune(bare[0])):
			lines[i] = indent + `\` + bare
		case len(digits) < len(bare) && strings.HasPrefix(digits, ". "):
			lines[i] = indent + bare[:len(bare)-len(digits)] + `\` + digits
		}
	}
	return strings.Join(lines, "\n")
}

func (r *renderer) list(l *ast.List, depth int) string {
	var items []string
	for n, number := l.FirstChild(), l.Start; n != nil; n, number = n.NextSibling(), number+1 {
		mark := "- "
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
		}
		s := r.blocks(n, depth+1)
		if depth < maxDepth {
			s = strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", len(mark)))
		}
		items = append(items, mark+s)
	}
	return strings.Join(items, "\n")
}

// fence writes code as a block of its own.
func fence(language, code string) string {
	if strings.Trim(strings.ToLower(language), "abcdefghijklmnopqrstuvwxyz0123456789+-#.") != "" {
		language = ""
	}
	code = strings.ReplaceAll(strings.TrimRight(code, "\n"), "```", "`\u200b``")
	return "```" + language + "\n" + code + "\n```"
}

// table writes a table as code, with columns of the same width.
func (r *renderer) table(t *extensions.Table) string {
	const widest = 30 // columns of a cell beyond which others are not filled up
	var rows [][]string
	var widths []int
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []string
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			s := strings.TrimSpace(r.words(cell))
			if len(cells) == len(widths) {
				widths = append(widths, 0)
			}
			widths[len(cells)] = min(widest, max(widths[len(cells)], utf8.RuneCountInString(s)))
			cells = append(cells, s)
		}
		rows = append(rows, cells)
	}
	var b strings.Builder
	for _, cells := range rows {
		var line strings.Builder
		for i, s := range cells {
			if i > 0 {
				line.WriteString(" | ")
			}
			line.WriteString(s + strings.Repeat(" ", max(0, widths[i]-utf8.RuneCountInString(s))))
		}
		b.WriteString(strings.TrimRight(line.String(), " ") + "\n")
	}
	return fence("", b.String())
}

// words returns the text in a node without markup.
func (r *renderer) words(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no step fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(r.value(n))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(r.source))
		case *ast.RawHTML:
			b.Write(n.Segments.Value(r.source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// value returns a text with its escapes and entities resolved.
func (r *renderer) value(n *ast.Text) string {
	if n.IsRaw() {
		return string(n.Value(r.source))
	}
	return resolve(n.Value(r.source))
}

// inlines writes the text in a block.
func (r *renderer) inlines(n ast.Node) string {
	l := &line{renderer: r}
	l.children(n)
	return l.b.String()
}

// line writes text with marks. In Discord a mark within the same one ends it.
type line struct {
	*renderer
	b                    strings.Builder
	bold, italic, struck bool
}

func (l *line) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		l.inline(c)
	}
}

func (l *line) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		l.b.WriteString(escape(l.value(n)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			l.b.WriteString("\n")
		}
	case *ast.String:
		l.b.WriteString(escape(string(n.Value)))
	case *ast.CodeSpan:
		l.b.WriteString(span(l.words(n)))
	case *ast.Emphasis:
		if n.Level > 1 {
			l.once(&l.bold, "**", n)
		} else {
			l.once(&l.italic, "*", n)
		}
	case *extensions.Strikethrough:
		l.once(&l.struck, "~~", n)
	case *extensions.TaskCheckBox:
		if n.IsChecked {
			l.b.WriteString("☑ ")
		} else {
			l.b.WriteString("☐ ")
		}
	case *ast.Link:
		l.link(resolve(n.Destination), l.words(n))
	case *ast.Image:
		l.link(resolve(n.Destination), l.words(n))
	case *ast.AutoLink:
		target := string(n.URL(l.source))
		if n.AutoLinkType == ast.AutoLinkEmail {
			l.b.WriteString(escape(strings.TrimPrefix(target, "mailto:")))
		} else {
			l.link(target, string(n.Label(l.source)))
		}
	case *ast.RawHTML:
		l.b.WriteString(escape(string(n.Segments.Value(l.source))))
	default:
		l.children(n)
	}
}

// span writes code within a line. Two marks around it let it have one inside.
func span(code string) string {
	switch {
	case strings.TrimSpace(code) == "" || strings.Contains(code, "``"):
		return escape(code)
	case strings.Contains(code, "`"):
		return "`` " + code + " ``"
	}
	return "`" + code + "`"
}

// once writes a mark, if it is not within the same one.
func (l *line) once(within *bool, mark string, n ast.Node) {
	if *within || n.FirstChild() == nil {
		l.children(n)
		return
	}
	*within = true
	l.b.WriteString(mark)
	l.children(n)
	l.b.WriteString(mark)
	*within = false
}

// link writes a link. Only addresses of the web become one; <> around them would be no
// address to Discord if there were one inside.
func (l *line) link(target, label string) {
	label = strings.Join(strings.Fields(label), " ")
	scheme, _, _ := strings.Cut(strings.ToLower(target), ":")
	web := scheme == "http" || scheme == "https"
	switch {
	case web && (label == "" || label == target):
		l.b.WriteString(inLink.Replace(target))
	case web:
		// Discord shows no link if its label looks like one.
		label = strings.NewReplacer("https://", "", "http://", "").Replace(label)
		l.b.WriteString("[" + strings.ReplaceAll(escape(label), "]", `\]`) + "](" + inLink.Replace(target) + ")")
	case label == "" || label == target:
		l.b.WriteString(escape(target))
	default:
		l.b.WriteString(escape(label + " (" + target + ")"))
	}
}

// inLink writes what would end the target of a link.
var inLink = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "", "|", "%7C", "`", "%60", "\\", "%5C")

// resolve resolves the escapes and entities of Markdown.
func resolve(s []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	html.DefaultWriter.Write(w, s)
	_ = w.Flush() // a Builder fails at nothing
	return unescaper.Replace(b.String())
}

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`)
