package slack

import (
	"bufio"
	"cmp"
	"strconv"
	"strings"
	"unicode"
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

// markup turns Markdown into Slack's mrkdwn, which knows bold, italic, struck, code, quotes
// and links. Headings become bold, tables code.
type markup struct{ parser parser.Parser }

func newMarkup() markup {
	return markup{goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()}
}

// length is how Slack counts a text of the agent: as it is sent. What is much too long
// anyway is counted as it is.
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

// escape writes the three characters that mean something to Slack everywhere. Without them
// no text can mention anybody.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func (m markup) render(markdown string) string {
	source := []byte(markdown)
	root := m.parser.Parse(text.NewReader(source))
	r := &renderer{source: source}
	if out := strings.Trim(r.blocks(root, 0), "\n"); strings.TrimSpace(out) != "" {
		return out
	}
	return escape(markdown) // a definition of a link, say
}

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
		return r.inlines(n, true)
	case *ast.CodeBlock, *ast.FencedCodeBlock:
		return fence(string(n.Lines().Value(r.source)))
	case *ast.HTMLBlock:
		s := string(n.Lines().Value(r.source))
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(r.source))
		}
		return escape(strings.TrimRight(s, "\n"))
	case *ast.ThematicBreak:
		return "———"
	case *ast.Blockquote:
		s := r.blocks(n, depth+1)
		if depth >= maxDepth {
			return s
		}
		return "> " + strings.ReplaceAll(s, "\n", "\n> ")
	case *ast.List:
		return r.list(n, depth)
	case *extensions.Table:
		return r.table(n)
	}
	if n.Type() == ast.TypeBlock && n.FirstChild() != nil && n.FirstChild().Type() == ast.TypeBlock {
		return r.blocks(n, depth+1)
	}
	return r.inlines(n, false)
}

func (r *renderer) list(l *ast.List, depth int) string {
	var items []string
	for n, number := l.FirstChild(), l.Start; n != nil; n, number = n.NextSibling(), number+1 {
		mark := "• "
		if l.IsOrdered() {
			mark = strconv.Itoa(number) + ". "
		}
		s := r.blocks(n, depth+1)
		if depth < maxDepth {
			s = strings.ReplaceAll(s, "\n", "\n    ")
		}
		items = append(items, mark+s)
	}
	return strings.Join(items, "\n")
}

// fence writes code as a block of its own.
func fence(code string) string {
	code = strings.ReplaceAll(strings.TrimRight(code, "\n"), "```", "`\u200b``")
	return "```\n" + escape(code) + "\n```"
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
	return fence(b.String())
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
func (r *renderer) inlines(n ast.Node, bold bool) string {
	l := &line{renderer: r}
	if bold {
		l.bold = true
		l.children(n)
		if l.b.Len() == 0 {
			return ""
		}
		return "*" + l.b.String() + "*"
	}
	l.children(n)
	return l.b.String()
}

// line writes text with marks. Slack takes a mark for one only if no letter touches it from
// outside, which Markdown allows: there a character without width comes between.
type line struct {
	*renderer
	b                    strings.Builder
	closed               bool // a mark was written last
	bold, italic, struck bool // within such marks, where Slack knows no second one and no end of a line
}

const joint = "\u200b"

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func (l *line) write(s string) {
	if s == "" {
		return
	}
	if first, _ := utf8.DecodeRuneInString(s); l.closed && letter(first) {
		l.b.WriteString(joint)
	}
	l.closed = false
	l.b.WriteString(s)
}

// marked writes what inner writes between two marks.
func (l *line) marked(mark string, inner func()) {
	if last, _ := utf8.DecodeLastRuneInString(l.b.String()); letter(last) {
		l.b.WriteString(joint)
	}
	l.closed = false
	l.b.WriteString(mark)
	inner()
	l.b.WriteString(mark)
	l.closed = true
}

func (l *line) children(n ast.Node) {
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		l.inline(c)
	}
}

func (l *line) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.Text:
		l.write(escape(l.value(n)))
		if n.SoftLineBreak() || n.HardLineBreak() {
			if l.bold || l.italic || l.struck {
				l.write(" ")
			} else {
				l.write("\n")
			}
		}
	case *ast.String:
		l.write(escape(string(n.Value)))
	case *ast.CodeSpan:
		code := l.words(n)
		if strings.Contains(code, "`") || strings.TrimSpace(code) == "" {
			l.write(escape(code))
		} else {
			l.marked("`", func() { l.b.WriteString(escape(code)) })
		}
	case *ast.Emphasis:
		if n.Level > 1 {
			l.once(&l.bold, "*", n)
		} else {
			l.once(&l.italic, "_", n)
		}
	case *extensions.Strikethrough:
		l.once(&l.struck, "~", n)
	case *extensions.TaskCheckBox:
		if n.IsChecked {
			l.write("☑ ")
		} else {
			l.write("☐ ")
		}
	case *ast.Link:
		l.link(resolve(n.Destination), l.words(n))
	case *ast.Image:
		l.link(resolve(n.Destination), l.words(n))
	case *ast.AutoLink:
		target := string(n.URL(l.source))
		if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(target, "mailto:") {
			target = "mailto:" + target
		}
		l.link(target, string(n.Label(l.source)))
	case *ast.RawHTML:
		l.write(escape(string(n.Segments.Value(l.source))))
	default:
		l.children(n)
	}
}

// once writes a mark, if it is not within the same one.
func (l *line) once(within *bool, mark string, n ast.Node) {
	if *within || n.FirstChild() == nil {
		l.children(n)
		return
	}
	*within = true
	l.marked(mark, func() { l.children(n) })
	*within = false
}

// link writes a link. Only addresses of the web and of mail become one: in Slack's markup
// other targets mention people.
func (l *line) link(target, label string) {
	label = strings.Join(strings.Fields(label), " ")
	scheme, _, _ := strings.Cut(strings.ToLower(target), ":")
	if scheme != "http" && scheme != "https" && scheme != "mailto" {
		if label != "" && target != "" && label != target {
			label += " (" + target + ")"
		} else if label == "" {
			label = target
		}
		l.write(escape(label))
		return
	}
	target = inLink.Replace(target)
	if label == "" || label == target {
		l.write("<" + escape(target) + ">")
		return
	}
	l.write("<" + escape(target) + "|" + strings.ReplaceAll(escape(label), "|", "¦") + ">")
}

// inLink writes what would end the target of a link.
var inLink = strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "")

// readText turns Slack's markup into text: links become Markdown, mentions names, and the
// mentions of the bot go away. Bold, italic and code look almost alike in both.
func readText(s, bot string) (out string, named bool) {
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			break
		}
		end := strings.IndexByte(s[open:], '>')
		if end < 0 {
			break
		}
		b.WriteString(unescaper.Replace(s[:open]))
		token := s[open+1 : open+end]
		s = s[open+end+1:]
		target, label, labelled := strings.Cut(token, "|")
		switch {
		case bot != "" && target == "@"+bot:
			named = true
			if len(s) > 0 && s[0] == ' ' {
				s = s[1:]
			}
		case strings.HasPrefix(target, "!date^") && labelled:
			b.WriteString(unescaper.Replace(label))
		case strings.HasPrefix(target, "!"):
			name, _, _ := strings.Cut(target[1:], "^")
			b.WriteString("@" + strings.TrimPrefix(unescaper.Replace(cmp.Or(label, name)), "@"))
		case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
			b.WriteString(target[:1] + unescaper.Replace(cmp.Or(label, target[1:])))
		case labelled && label != "" && label != target && "mailto:"+label != target:
			b.WriteString("[" + unescaper.Replace(label) + "](" + unescaper.Replace(target) + ")")
		default:
			b.WriteString(unescaper.Replace(strings.TrimPrefix(target, "mailto:")))
		}
	}
	b.WriteString(unescaper.Replace(s))
	return strings.TrimSpace(b.String()), named
}

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// resolve resolves the escapes and entities of Markdown.
func resolve(s []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	html.DefaultWriter.Write(w, s)
	_ = w.Flush() // a Builder fails at nothing
	return unescaper.Replace(strings.ReplaceAll(b.String(), "&quot;", `"`))
}
