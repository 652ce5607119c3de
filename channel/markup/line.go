package markup

import (
	"bufio"
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// Link is a link or a picture.
type Link struct {
	Target string
	Label  string // without markup, in one line
	Inner  string // the label as the dialect writes it, if the link is not bare
	Bare   bool   // an address that stands for itself
}

// Web reports whether a link leads to a web page.
func (l Link) Web() bool {
	scheme, _, _ := strings.Cut(strings.ToLower(l.Target), ":")
	return scheme == "http" || scheme == "https"
}

// Plain returns the label and the target of a link that the platform does not make one.
func (l Link) Plain() string {
	if l.Bare || l.Target == "" || l.Label == l.Target {
		return l.Label
	}
	if l.Label == "" {
		return l.Target
	}
	return l.Label + " (" + l.Target + ")"
}

// Address returns the address of a link, written as an URL, and whether it leads to the web
// or to a mailbox.
func Address(target string) (string, bool) {
	target = string(util.URLEscape([]byte(target), false))
	u, err := url.Parse(target)
	return target, err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto")
}

// AutoLink returns the text and the address of a link that stands for itself, and what the parser took for
// its end that is not: the brackets around it.
func AutoLink(n *ast.AutoLink, source []byte) (label, target, rest string) {
	target, label = string(n.URL(source)), string(n.Label(source))
	for strings.HasSuffix(label, ")") && strings.Count(label, ")") > strings.Count(label, "(") {
		label, target, rest = strings.TrimSuffix(label, ")"), strings.TrimSuffix(target, ")"), rest+")"
	}
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	return label, target, rest
}

// inlines writes the text in a block or in a part of it.
func (w *writer) inlines(n ast.Node) string {
	l := line{writer: w}
	l.children(n)
	return l.b.String()
}

// line writes the text in a node.
type line struct {
	*writer
	b      strings.Builder
	marked bool // a mark was written last that a letter may not touch
}

// children writes what is in a node. The parser cuts a text where a mark could be; its
// pieces are put together again.
func (l *line) children(n ast.Node) {
	said := ""
	flush := func() {
		if said != "" {
			start := l.b.Len() == 0 || strings.HasSuffix(l.b.String(), "\n")
			l.write(l.Text(said, start))
			said = ""
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			said += l.value(c)
			if c.SoftLineBreak() || c.HardLineBreak() {
				flush()
				l.write(l.lineBreak())
			}
		case *ast.String:
			said += string(c.Value)
		default:
			flush()
			l.inline(c)
		}
	}
	flush()
}

func (l *line) inline(n ast.Node) {
	switch n := n.(type) {
	case *ast.CodeSpan:
		code := l.words(n)
		if s := l.Code(code); l.Joint != "" && !l.Flanks && s != l.Text(code, false) {
			l.mark(s)
		} else {
			l.write(s)
		}
	case *ast.Emphasis:
		if n.Level > 1 {
			l.within(&l.bold, l.Strong, n)
		} else {
			l.within(&l.italic, l.Italic, n)
		}
	case *extensions.Strikethrough:
		l.within(&l.struck, l.Struck, n)
	case *extensions.TaskCheckBox:
		if n.IsChecked {
			l.write(cmp.Or(l.Checked, "☑ "))
		} else {
			l.write(cmp.Or(l.Unchecked, "☐ "))
		}
	case *ast.Link:
		l.link(n, n.Destination)
	case *ast.Image:
		l.link(n, n.Destination)
	case *ast.AutoLink:
		label, target, rest := AutoLink(n, l.source)
		l.write(l.Link(Link{Target: target, Label: label, Bare: true}) + l.Text(rest, false))
	case *ast.RawHTML:
		if s := string(n.Segments.Value(l.source)); IsBreak(s) {
			l.write(l.lineBreak())
		} else {
			l.write(l.raw(s))
		}
	default:
		l.children(n)
	}
}

func (l *line) link(n ast.Node, target []byte) {
	l.write(l.Link(Link{Target: Resolve(target), Label: strings.Join(strings.Fields(l.words(n)), " "),
		Inner: l.inlines(n)}))
}

// within writes what is in a node with a mark around it, unless it is within that mark.
func (l *line) within(mark *bool, around func(string) string, n ast.Node) {
	if *mark || around == nil {
		l.children(n)
		return
	}
	*mark = true
	inner := l.inlines(n)
	*mark = false
	if strings.TrimSpace(inner) == "" {
		l.write(inner)
	} else {
		l.mark(around(inner))
	}
}

func (l *line) write(s string) {
	if s == "" {
		return
	}
	if first, _ := utf8.DecodeRuneInString(s); l.marked && letter(first) {
		l.b.WriteString(l.Joint)
	}
	l.marked = false
	l.b.WriteString(s)
}

// mark writes a text with marks around it.
func (l *line) mark(s string) {
	inner := strings.Trim(s, "*~")
	first, _ := utf8.DecodeRuneInString(inner)
	end, _ := utf8.DecodeLastRuneInString(inner)
	if last, _ := utf8.DecodeLastRuneInString(l.b.String()); letter(last) && (!l.Flanks || !letter(first)) {
		l.b.WriteString(l.Joint)
	}
	l.b.WriteString(s)
	l.marked = !l.Flanks || !letter(end)
}

func letter(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

func (w *writer) lineBreak() string {
	if w.bold || w.italic || w.struck {
		return cmp.Or(w.MarkedBreak, "\n")
	}
	return "\n"
}

func (w *writer) raw(s string) string {
	if w.Raw == nil {
		return w.Text(s, false)
	}
	return w.Raw(s)
}

var br = regexp.MustCompile(`(?i)^< *br */? *>$`)

// IsBreak reports whether HTML ends a line, which is the one tag that models use.
func IsBreak(s string) bool { return br.MatchString(s) }

// words returns the text in a node without markup.
func (w *writer) words(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // no step fails
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			b.WriteString(strings.ReplaceAll(w.value(n), "\n", " "))
			if n.SoftLineBreak() || n.HardLineBreak() {
				b.WriteByte(' ')
			}
		case *ast.String:
			b.Write(n.Value)
		case *ast.AutoLink:
			b.Write(n.Label(w.source))
		case *ast.RawHTML:
			if s := string(n.Segments.Value(w.source)); IsBreak(s) {
				b.WriteByte(' ')
			} else {
				b.WriteString(s)
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// value returns a text with its escapes and entities resolved.
func (w *writer) value(n *ast.Text) string {
	if n.IsRaw() {
		return string(n.Value(w.source))
	}
	return Resolve(n.Value(w.source))
}

// Resolve resolves the escapes and entities of Markdown.
func Resolve(s []byte) string {
	var b strings.Builder
	w := bufio.NewWriter(&b)
	html.DefaultWriter.Write(w, s)
	_ = w.Flush() // a Builder fails at nothing
	return unescaper.Replace(b.String())
}

// unescaper resolves what goldmark writes for the four characters of HTML.
var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "&quot;", `"`)
