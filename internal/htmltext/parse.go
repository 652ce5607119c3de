package htmltext

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	// maxNodes is how many nodes the tree of a page may have. A page that could have more loses its
	// bold and italic text first, and then its end.
	maxNodes = 1_000_000
	// maxAttributes is how many attributes an element may have. Further ones are dropped.
	maxAttributes = 50
	// ofLink is how many attributes a link may have.
	ofLink = 6
	// maxRoots is how often a page may open html and body: the parser compares each with all before it.
	maxRoots = 10
	// perNode is how many bytes of text the parser may copy at the cost of one node: it appends text
	// to the text before it.
	perNode = 4 << 10
)

// Parse parses a page that strangers have written. html.Parse alone is not safe: it repeats every
// formatting element that is still open in each new paragraph, so the tree can be as large as the
// square of the page. Parse rewrites the page, without scripts, styles and comments, and counts how
// many nodes the tree can have at most. It keeps the whole page if that is within the limit.
func Parse(page string) (doc *html.Node, err error) {
	defer func() {
		if p := recover(); p != nil { // more than 512 elements inside one another
			doc, err = nil, fmt.Errorf("parsing HTML: %v", p)
		}
	}()
	w := write(page, true)
	if w.nodes > maxNodes {
		w = write(page, false)
	}
	if w.nodes > maxNodes {
		w.out.WriteString("<p>(The rest of the page is left out: it has too many elements.)")
	}
	return html.Parse(&w.out)
}

// writer rewrites a page so that the parser sees the same tokens as the writer.
type writer struct {
	out     bytes.Buffer
	all     bool // keep formatting elements other than links
	nodes   int  // an upper bound for the tree
	text    int  // bytes so far
	piece   int  // bytes since the last element in which, or after which, text begins anew
	tables  int
	cell    bool // the last part of a table is a cell
	roots   int
	typed   bool // the document's type is written
	drawn   int  // open svg and math elements; <style/> is an empty element inside them
	within  html.Token
	formats formats
}

// write rewrites a page. It stops when the tree can have more than maxNodes.
func write(page string, all bool) *writer {
	w := &writer{all: all, nodes: 10, formats: formats{open: map[string]*format{}}}
	for z := html.NewTokenizer(strings.NewReader(page)); w.nodes <= maxNodes; {
		kind := z.Next()
		if kind == html.ErrorToken {
			break
		}
		t := z.Token()
		switch {
		case kind == html.TextToken && w.within.DataAtom != 0:
			w.raw(t)
		case kind == html.TextToken:
			w.words(t)
		case kind == html.EndTagToken && isRaw(t):
			w.within = html.Token{}
		case kind == html.EndTagToken:
			w.end(t)
		case kind == html.DoctypeToken && !w.typed:
			w.typed = true
			w.out.WriteString(t.String())
		case kind == html.CommentToken, kind == html.DoctypeToken:
		case !isRaw(t):
			w.start(t)
		case kind == html.SelfClosingTagToken && w.drawn > 0:
			z.NextIsNotRawText()
		default:
			w.within = t
		}
	}
	return w
}

// isRaw reports whether the content of an element is one piece of text.
func isRaw(t html.Token) bool {
	switch t.DataAtom {
	case atom.Iframe, atom.Noembed, atom.Noframes, atom.Noscript, atom.Plaintext, atom.Script, atom.Style,
		atom.Textarea, atom.Title, atom.Xmp:
		return true
	}
	return false
}

// raw writes an element whose content is one piece of text, if readers see it or it describes the page.
func (w *writer) raw(t html.Token) {
	element := w.within
	switch w.within = (html.Token{}); element.DataAtom {
	case atom.Xmp, atom.Plaintext:
		element.Data, element.DataAtom = "pre", atom.Pre
	case atom.Title, atom.Textarea:
	case atom.Script:
		if strings.Contains(t.Data, "<") ||
			!slices.ContainsFunc(element.Attr,
				func(a html.Attribute) bool { return a.Key == "type" && a.Val == "application/ld+json" }) {
			return
		}
		w.start(element)
		w.out.WriteString(t.Data)
		w.end(element)
		return
	default:
		return
	}
	w.start(element)
	w.words(t)
	w.end(element)
}

func (w *writer) words(t html.Token) {
	w.text += len(t.Data)
	w.piece += len(t.Data)
	w.nodes += 2 + w.formats.nodes + w.piece/perNode
	if w.tables > 0 && !w.cell && strings.TrimSpace(t.Data) != "" { // it goes before the table
		w.nodes += w.text / perNode
	}
	w.out.WriteString(t.String())
}

func (w *writer) start(t html.Token) {
	switch t.DataAtom {
	case atom.Frameset:
		return
	case atom.Html, atom.Body:
		if w.roots++; w.roots > maxRoots {
			return
		}
	case atom.Svg, atom.Math:
		w.drawn++
	case atom.A:
		t.Attr = slices.DeleteFunc(t.Attr, func(a html.Attribute) bool {
			return !slices.Contains([]string{"href", "title", "id", "class", "rel", "style"}, a.Key)
		})
		t.Attr = t.Attr[:min(len(t.Attr), ofLink)]
	default:
		if isFormat(t) && !w.all {
			return
		}
	}
	t.Attr = t.Attr[:min(len(t.Attr), maxAttributes)]
	switch t.DataAtom {
	case atom.Html, atom.Head, atom.Body, atom.Form, atom.Nobr, atom.Select, atom.Option, atom.Optgroup:
	case atom.Table:
		w.tables++
		w.cell = false
	case atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption, atom.Colgroup, atom.Col:
		w.nodes += 2 // the parents that a page may leave out
		w.cell = t.DataAtom == atom.Td || t.DataAtom == atom.Th || t.DataAtom == atom.Caption
	default:
		w.piece = 0
	}
	w.nodes += 1 + len(t.Attr)/2 + w.formats.nodes + w.formats.start(t)
	w.out.WriteString(t.String())
}

func (w *writer) end(t html.Token) {
	switch {
	case isFormat(t) && t.DataAtom != atom.A && !w.all:
		return
	case t.DataAtom == atom.Svg || t.DataAtom == atom.Math:
		w.drawn = max(0, w.drawn-1)
	}
	switch t.DataAtom {
	case atom.Table:
		w.tables = max(0, w.tables-1)
		w.cell = false
	case atom.Tbody, atom.Thead, atom.Tfoot, atom.Tr, atom.Td, atom.Th, atom.Caption:
		w.cell = false
	}
	w.nodes += 1 + w.formats.end(t)
	w.out.WriteString("</" + t.Data + ">")
}

// formats are the formatting elements that the parser may open anew, or more. It keeps at most three
// that are equal, and one link.
type formats struct {
	open  map[string]*format
	nodes int // what all of them cost if they are opened anew
	count int
	size  int // the largest
	// inline are the inline elements that have been opened inside one another, with nothing but text
	// in them. Only these are surely gone after their end tags.
	inline []inline
}

// format is a group of formatting elements that are equal.
type format struct{ count, size int }

type inline struct {
	name   string
	format string // its group; empty for other elements
}

// isFormat reports whether the parser opens an element anew where it ends too early.
func isFormat(t html.Token) bool {
	switch t.DataAtom {
	case atom.A, atom.B, atom.Big, atom.Code, atom.Em, atom.Font, atom.I, atom.Nobr, atom.S, atom.Small, atom.Strike,
		atom.Strong, atom.Tt, atom.U:
		return true
	}
	return false
}

// start adds the element of a start tag, and returns how many nodes the parser may move or copy to
// close another one first.
func (f *formats) start(t html.Token) (nodes int) {
	switch t.DataAtom {
	case atom.Br, atom.Img, atom.Wbr:
		return 0
	case atom.Abbr, atom.Cite, atom.Kbd, atom.Mark, atom.Q, atom.Samp, atom.Span, atom.Sub, atom.Sup, atom.Time,
		atom.Var:
		f.inline = append(f.inline, inline{name: t.Data})
		return 0
	}
	if !isFormat(t) {
		f.inline = f.inline[:0]
		return 0
	}
	key, size := t.Data, 1+len(t.Attr)/2
	switch t.DataAtom {
	case atom.A:
		size = 1 + ofLink/2
		nodes = f.adopted()
	case atom.Nobr:
		nodes = f.adopted()
	default:
		key = t.String()
	}
	if nodes > 0 {
		f.inline = f.inline[:0]
	}
	g := f.open[key]
	if g == nil {
		g = &format{size: size}
		f.open[key] = g
	}
	f.add(g, t.DataAtom, 1)
	f.size = max(f.size, size)
	f.inline = append(f.inline, inline{t.Data, key})
	return nodes
}

// end removes the element of an end tag if that is sure. Else it returns how many nodes the parser may
// copy.
func (f *formats) end(t html.Token) (nodes int) {
	last := len(f.inline) - 1
	if last < 0 || f.inline[last].name != t.Data {
		f.inline = f.inline[:0]
		if isFormat(t) {
			return f.adopted()
		}
		return 0
	}
	if key := f.inline[last].format; key != "" {
		f.add(f.open[key], t.DataAtom, -1)
	}
	f.inline = f.inline[:last]
	return 0
}

// add changes the size of a group by n elements.
func (f *formats) add(g *format, a atom.Atom, n int) {
	most := 3
	if a == atom.A {
		most = 1
	}
	before := min(g.count, most)
	g.count += n
	f.count += min(g.count, most) - before
	f.nodes += (min(g.count, most) - before) * g.size
}

// adopted is how many nodes the parser copies at most to end a formatting element in which there are
// blocks: eight times the element and three others ("adoption agency").
func (f *formats) adopted() int { return 8 * min(f.count, 4) * f.size }
