package htmltext_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/htmltext"
)

func convert(t *testing.T, page string) string {
	t.Helper()
	doc, err := htmltext.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	text, err := htmltext.Markdown(doc, "https://example.org")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestMarkdown(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		`<h1>A</h1><p>b <b>c</b> <a href="/d">e</a>`:                                                                              "# A\n\nb **c** [e](https://example.org/d)",
		`<table><tr><th>a<th>long one</tr><tr><td>1<td>2</table>`:                                                                 "| a | long one |\n|---|---|\n| 1 | 2 |",
		`<table><tr><th colspan=2>a<th>b</tr><tr><td rowspan="2">1<td>2<td>3</tr><tr><td>4<td>5</table>`:                          "| a |  | b |\n|---|---|---|\n| 1 | 2 | 3 |\n|  | 4 | 5 |",
		`<table><tr><th>a<th>b</tr><tr><td rowspan=100000000>1<td>2</tr></table>`:                                                 "| a | b |\n|---|---|\n| 1 | 2 |",
		`<table><tr><th>a<th>b</tr><tr><td rowspan=99999999999999999999 colspan=2>1<td>2</tr></table>`:                            "| a | b |\n|---|---|\n| 1 | 2 |",
		`<ul><li>a<ul><li>b</ul></ul><blockquote>c<blockquote>d</blockquote></blockquote>`:                                        "- a\n  \n  - b\n\n> c\n> \n> > d",
		strings.Repeat("<blockquote>", 100) + "x":                                                                                 strings.Repeat("> ", 10) + "x",
		"<table>" + strings.Repeat("<tr><td>x", 500) + "<tr>" + strings.Repeat("<td>y", 500) + "</table><table><tr><td>z</table>": "x",
	} {
		got := convert(t, page)
		if len(want) > 1 && got != want || !strings.HasPrefix(got, want) || len(got) > 5000 {
			t.Errorf("%.200s\ngot  %.500q\nwant %q", page, got, want)
		}
	}
}

// A page of half a megabyte costs no more than some hundreds of megabytes, whatever it says.
func TestBounds(t *testing.T) { //nolint:paralleltest // it counts the bytes of the whole process
	var open []string
	for i := range 500 {
		open = append(open, fmt.Sprintf("<b a=%d>", i))
	}
	times := func(s string, n int) string { return strings.Repeat(s, n) }
	for name, page := range map[string]string{
		"a cell over many rows":       `<table><tr><td rowspan="100000000">x</td></tr><tr><td>a</td></tr></table>`,
		"a cell over many columns":    `<table><tr><td colspan="100000000">x</td></tr><tr><td>a</td></tr></table>`,
		"a cell over both":            times(`<table><tr><td colspan="1000" rowspan=65534>x</td></tr></table>`, 100),
		"many cells over columns":     `<table>` + times(`<tr><td colspan="1000">x</td></tr>`, 2_000) + `</table>`,
		"a long cell in a long table": `<table>` + times(`<tr><td>x`, 2_000) + `<tr><td>` + times("y", 40_000) + `</table>`,
		"a long row in a long table":  `<table>` + times(`<tr><td>x`, 2_000) + `<tr>` + times("<td>y", 5_000) + `</table>`,
		"quotes in quotes":            times("<blockquote>", 480) + times("x<br>", 10_000),
		"lists in lists":              times("<ul><li>", 240) + times("x<br>", 10_000),
		"tables in tables":            times("<table><tr><td>", 120) + times("x<br>", 10_000),
		"bold in bold":                times("<b>", 480) + times("x<br>", 10_000),
		"bold in each paragraph":      strings.Join(open, "") + times("<p>x", 30_000),
		"items":                       `<ol start="999999999999999999999">` + times("<li>x", 10_000),
		"marks":                       times("*_`[|", 8_000),
		"brackets that never close":   times("[", 50_000) + "<p>" + times("<i>[</i>", 5_000),
		"brackets that close late":    times("[", 40_000) + times("]", 10_000),
		"brackets in a title":         `<a title="` + times("[", 40_000) + `" href="x">y</a>`,
	} {
		doc, err := htmltext.Parse(page)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		text, err := htmltext.Markdown(doc, "")
		runtime.ReadMemStats(&after)
		if grown := (after.TotalAlloc - before.TotalAlloc) >> 20; err != nil || len(text) > 4<<20 || grown > 1024 {
			t.Errorf("%s: %d bytes, %d MiB, %v", name, len(text), grown, err)
		}
		if n := strings.Count(text, "["); n > 1000 { // finding their ends would take a minute
			t.Errorf("%s: %d brackets", name, n)
		}
	}
}
