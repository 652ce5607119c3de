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
	return markup.Dialect{
		Parser: markup.GFM(true),
		Text:   func(s string, _ bool) string { return escape(s) },
		Strong: markup.Around("**", "**"),
		Italic: markup.Around("*", "*"),
		Struck: markup.Around("~~", "~~"),
		Code:   func(code string) string { return markup.Span(code, escape) },
		Link:   link,
		Heading: func(level int, s string) string {
			return strings.Repeat("#", level) + " " + strings.ReplaceAll(s, "\n", " ")
		},
		Paragraph: markup.LineStarts,
		Fence:     markup.Fenced,
		Table:     table,
		Rule:      "---",
	}
}

// length is how Mattermost counts a text of the agent: as it is sent, in characters.
func (c *Channel) length(markdown string) int {
	return utf8.RuneCountInString(c.dialect.Sent(markdown, maxText))
}

var (
	escaper = strings.NewReplacer(`\`, `\\`, "*", `\*`, "_", `\_`, "~", `\~`, "`", "\\`", "|", `\|`, "[", `\[`, "<", `\<`)
	// at is where a mention may begin: @channel would notify everybody.
	at = regexp.MustCompile(`(^|[^\pL\pN_])@`)
)

// escape writes text without meaning. Behind a space without width nobody is mentioned.
func escape(s string) string { return at.ReplaceAllString(escaper.Replace(s), "$1@\u200b") }

// link writes a link. Only addresses of the web and of mailboxes become one.
func link(l markup.Link) string {
	target, ok := markup.Address(l.Target)
	switch {
	case !ok:
		return escape(l.Plain())
	case l.Bare:
		return escape(l.Label)
	case l.Label == "" || l.Label == l.Target:
		return markup.InLink(target)
	}
	return "[" + strings.ReplaceAll(escape(l.Label), "]", `\]`) + "](" + markup.InLink(target) + ")"
}

func table(t markup.Table) string {
	var lines []string
	for i, row := range t.Cells {
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
		if i == 0 {
			lines = append(lines, strings.Repeat("| --- ", len(row))+"|")
		}
	}
	return strings.Join(lines, "\n")
}
