package feishu

import (
	"cmp"
	"encoding/json"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/internal/printable"
)

// dialect is the Markdown of cards: CommonMark with tables, in which tags such as
// <at id=all></at> mention people and others color text (富文本（Markdown）组件,
// card-json-v2-components/content-components/rich-text). Nothing that a model writes becomes
// a tag, and pictures become links. The page asks for four spaces before what is in a list.
func dialect() markup.Dialect {
	d := markup.Markdown(escape)
	whole := d.Table
	d.Text = func(s string, start bool) string {
		if s = escape(s); start {
			s = begin(s)
		}
		return s
	}
	d.Code, d.Link, d.Heading, d.Paragraph = span, link, heading, nil
	d.Fence = func(language, code string) string { return markup.Fenced(language, untagged(code)) }
	d.Table = func(t markup.Table) string {
		if t.Before < maxTables {
			return whole(t)
		}
		return d.Fence("", whole(markup.Table{Cells: t.Words})) // one too many for a card
	}
	d.Indent, d.Rule = "    ", "---"
	d.Gap = func(b markup.Block) bool { return !b.Item && !b.Text && (!b.List || b.Blank) }
	return d
}

// length is how many bytes a text has in the request that sends it: as JSON in JSON.
func (c *Channel) length(markdown string) int {
	sent := c.dialect.Sent(markdown, maxText/2)
	for range 2 {
		quoted, err := json.Marshal(sent)
		if err != nil {
			return len(markdown)
		}
		sent = string(quoted)
	}
	return len(sent)
}

// escape writes a text so that nothing in it is markup. The page says to write such
// characters as entities.
func escape(s string) string {
	s = strings.ToValidUTF8(s, "\ufffd")
	if !strings.ContainsAny(s, special) {
		return emojiCode.ReplaceAllString(s, "&#58;$1&#58;")
	}
	var b strings.Builder
	before := ' '
	for i, r := range s {
		after, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case !strings.ContainsRune(special, r),
			r == '_' && letter(before) && letter(after), // as in a_name
			r == '&' && after != '#' && !letter(after):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, "&#%d;", r)
		}
		before = r
	}
	return emojiCode.ReplaceAllString(b.String(), "&#58;$1&#58;")
}

const special = "&<>*_~`[]\\|$"

func letter(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r)) }

// emojiCode is what a card shows as an emoji.
var emojiCode = regexp.MustCompile(`:([0-9A-Za-z]+):`)

// atLineStart is text that would begin a heading, a list or a line.
var atLineStart = regexp.MustCompile(`^(?:([#+=-])|(\d+)([.)]))`)

// begin escapes the beginning of a line.
func begin(s string) string {
	m := atLineStart.FindStringSubmatch(s)
	switch {
	case m == nil:
		return s
	case m[1] != "":
		return fmt.Sprintf("&#%d;", m[1][0]) + s[1:]
	}
	return m[2] + fmt.Sprintf("&#%d;", m[3][0]) + s[len(m[0]):]
}

// summary is what lists of chats and notifications show of a card.
func summary(markdown string) string {
	s := strings.NewReplacer("**", "", "`", "", "~~", "").Replace(markdown)
	return printable.Line(strings.TrimSpace(strings.TrimLeft(html.UnescapeString(s), "#>")), 100)
}

func heading(level int, s string) string {
	return strings.Repeat("#", min(level+2, 6)) + " " + strings.ReplaceAll(s, "\n", " ")
}

// span writes code within a line.
func span(code string) string {
	if strings.Contains(code, "`") || strings.TrimSpace(code) == "" {
		return escape(code)
	}
	return "`" + untagged(code) + "`"
}

// tag is the beginning of a tag of cards that reaches people.
var tag = regexp.MustCompile(`(?i)<(at|person|link|audio)\b`)

// untagged keeps code from mentioning people: nobody promises that tags are not read there.
func untagged(code string) string { return tag.ReplaceAllString(code, "<\u200b$1") }

// maxTables is how many tables a card shows; a fourth was refused in tests of the platform
// (openclaw-lark, card-error.ts, 2026-03).
const maxTables = 3

// link writes a link. Only addresses of the web become one.
func link(l markup.Link) string {
	switch {
	case l.Bare && strings.HasPrefix(l.Target, "mailto:"):
		return escape(l.Label)
	case !l.Web():
		return escape(l.Plain())
	}
	return "[" + escape(cmp.Or(l.Label, l.Target)) + "](" + inLink.Replace(l.Target) + ")"
}

// inLink writes what would end the target of a link, or begin a tag.
var inLink = strings.NewReplacer("(", "%28", ")", "%29", "<", "%3C", ">", "%3E", " ", "%20", "\n", "", "\t", "", "\\",
	"%5C", "`", "%60", "*", "%2A")
