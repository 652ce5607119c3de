package htmltext

import (
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// nodes is how large a tree is, in nodes: two attributes are as large as one.
func nodes(doc *html.Node) (n int) {
	for d := range doc.Descendants() {
		n += 1 + len(d.Attr)/2
	}
	return n
}

// tree is how large the tree of a page is; 0 if the parser gives it up.
func tree(page string) (n int) {
	defer func() {
		if recover() != nil {
			n = 0
		}
	}()
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		panic(err)
	}
	return nodes(doc)
}

// The parser makes no more nodes than the writer has said.
func FuzzParse(f *testing.F) {
	for _, page := range []string{
		`<b a=0><b a=1><p>x<p>x`, `<i><i><i><i></i></i></i><b><i x></b></i><p>x`, `<span><b></span></b><p>x<p>x`,
		`<table><b><tr><td>x<b></table>y`, `<svg><style/><title><b></title><b>x`, `<select><b></select></b>x`, `<a><div><a><div><b></a>`,
		`<![CDATA[<b>]]><b>`, `<template><b></template><p>`, `<applet><b></applet></b><p>`, `<nobr><b><nobr>x<p>y`, `<frameset><b>`,
		`<table>x<tr>x<tr>x`, `<math><mi><b>x</math><plaintext><b>`, `<font color=a><svg><font></font></svg><p>x`,
	} {
		f.Add(page)
	}
	f.Fuzz(func(t *testing.T, page string) {
		for _, all := range []bool{true, false} {
			w := write(page, all)
			if n := tree(w.out.String()); n > w.nodes {
				t.Errorf("%d nodes instead of at most %d for %q", n, w.nodes, page)
			}
		}
	})
}

// Pages of random tags, which reach more of the parser than random bytes.
func FuzzTags(f *testing.F) {
	tags := strings.Fields(`<b> </b> <b/> <i> </i> <i_x=1> <a> <a_href=x> </a> <nobr> </nobr> <font_color=x> </font> <code> </code> <p> </p> <div> </div> <span> </span> <sup> </sup>
		<table> </table> <tr> </tr> <td> </td> <th> <caption> </caption> <colgroup> <col> <tbody> <select> </select> <option> <svg> </svg> <math> </math> <mi> <desc> <foreignObject> </foreignObject>
		<title> </title> <style> </style> <style/> <script> </script> <template> </template> <applet> </applet> <object> </object> <button> </button> <li> <ul> </ul> <h1> </h1> <form> </form>
		<frameset> </frameset> <body> </body> <html> <head> </head> <br> </br> <img> <input> <hr> <pre> <textarea> </textarea> <![CDATA[ ]]> <!-- --> x x <plaintext> <noscript> </noscript> <dd> <ruby> <rt>
		<b_a=1_b=2_c=3_d=4> <b><p>x <b><p>x</p> <i><div> </i></div> <b><span> </b></span> <marquee> </marquee> <iframe> </iframe> <xmp> </xmp> <u><u><u><u> </u></u></u>`)
	for i := range tags {
		f.Add([]byte{byte(i), 1, byte(i / 2), byte(3 * i), byte(i), 20, 20})
	}
	f.Fuzz(func(t *testing.T, picks []byte) {
		var page strings.Builder
		for _, n := range picks {
			page.WriteString(strings.ReplaceAll(tags[int(n)%len(tags)], "_", " "))
		}
		for _, all := range []bool{true, false} {
			w := write(page.String(), all)
			if n := tree(w.out.String()); n > w.nodes {
				t.Errorf("%d nodes instead of at most %d for %q", n, w.nodes, page.String())
			}
		}
	})
}

func TestParse(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<title>a & b</title><body class=x><p>c<br>d<b>e</b>`:                                           `<html><head><title>a &amp; b</title></head><body class="x"><p>c<br/>d<b>e</b></p></body></html>`,
		`<svg><style/><g/></svg>x<style>y</style><xmp><b></xmp>`:                                        `<html><head></head><body><svg><g></g></svg>x<pre>&lt;b&gt;</pre></body></html>`,
		`x<script type="application/ld+json">{"a": 1}</script><script>y</script><noscript>z</noscript>`: `<html><head></head><body>x<script type="application/ld+json">{"a": 1}</script></body></html>`,
		`<a href=x onclick=y>z</a><!-- c -->`:                                                           `<html><head></head><body><a href="x">z</a></body></html>`,
	} {
		doc, err := Parse(page)
		if err != nil {
			t.Fatal(err)
		}
		var got strings.Builder
		if err := html.Render(&got, doc); err != nil || got.String() != want {
			t.Errorf("%s\ngot  %s\nwant %s\n%v", page, got.String(), want, err)
		}
	}
	if _, err := Parse(strings.Repeat("<div>", 600)); err == nil {
		t.Error("no error for a page that the parser gives up")
	}
}

// A tree is bounded, whatever its page says.
func TestParseBounds(t *testing.T) {
	t.Parallel()
	var open, colours strings.Builder
	for i := range 500 {
		open.WriteString("<b a=" + strings.Repeat("1", i%50) + " b=" + string(rune('a'+i%26)) + ">")
		colours.WriteString("<font color=" + strings.Repeat("f", i) + "></font>")
	}
	times := strings.Repeat
	for name, c := range map[string]struct{ page, has string }{
		"formats in paragraphs":     {open.String() + times("<p>x", 30_000), "x"},
		"formats in cells":          {times("<table><tr><td>"+open.String()[:200], 20) + times("<p>x", 300_000), "x"},
		"a long page":               {times("<p>x", 1_200_000), "rest of the page is left out"},
		"roots":                     {times("<body a=b c=d>", 300_000), ""},
		"text in pieces":            {times("a piece of text that is long</q>", 100_000), "long"},
		"text before a table":       {"<table>" + times("a piece of text<tr>", 100_000), "piece"},
		"links around blocks":       {times("<a href=x><div>x</div></a>", 5_000), "x"},
		"a page with many formats":  {times("<p>"+colours.String()+"<b>x</b>", 5), "<b>x</b>"},
		"an ordinary page, but big": {times("<div><p>one <b>two</b> <a href=x>three</a> <em>four</em> five</p></div>", 20_000), "<b>two</b>"},
	} {
		doc, err := Parse(c.page)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var text strings.Builder
		if err := html.Render(&text, doc); err != nil || !strings.Contains(text.String(), c.has) {
			t.Errorf("%s: %q is missing, %v", name, c.has, err)
		}
		if n := nodes(doc); n > maxNodes {
			t.Errorf("%s: %d nodes", name, n)
		}
	}
}
