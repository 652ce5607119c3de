package slack

import (
	"cmp"
	"strings"

	"github.com/etui-run/etui/channel/markup"
)

// dialect is Slack's mrkdwn, which knows bold, italic, struck, code, quotes and links.
// Headings become bold, tables code. A mark is one only if no letter touches it from outside,
// which Markdown allows: there a character without width comes between. No mark goes beyond
// the end of a line.
func dialect() markup.Dialect {
	return markup.Dialect{
		Parser:      markup.GFM(true),
		Text:        func(s string, _ bool) string { return escape(s) },
		Strong:      markup.Around("*", "*"),
		Italic:      markup.Around("_", "_"),
		Struck:      markup.Around("~", "~"),
		Code:        span,
		Link:        link,
		Joint:       "\u200b",
		MarkedBreak: " ",
		Heading:     func(_ int, s string) string { return "*" + s + "*" },
		BoldHeading: true,
		Fence:       fence,
		Bullet:      "• ",
		Indent:      "    ",
		Table:       func(t markup.Table) string { return fence("", markup.Aligned(t.Words, 30, false)) },
	}
}

// length is how Slack counts a text of the agent: as it is sent, in UTF-16.
func (c *Channel) length(markdown string) int { return markup.UTF16(c.dialect.Sent(markdown, maxText)) }

// escape writes the three characters that mean something to Slack everywhere. Without them
// no text can mention anybody.
func escape(s string) string { return escaper.Replace(s) }

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// span writes code within a line.
func span(code string) string {
	if strings.Contains(code, "`") || strings.TrimSpace(code) == "" {
		return escape(code)
	}
	return "`" + escape(code) + "`"
}

// fence writes code as a block of its own.
func fence(_, code string) string {
	return "```\n" + escape(strings.ReplaceAll(code, "```", "`\u200b``")) + "\n```"
}

// link writes a link. Only addresses of the web and of mail become one: in Slack's markup
// other targets mention people.
func link(l markup.Link) string {
	if !l.Web() && !strings.HasPrefix(strings.ToLower(l.Target), "mailto:") {
		return escape(l.Plain())
	}
	target := inLink.Replace(l.Target)
	if l.Label == "" || l.Label == target {
		return "<" + escape(target) + ">"
	}
	return "<" + escape(target) + "|" + strings.ReplaceAll(escape(l.Label), "|", "¦") + ">"
}

// inLink writes what would end the target of a link.
var inLink = strings.NewReplacer("|", "%7C", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "")

// readText turns Slack's markup into text: links become Markdown, mentions names, and the
// mentions of the bot go away. Bold, italic and code look almost alike in both.
func readText(s, bot string) (out string, named bool) {
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			break
		}
		end := strings.IndexByte(s[open:], '>')
		if end < 0 {
			break
		}
		b.WriteString(unescaper.Replace(s[:open]))
		token := s[open+1 : open+end]
		s = s[open+end+1:]
		target, label, labelled := strings.Cut(token, "|")
		switch {
		case bot != "" && target == "@"+bot:
			named = true
			if len(s) > 0 && s[0] == ' ' {
				s = s[1:]
			}
		case strings.HasPrefix(target, "!date^") && labelled:
			b.WriteString(unescaper.Replace(label))
		case strings.HasPrefix(target, "!"):
			name, _, _ := strings.Cut(target[1:], "^")
			b.WriteString("@" + strings.TrimPrefix(unescaper.Replace(cmp.Or(label, name)), "@"))
		case strings.HasPrefix(target, "@"), strings.HasPrefix(target, "#"):
			b.WriteString(target[:1] + unescaper.Replace(cmp.Or(label, target[1:])))
		case labelled && label != "" && label != target && "mailto:"+label != target:
			b.WriteString("[" + unescaper.Replace(label) + "](" + unescaper.Replace(target) + ")")
		default:
			b.WriteString(unescaper.Replace(strings.TrimPrefix(target, "mailto:")))
		}
	}
	b.WriteString(unescaper.Replace(s))
	return strings.TrimSpace(b.String()), named
}

var unescaper = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")
