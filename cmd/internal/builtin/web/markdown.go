package web

import (
	"fmt"
	"slices"
	"strings"

	"codeberg.org/readeck/go-readability/v2"
	"golang.org/x/net/html"

	"github.com/etui-run/etui/internal/htmltext"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
)

// maxElements is the largest number of elements for which the main text of a page is
// extracted. Larger pages are shown in full.
const maxElements = 30_000

// markdown converts a page to Markdown: its main text, or all of it on request or if
// no main text is found.
func (d document) markdown(all bool) (text string, err error) {
	defer func() {
		if p := recover(); p != nil { // the parsers read untrusted input
			_ = panics.Report(nil, "reading a page", p) // it is logged
			err = fmt.Errorf("the page at %s cannot be read: %v", d.url, p)
		}
	}()
	written, err := d.text()
	if err != nil {
		return "", err
	}
	doc, err := htmltext.Parse(written)
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
	raw, err := htmltext.Markdown(body, d.url.Scheme+"://"+d.url.Host)
	if err != nil {
		return "", fmt.Errorf("the page at %s cannot be read: %w", d.url, err)
	}
	text = printable.Text(raw) + next
	if title = printable.Line(title, 300); title != "" && strings.TrimSpace(text) != "" &&
		!strings.Contains(text, "# "+title) {
		text = "# " + title + "\n\n" + text
	}
	return text, nil
}

// article extracts the main text of a page without changing the page.
func (d document) article(doc *html.Node) (readability.Article, bool) {
	p := readability.NewParser()
	p.MaxElemsToParse = maxElements
	p.KeepClasses = true // they name the language of code
	a, err := p.ParseDocument(doc, d.url)
	return a, err == nil && a.Node != nil
}

// refresh returns a note about where a page redirects its reader, if anywhere.
func (d document) refresh(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.Type != html.ElementNode || n.Data != "meta" || !strings.EqualFold(attribute(n, "http-equiv"), "refresh") {
			continue
		}
		_, to, found := strings.Cut(attribute(n, "content"), "=")
		if next, err := d.url.Parse(strings.Trim(strings.TrimSpace(to), `'"`)); err == nil && found {
			return "\n\n(The page redirects to " + printable.Line(next.String(), 500) + ")"
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

// drop removes elements that carry no text.
func drop(doc *html.Node) {
	var dropped []*html.Node
	for n := range doc.Descendants() {
		if n.Type == html.ElementNode &&
			(slices.Contains([]string{"script", "style", "noscript", "svg", "iframe", "template", "object", "canvas"},
				n.Data) || n.Data == "img" && isInline(n)) {
			dropped = append(dropped, n)
		}
	}
	for _, n := range dropped {
		if n.Parent != nil {
			n.Parent.RemoveChild(n)
		}
	}
}

// isInline reports whether a picture is embedded in the page.
func isInline(img *html.Node) bool {
	return slices.ContainsFunc(img.Attr, func(a html.Attribute) bool {
		return a.Key == "src" && strings.HasPrefix(strings.TrimSpace(a.Val), "data:")
	})
}
