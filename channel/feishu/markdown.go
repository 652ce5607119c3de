package feishu

import (
	"bufio"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	htmlrenderer "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/text"

	"github.com/etui-run/etui/internal/printable"
)

// markup turns Markdown into that of cards: CommonMark with tables, in which tags such as
// <at id=all></at> mention people and others color text (富文本（Markdown）组件,
// card-json-v2-components/content-components/rich-text). What a model writes is parsed and
// written again, so that nothing in it is a tag, and pictures become links.
type markup struct{ parser parser.Parser }

func newMarkup() markup {
	return markup{goldmark.New(goldmark.WithExtensions(extension.GFM)).Parser()}
}

// length is how many bytes a text has in the request that sends it: as JSON in JSON. What is
// much too long anyway is counted as it is.
func (m markup) length(markdown string) int {
	if len(markdown) > 2*maxText {
		return len(markdown)
	}
	once, err := json.Marshal(m.render(markdown))
	if err != nil {
		return len(markdown)
	}
	twice, err := json.Marshal(string(once))
	if err != nil {
		return len(markdown)
	}
	return len(twice)
}

// escape writes a text so that nothing in it is markup. The page says to write such
// characters as entities.
func escape(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsAny(s, special) {
		return emojiCode.ReplaceAllString(s, "&#58;$1&#58;")
	}
	var b strings.Builder
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case !strings.ContainsRune(special, r),
			r == '_' && letter(before) && letter(after), // as in a_name
			r == '&' && after != '#' && !letter(after):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "&#%d;", r)
		}
		before = r
	}
	return emojiCode.ReplaceAllString(b.String(), "&#58;$1&#58;")
}

const special = "&<>*_~`[]\\|$"

func letter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// emojiCode is what a card shows as an emoji.
var emojiCode = regexp.MustCompile(`:([0-9A-Za-z]+):`)

// atLineStart is text that would begin a heading, a list or a line.
var atLineStart = regexp.MustCompile(`^(?:([#+=-])|(\d+)([.)]))`)

// begin escapes the beginning of a line.
func begin(s string) string {
	m := atLineStart.FindStringSubmatch(s)
	switch {
	case m == nil:
		return s
	case m[1] != "":
		return fmt.Sprintf("&#%d;", m[1][0]) + s[1:]
	}
	return m[2] + fmt.Sprintf("&#%d;", m[3][0]) + s[len(m[0]):]
}

// summary is what lists of chats and notifications show of a card.
func summary(markdown string) string {
	s := strings.NewReplacer("**", "", "`", "", "~~", "").Replace(markdown)
	return printable.Line(strings.TrimSpace(strings.TrimLeft(html.UnescapeString(s), "#>")), 100)
}

func (m markup) render(markdown string) string {
	source := []byte(markdown)
	root := m.parser.Parse(text.NewReader(source))
	r := &renderer{source: source}
	if out := strings.Trim(r.blocks(root, 0), "\n"); strings.TrimSpace(out) != "" {
		return out
	}
	return escape(markdown) // a definition of a link, say
}

type renderer struct {
	source []byte
	tables int
}

const (
	maxDepth  = 8 // quotes and lists that are deeper are shown as if they were there
	maxTables = 3 // of a card; a fourth was refused in tests of the platform (openclaw-lark, card-error.ts, 2026-03)
)

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
			if _, tight := n.(*ast.TextBlock); !tight {
				if _, list := n.(*ast.List); !list || n.HasBlankPreviousLines() {
					b.WriteString("\n")
				}
			}
		}
		b.WriteString(s)
	}
	return b.String()
}

func (r *renderer) block(n ast.Node, depth int) string {
	switch n := n.(type) {
	case *ast.Heading:
		if s := strings.ReplaceAll(r.inlines(n), "\n", " "); s != "" {
			return strings.Repeat("#", min(n.Level+2, 6)) + " " + s
		}
		return ""
	case *ast.FencedCodeBlock:
		return fence(string(n.Language(r.source)), string(n.Lines().Value(r.source)))
	case *ast.CodeBlock:
		return fence("", string(n.Lines().Value(r.source)))
	case *ast.HTMLBlock:
		s := string(n.Lines().Value(r.source))
		if n.HasClosure() {
			s += string(n.ClosureLine.Value(r.source))
		}
		return escape(strings.TrimRight(s, "\n"))
	case *ast.ThematicBreak:
		return "---"
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
	return r.inlines(n)
}

// list writes a list; the page asks for four spaces before what is inside.
func (r *renderer) list(l *ast.List, depth int) string {
	var items []string
	for n, number := l.FirstChild(), l.Start; n != nil; n, number = n.NextSibling(), number+1 {
		mark := "- "
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

// language is what may stand behind the fence of a block of code.
var language = regexp.MustCompile(`^[0-9A-Za-z+#._-]{1,30}$`)

// fence writes code as a block of its own.
func fence(lang, code string) string {
	if !language.MatchString(lang) {
		lang = ""
	}
	code = strings.ReplaceAll(strings.TrimRight(code, "\n"), "```", "`\u200b``")
	return "```" + lang + "\n" + untagged(code) + "\n```"
}

// tag is the beginning of a tag of cards that reaches people.
var tag = regexp.MustCompile(`(?i)<(at|person|link|audio)\b`)

// untagged keeps code from mentioning people: nobody promises that tags are not read there.
func untagged(code string) string { return tag.ReplaceAllString(code, "<\u200b$1") }

// table writes a table; one too many for a card is written as code.
func (r *renderer) table(t *extensions.Table) string {
	r.tables++
	var b strings.Builder
	for row := t.FirstChild(); row != nil; row = row.NextSibling() {
		b.WriteString("|")
		columns := 0
		for cell := row.FirstChild(); cell != nil; cell = cell.NextSibling() {
			s := r.words(cell)
			if r.tables <= maxTables {
				s = strings.ReplaceAll(r.inlines(cell), "\n", " ")
			}
			b.WriteString(" " + strings.TrimSpace(s) + " |")
			columns++
		}
		b.WriteString("\n")
		if row == t.FirstChild() {
			b.WriteString("|" + strings.Repeat(" --- |", columns) + "\n")
		}
	}
	if r.tables > maxTables {
		return fence("", b.String())
	}
	return strings.TrimRight(b.String(), "\n")
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

// resolve resolves the escapes and entities of Markdown.
func resolve(s []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	htmlrenderer.DefaultWriter.Write(w, s)
	_ = w.Flush() // a Builder fails at nothing
	return unescaper.Replace(b.String())
}

// unescaper resolves what goldmark writes for the four characters of HTML.
var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`)

// inlines writes the text in a block.
func (r *renderer) inlines(n ast.Node) string {
	var b strings.Builder
	r.children(&b, n)
	return b.String()
}

// children writes what is in a node. The parser cuts texts into pieces at characters that
// could be marks; they are put together again.
func (r *renderer) children(b *strings.Builder, n ast.Node) {
	said := ""
	flush := func() {
		r.write(b, said)
		said = ""
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			said += r.value(c)
			if c.SoftLineBreak() || c.HardLineBreak() {
				flush()
				b.WriteString("\n")
			}
		case *ast.String:
			said += string(c.Value)
		default:
			flush()
			r.inline(b, c)
		}
	}
	flush()
}

// write writes a text without markup.
func (r *renderer) write(b *strings.Builder, s string) {
	starts := b.Len() == 0 || strings.HasSuffix(b.String(), "\n")
	if s = escape(s); starts {
		s = begin(s)
	}
	b.WriteString(s)
}

func (r *renderer) inline(b *strings.Builder, n ast.Node) {
	switch n := n.(type) {
	case *ast.CodeSpan:
		code := r.words(n)
		if strings.Contains(code, "`") || strings.TrimSpace(code) == "" {
			r.write(b, code)
		} else {
			b.WriteString("`" + untagged(code) + "`")
		}
	case *ast.Emphasis:
		mark := strings.Repeat("*", min(n.Level, 2))
		r.marked(b, mark, n)
	case *extensions.Strikethrough:
		r.marked(b, "~~", n)
	case *extensions.TaskCheckBox:
		if n.IsChecked {
			b.WriteString("☑ ")
		} else {
			b.WriteString("☐ ")
		}
	case *ast.Link:
		b.WriteString(link(resolve(n.Destination), r.words(n)))
	case *ast.Image:
		b.WriteString(link(resolve(n.Destination), r.words(n)))
	case *ast.AutoLink:
		target := string(n.URL(r.source))
		if n.AutoLinkType == ast.AutoLinkEmail {
			r.write(b, string(n.Label(r.source)))
			return
		}
		b.WriteString(link(target, string(n.Label(r.source))))
	case *ast.RawHTML:
		r.write(b, string(n.Segments.Value(r.source)))
	default:
		r.children(b, n)
	}
}

// marked writes what is in a node between two marks.
func (r *renderer) marked(b *strings.Builder, mark string, n ast.Node) {
	inner := r.inlines(n)
	if strings.TrimSpace(inner) == "" {
		b.WriteString(inner)
		return
	}
	b.WriteString(mark + inner + mark)
}

// link writes a link. Only addresses of the web become one.
func link(target, label string) string {
	label = strings.Join(strings.Fields(label), " ")
	scheme, _, _ := strings.Cut(strings.ToLower(target), ":")
	if scheme != "http" && scheme != "https" {
		if label != "" && target != "" && label != target {
			label += " (" + target + ")"
		} else if label == "" {
			label = target
		}
		return escape(label)
	}
	if label == "" {
		label = target
	}
	return "[" + escape(label) + "](" + inLink.Replace(target) + ")"
}

// inLink writes what would end the target of a link, or begin a tag.
var inLink = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "", "\\", "%5C", "`", "%60", "*", "%2A")
