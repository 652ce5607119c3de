package discord

import (
	"strings"

	"github.com/etui-run/etui/channel/markup"
)

// dialect is Discord's kind of Markdown, which knows neither tables nor pictures nor headings
// below the third, and in which <, _ and | mean other things. Without a < no text can mention
// anybody.
func dialect() markup.Dialect {
	d := markup.Markdown(markup.EscapeMarkdown)
	d.Link, d.Heading, d.Quote = link, heading, quote
	d.Table = func(t markup.Table) string { return markup.Fenced("", markup.Aligned(t.Words, 30, false)) }
	return d
}

// length is how Discord counts a text of the agent: as it is sent, in UTF-16.
func (c *Channel) length(markdown string) int { return markup.UTF16(c.dialect.Sent(markdown, maxText)) }

func heading(level int, s string) string {
	s = strings.ReplaceAll(s, "\n", " ")
	switch {
	case level <= 3:
		return strings.Repeat("#", level) + " " + s
	case strings.Contains(s, "**"):
		return s
	}
	return "**" + s + "**"
}

// quote writes a quotation. Discord shows no code in one, and no other quotation.
func quote(body string, _ bool) string {
	if strings.Contains(body, "```") {
		return body
	}
	return markup.Indent(strings.ReplaceAll("\n"+body, "\n> ", "\n")[1:], "> ", "> ")
}

// link writes a link. Only addresses of the web become one; <> around them would be no
// address to Discord if there were one inside.
func link(l markup.Link) string {
	switch {
	case !l.Web():
		return markup.EscapeMarkdown(l.Plain())
	case l.Label == "" || l.Label == l.Target:
		return markup.InLink(l.Target)
	}
	// Discord shows no link if its label looks like one.
	label := strings.NewReplacer("https://", "", "http://", "").Replace(l.Label)
	return "[" + strings.ReplaceAll(markup.EscapeMarkdown(label), "]", `\]`) + "](" + markup.InLink(l.Target) + ")"
}
