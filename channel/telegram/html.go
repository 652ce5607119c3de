package telegram

import (
	"html"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark/util"

	"github.com/etui-run/etui/channel/markup"
)

// dialect is the HTML that Telegram reads, https://core.telegram.org/bots/api#html-style:
// bold, italic, struck out, links, code and quotations. Headings become bold, tables text of
// fixed width; HTML stays text.
func dialect() markup.Dialect {
	return markup.Dialect{
		Parser:      markup.GFM(false),
		Text:        func(s string, _ bool) string { return string(util.EscapeHTML([]byte(s))) },
		Raw:         html.EscapeString,
		Strong:      markup.Around("<b>", "</b>"),
		Italic:      markup.Around("<i>", "</i>"),
		Struck:      markup.Around("<s>", "</s>"),
		Code:        func(code string) string { return "<code>" + html.EscapeString(code) + "</code>" },
		Link:        link,
		Heading:     func(_ int, s string) string { return "<b>" + s + "</b>" },
		BoldHeading: true,
		Fence:       fence,
		Quote:       quotation,
		Bullet:      "• ",
		Item: func(mark, body string) string {
			return inner(body, mark, strings.Repeat(" ", utf8.RuneCountInString(mark)))
		},
		Table: table,
		Gap:   func(b markup.Block) bool { return !b.Item && !b.Tight },
	}
}

// html turns Markdown into HTML.
func (c *Channel) html(markdown string) string {
	if out := strings.TrimSpace(strings.ReplaceAll(c.dialect.Render(markdown), codeEnd,
		"\n")); strings.TrimSpace(visible(out)) != "" {
		return out
	}
	return html.EscapeString(strings.ToValidUTF8(markdown, "\uFFFD"))
}

// visible returns what readers see of HTML of the dialect.
func visible(markup string) string {
	var b strings.Builder
	for {
		before, rest, ok := strings.Cut(markup, "<")
		if b.WriteString(before); !ok {
			return html.UnescapeString(b.String())
		}
		_, markup, _ = strings.Cut(rest, ">")
	}
}

// length is how Telegram counts a text: UTF-16 units without the markup.
func (c *Channel) length(markdown string) int { return markup.UTF16(visible(c.html(markdown))) }

// codeEnd ends a line of code, which is not indented in a list, until the text is complete.
// No text contains it.
const codeEnd = "\x00"

func fence(language, code string) string {
	code = strings.ReplaceAll(html.EscapeString(code), "\n", codeEnd)
	if language == "" {
		return "<pre>" + code + "</pre>"
	}
	return `<pre><code class="language-` + html.EscapeString(language) + `">` + code + "</code></pre>"
}

func table(t markup.Table) string {
	for _, row := range t.Cells {
		for i, cell := range row {
			row[i] = strings.Join(strings.Fields(visible(cell)), " ")
		}
	}
	return fence("", markup.Aligned(t.Cells, maxText, true))
}

// quotation writes a quotation, which has no inner ones.
func quotation(body string, nested bool) string {
	if nested {
		return inner(body, "&gt; ", "&gt; ")
	}
	return "<blockquote>" + body + "</blockquote>"
}

// inner puts first before the first line of a text and rest before others that are not empty.
func inner(body, first, rest string) string {
	return first + strings.ReplaceAll(strings.ReplaceAll(body, "\n", "\n"+rest), "\n"+rest+"\n", "\n\n")
}

// link writes a link or picture; Telegram makes links of web and mail addresses only, and by
// itself of those in the text.
func link(l markup.Link) string {
	target, ok := markup.Address(l.Target)
	switch {
	case l.Bare:
		return html.EscapeString(l.Label)
	case ok && l.Inner == "":
		return `<a href="` + html.EscapeString(target) + `">` + html.EscapeString(l.Target) + "</a>"
	case ok:
		return `<a href="` + html.EscapeString(target) + `">` + l.Inner + "</a>"
	case l.Target == "":
		return l.Inner
	}
	return l.Inner + " (" + html.EscapeString(l.Target) + ")"
}
