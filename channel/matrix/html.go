package matrix

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	write "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"

	"github.com/etui-run/etui/channel/markup"
)

// markdown turns Markdown into the HTML that clients show, org.matrix.custom.html: the elements
// that "Instant messaging" lists, and no others. HTML in the text stays text, a picture becomes
// a link, as clients would load it from wherever it is, and links lead to web and mail
// addresses only.
type markdown struct{ goldmark.Markdown }

func newMarkdown() markdown {
	return markdown{goldmark.New(
		goldmark.WithExtensions(extension.Strikethrough, extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.TaskList),
		goldmark.WithRendererOptions(write.WithHardWraps(), renderer.WithNodeRenderers(util.Prioritized(safe{}, 1))),
	)}
}

// render returns the HTML of a text; empty if it says no more than the text.
func (m markdown) render(text string) string {
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
	text := string(n.Lines().Value(source))
	if n.HasClosure() {
		text += string(n.ClosureLine.Value(source))
	}
	text = strings.ReplaceAll(html.EscapeString(strings.TrimRight(text, "\n")), "\n", "<br>\n")
	_, err := w.WriteString("<p>" + text + "</p>\n")
	return ast.WalkContinue, err
}

func (safe) raw(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkSkipChildren, nil
	}
	text := string(node.(*ast.RawHTML).Segments.Value(source))
	if markup.IsBreak(text) {
		text = "<br>"
	} else {
		text = html.EscapeString(text)
	}
	_, err := w.WriteString(text)
	return ast.WalkSkipChildren, err
}

// link writes a link or picture. What leads elsewhere becomes its text and address.
func (safe) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := ""
	switch n := node.(type) {
	case *ast.Link:
		to = markup.Resolve(n.Destination)
	case *ast.Image:
		to = markup.Resolve(n.Destination)
	}
	target, ok := markup.Address(to)
	out := ""
	switch {
	case ok && entering:
		out = `<a href="` + html.EscapeString(target) + `">`
		if node.FirstChild() == nil {
			out += html.EscapeString(to)
		}
	case ok:
		out = "</a>"
	case !entering && to != "":
		out = " (" + html.EscapeString(to) + ")"
	}
	_, err := w.WriteString(out)
	return ast.WalkContinue, err
}

func (safe) auto(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	label, to := markup.AutoLink(node.(*ast.AutoLink), source)
	label = html.EscapeString(label)
	if target, ok := markup.Address(to); ok {
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
