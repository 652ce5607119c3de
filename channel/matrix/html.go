package matrix

import (
	"bytes"
	"html"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	write "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// markup turns Markdown into the HTML that clients show, org.matrix.custom.html: the elements
// that "Instant messaging" lists, and no others. HTML in the text stays text, a picture becomes
// a link, as clients would load it from wherever it is, and links lead to web and mail
// addresses only.
type markup struct{ goldmark.Markdown }

func newMarkup() markup {
	return markup{goldmark.New(
		goldmark.WithExtensions(extension.Strikethrough, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.TaskList),
		goldmark.WithRendererOptions(write.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safe{}, 1))),
	)}
}

// render returns the HTML of a text; empty if it says no more than the text.
func (m markup) render(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b bytes.Buffer
	if m.Convert([]byte(text), &b) != nil { // it writes into memory
		return ""
	}
	out := strings.TrimSpace(b.String())
	if plain, ok := strings.CutPrefix(out, "<p>"); ok && strings.TrimSuffix(plain, "</p>") == html.EscapeString(strings.TrimSpace(text)) {
		return ""
	}
	return out
}

// safe renders what the usual renderer would let through or leave out.
type safe struct{}

// RegisterFuncs implements [renderer.NodeRenderer].
func (s safe) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindHTMLBlock, s.block)
	r.Register(ast.KindRawHTML, s.raw)
	r.Register(ast.KindImage, s.link)
	r.Register(ast.KindLink, s.link)
	r.Register(ast.KindAutoLink, s.auto)
	r.Register(extensions.KindTaskCheckBox, s.box)
}

func (safe) block(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.HTMLBlock)
	var b strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		b.Write(line.Value(source))
	}
	if n.HasClosure() {
		b.Write(n.ClosureLine.Value(source))
	}
	text := strings.ReplaceAll(html.EscapeString(strings.TrimRight(b.String(), "\n")), "\n", "<br>\n")
	_, err := w.WriteString("<p>" + text + "</p>\n")
	return ast.WalkContinue, err
}

func (safe) raw(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	var b strings.Builder
	n := node.(*ast.RawHTML)
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		b.Write(segment.Value(source))
	}
	text := html.EscapeString(b.String())
	if t := strings.ToLower(strings.ReplaceAll(b.String(), " ", "")); t == "<br>" || t == "<br/>" {
		text = "<br>"
	}
	_, err := w.WriteString(text)
	return ast.WalkSkipChildren, err
}

// link writes a link or picture. What leads elsewhere becomes its text and address.
func (safe) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	var to []byte
	switch n := node.(type) {
	case *ast.Link:
		to = n.Destination
	case *ast.Image:
		to = n.Destination
	}
	target, ok := leads(to)
	var err error
	switch {
	case ok && entering:
		_, err = w.WriteString(`<a href="` + html.EscapeString(target) + `">`)
		if err == nil && node.FirstChild() == nil {
			_, err = w.WriteString(html.EscapeString(string(to)))
		}
	case ok:
		_, err = w.WriteString("</a>")
	case !entering && len(to) > 0:
		_, err = w.WriteString(" (" + html.EscapeString(string(to)) + ")")
	}
	return ast.WalkContinue, err
}

func (safe) auto(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	n := node.(*ast.AutoLink)
	label, to := html.EscapeString(string(n.Label(source))), n.URL(source)
	if n.AutoLinkType == ast.AutoLinkEmail && !bytes.HasPrefix(bytes.ToLower(to), []byte("mailto:")) {
		to = append([]byte("mailto:"), to...)
	}
	if target, ok := leads(to); ok {
		label = `<a href="` + html.EscapeString(target) + `">` + label + "</a>"
	}
	_, err := w.WriteString(label)
	return ast.WalkContinue, err
}

func (safe) box(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	mark := "☐ "
	if node.(*extensions.TaskCheckBox).IsChecked {
		mark = "☑ "
	}
	_, err := w.WriteString(mark)
	return ast.WalkContinue, err
}

// leads returns the address of a link to the web or to a mailbox.
func leads(to []byte) (string, bool) {
	target := string(util.URLEscape(to, true))
	u, err := url.Parse(target)
	return target, err == nil && (u.Scheme == "http" || u.Scheme == "https" || u.Scheme == "mailto")
}
