package mattermost

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel/markup"
)

// dialect is Mattermost's kind of Markdown. It is GitHub's, but a picture is written as a
// link, which no reader's program loads, and nothing mentions anybody.
func dialect() markup.Dialect {
	d := markup.Markdown(escape)
	d.Link, d.Rule = link, "---"
	d.Gap = func(b markup.Block) bool { return !b.Text && !b.Item && (b.Blank || !b.Tight) } // a table ends a list
	return d
}

// length is how Mattermost counts a text of the agent: as it is sent, in characters.
func (c *Channel) length(markdown string) int {
	return utf8.RuneCountInString(c.dialect.Sent(markdown, maxText))
}

// at is where a mention may begin: @channel would notify everybody.
var at = regexp.MustCompile(`(^|[^\pL\pN_])@`)

// escape writes text without meaning. Behind a space without width nobody is mentioned.
func escape(s string) string { return at.ReplaceAllString(markup.EscapeMarkdown(s), "$1@\u200b") }

// link writes a link. Only addresses of the web and of mailboxes become one.
func link(l markup.Link) string {
	target, ok := markup.Address(l.Target)
	switch {
	case !ok:
		return escape(l.Plain())
	case l.Bare && !l.Web():
		return escape(l.Label)
	}
	target = strings.ReplaceAll(markup.InLink(target), "@", "%40") // it mentions nobody either
	if l.Bare || l.Label == "" || l.Label == l.Target {
		return target
	}
	return "[" + strings.ReplaceAll(escape(l.Label), "]", `\]`) + "](" + target + ")"
}
