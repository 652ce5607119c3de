package web

import (
	"fmt"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"

	"github.com/etui-run/etui/internal/printable"
)

// maxElements is how many elements a page may have whose main text is looked for.
// A larger one is shown whole.
const maxElements = 30_000

// markdown is a page as Markdown: its main text, unless all of it is wanted or no
// main text is found.
func (d document) markdown(all bool) (text string, err error) {
	defer func() {
		if p := recover(); p != nil { // parsers of what anybody may have written
			err = fmt.Errorf("the page at %s cannot be read: %v", d.url, p)
		}
	}()
	written, err := d.text()
	if err != nil {
		return "", err
	}
	doc, err := html.Parse(strings.NewReader(written))
	if err != nil {
		return "", fmt.Errorf("the page at %s cannot be read as HTML: %w", d.url, err)
	}
	title, body, next := titleOf(doc), doc, d.refresh(doc)
	if !all {
		if article, ok := d.article(doc); ok {
			title, body = article.Title(), article.Node
		}
	}
	drop(body)
	c := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	raw, err := c.ConvertNode(body, converter.WithDomain(d.url.Scheme+"://"+d.url.Host))
	if err != nil {
		return "", fmt.Errorf("the page at %s cannot be read: %w", d.url, err)
	}
	text = printable.Text(string(raw)) + next
	if title = line(title, 300); title != "" && strings.TrimSpace(text) != "" && !strings.Contains(text, "# "+title) {
		text = "# " + title + "\n\n" + text
	}
	return text, nil
}

// article finds the main text of a page. The page stays as it is.
func (d document) article(doc *html.Node) (readability.Article, bool) {
	p := readability.NewParser()
	p.MaxElemsToParse = maxElements
	p.KeepClasses = true // they tell the language of code
	a, err := p.ParseDocument(doc, d.url)
	return a, err == nil && a.Node != nil
}

// refresh says where a page sends its reader on to by itself, if anywhere.
func (d document) refresh(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "meta" || !strings.EqualFold(attribute(n, "http-equiv"), "refresh") {
			continue
		}
		_, to, found := strings.Cut(attribute(n, "content"), "=")
		if next, err := d.url.Parse(strings.Trim(strings.TrimSpace(to), `'"`)); err == nil && found {
			return "\n\n(The page sends its reader on to " + line(next.String(), 500) + ")"
		}
	}
	return ""
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && n.Data == "title" && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}

// drop takes out of a page what says nothing as text.
func drop(doc *html.Node) {
	var dropped []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode && (slices.Contains([]string{"script", "style", "noscript", "svg", "iframe", "template", "object", "canvas"}, n.Data) || n.Data == "img" && isInline(n)) {
			dropped = append(dropped, n)
		}
	}
	for _, n := range dropped {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

// isInline reports whether a picture is written into the page.
func isInline(img *html.Node) bool {
	return slices.ContainsFunc(img.Attr, func(a html.Attribute) bool {
		return a.Key == "src" && strings.HasPrefix(strings.TrimSpace(a.Val), "data:")
	})
}
