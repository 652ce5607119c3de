// Package htmltext parses HTML that strangers have written, and turns it into Markdown. Its cost grows
// with the length of the HTML, whatever the HTML says.
package htmltext

import (
	"slices"
	"strconv"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxSpanned is how many cells all cells of a page with rowspan or colspan may cover. Beyond
	// it, each counts as one: rowspan="100000000" would be that many rows.
	maxSpanned = 10_000
	// maxCells is how many cells the tables of a page may have, if each row is as long as the
	// longest one. Beyond it, they are texts: Markdown fills short rows up.
	maxCells = 100_000
	// maxNested is how deep lists and quotations may be in one another. Deeper ones are not
	// indented: each line begins with the marks of all of them.
	maxNested = 10
	// maxOpen is how many brackets may be open. Further ones are round: from each square one the
	// converter looks for its end.
	maxOpen = 500
)

// Markdown converts a page, and changes it. Relative links are of domain, such as
// https://example.org; empty leaves them as they are. It may panic, as the parsers do.
func Markdown(doc *html.Node, domain string) (string, error) {
	bound(doc)
	c := converter.NewConverter(converter.WithPlugins(
		base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(),
		// Aligned cells are as long as the longest one, in each row.
		table.NewTablePlugin(table.WithCellPaddingBehavior(table.CellPaddingBehaviorMinimal)),
	))
	var options []converter.ConvertOptionFunc
	if domain != "" {
		options = append(options, converter.WithDomain(domain))
	}
	raw, err := c.ConvertNode(doc, options...)
	return string(raw), err
}

// bound changes what would make the Markdown much longer than the page.
func bound(doc *html.Node) {
	var tables []*html.Node // and their parts
	spanned, rows, longest, open := 0, 0, 0, 0
	for n := range doc.Descendants() {
		if n.Type == html.TextNode {
			n.Data, open = closed(n.Data, open)
		}
		if n.Type != html.ElementNode {
			continue
		}
		for i, a := range n.Attr {
			n.Attr[i].Val, _ = closed(a.Val, 0)
		}
		switch n.Data {
		case "td", "th":
			spanned += span(n, "rowspan") * span(n, "colspan")
		case "tr":
			rows++
			longest = max(longest, length(n))
		case "ul", "ol", "blockquote":
			if nested(n) > maxNested {
				rename(n)
			}
		}
		if slices.Contains([]string{"table", "thead", "tbody", "tfoot", "tr", "td", "th", "caption"}, n.Data) {
			tables = append(tables, n)
		}
	}
	for _, n := range tables {
		if spanned > maxSpanned {
			n.Attr = slices.DeleteFunc(n.Attr, func(a html.Attribute) bool {
				return a.Key == "rowspan" ||
					a.Key == "colspan"
			})
		}
		if rows*longest > maxCells {
			rename(n)
		}
	}
}

// span is how many rows or columns a cell covers beyond the first one, plus one; at most more than
// all may.
func span(cell *html.Node, key string) int {
	for _, a := range cell.Attr {
		if a.Key != key {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(a.Val))
		if err != nil && strings.Trim(strings.TrimSpace(a.Val), "0123456789") == "" {
			n = maxSpanned
		}
		return min(max(n, 1), maxSpanned+1)
	}
	return 1
}

// length is how many cells a row has, with those that its cells cover.
func length(row *html.Node) (n int) {
	for cell := range row.ChildNodes() {
		if cell.Type == html.ElementNode {
			n += span(cell, "colspan")
		}
	}
	return n
}

// nested is how many lists and quotations an element is in, itself included.
func nested(n *html.Node) (depth int) {
	for ; n != nil && depth <= maxNested; n = n.Parent {
		if n.Type == html.ElementNode && (n.Data == "ul" || n.Data == "ol" || n.Data == "blockquote") {
			depth++
		}
	}
	return depth
}

// closed returns a text with at most [maxOpen] open brackets, and how many are open after it.
func closed(text string, open int) (string, int) {
	if strings.Count(text, "[")+open <= maxOpen && !strings.Contains(text, "]") {
		return text, open + strings.Count(text, "[")
	}
	b := []byte(text)
	for i, c := range b {
		switch c {
		case '[':
			if open++; open > maxOpen {
				b[i] = '('
			}
		case ']':
			open = 0
		}
	}
	return string(b), open
}

// rename makes an element one without a meaning of its own.
func rename(n *html.Node) { n.Data, n.DataAtom, n.Attr = "div", atom.Div, nil }
