package markup

import (
	"html"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extensions "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	write "github.com/yuin/goldmark/renderer/html"
	"github.com/yuin/goldmark/util"
)

// HTML returns what turns Markdown into HTML in which nothing runs or is fetched. HTML in the text
// stays text, a picture becomes a link, as whoever reads the text would load it from wherever it
// is, and links lead to web and mail addresses only. Attributes follow the address of a link, such
// as rel="noreferrer".
func HTML(attributes string, more ...goldmark.Extender) goldmark.Markdown {
	table := extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone))
	if attributes != "" {
		attributes = " " + attributes
	}
	return goldmark.New(
		goldmark.WithExtensions(append(more, emphasis{struck: true}, extension.Strikethrough, table,
			extension.TaskList)...),
		goldmark.WithRendererOptions(write.WithHardWraps(),
			renderer.WithNodeRenderers(util.Prioritized(safe{attributes}, 1))),
	)
}

// safe renders what the usual renderer would let through or leave out.
type safe struct{ attributes string }

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
	if IsBreak(text) {
		text = "<br>"
	} else {
		text = html.EscapeString(text)
	}
	_, err := w.WriteString(text)
	return ast.WalkSkipChildren, err
}

// link writes a link or picture. What leads elsewhere becomes its text and address.
func (s safe) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	to := ""
	switch n := node.(type) {
	case *ast.Link:
		to = Resolve(n.Destination)
	case *ast.Image:
		to = Resolve(n.Destination)
	}
	target, ok := Address(to)
	out := ""
	switch {
	case ok && entering:
		out = `<a href="` + html.EscapeString(target) + `"` + s.attributes + `>`
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

func (s safe) auto(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	label, to, rest := AutoLink(node.(*ast.AutoLink), source)
	label = html.EscapeString(label)
	if target, ok := Address(to); ok {
		label = `<a href="` + html.EscapeString(target) + `"` + s.attributes + `>` + label + "</a>"
	}
	_, err := w.WriteString(label + rest)
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
