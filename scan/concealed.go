package scan

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/etui-run/etui/internal/printable"
)

// concealed reports a text that models read and people do not see: it comes after many
// blank lines or blanks, or pages do not show it. Values may hold such a text.
func concealed(p passage) (Finding, bool) {
	if p.kind == value {
		return Finding{}, false
	}
	text := escapes.Replace(printable.Text(p.text))
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\u2028', r == '\u2029', r == '\u0085', r == '\v', r == '\f':
			return '\n'
		case unicode.IsSpace(r) && r != '\n', r == '\u2800', r == '\u3164', r == '\u115F', r == '\u1160', r == '\uFFA0':
			return ' '
		}
		return r
	}, breaks.ReplaceAllString(text, "\n"))
	if m := gaps.FindStringIndex(text); m != nil {
		return Finding{p.place, "hides a text behind blank lines", printable.Line(text[m[1]-1:], 160)}, true
	}
	for _, m := range unshown.FindAllStringSubmatch(text, 16) {
		inner := strings.Join(m[1:], "")
		if !strings.Contains(text, "</") && documented.MatchString(inner) {
			continue // "<script> tags are removed"
		}
		if words(inner) > 3 {
			return Finding{p.place, "has a text that pages do not show", printable.Line(inner, 160)}, true
		}
	}
	return Finding{}, false
}

var (
	breaks = regexp.MustCompile(`(?i)&nbsp;|<br ?/?>|&#(?:10|13|32|160);|\\n`)
	// gaps are ten empty lines, or lines of one mark, or a hundred blanks, with a text after
	// them.
	gaps       = regexp.MustCompile(`(?:\n[ .·•_|>#*-]*){10,}[\pL\pN]|[ \n]{100,}[^\s]`)
	documented = regexp.MustCompile(`^[\x60'")]? ?(?:(?:and|or|html) )*(?:tags?|elements?|blocks?)\b`)
	escapes    = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#60;", "<", "&#62;", ">")
	// unshown is what renderers of Markdown and HTML leave out.
	unshown = regexp.MustCompile(`(?is)<!--(.*?)(?:-->|$)` +
		`|<\w+[^>]*(?:display ?: ?none|visibility ?: ?hidden|font-size ?: ?0|opacity ?: ?0(?:\D|\.0)|(?:left|top|text-indent) ?: ?-\d{3}|class ?= ?["']?(?:hidden|invisible|sr-only|visually-hidden)\b|color ?[:=] ?["']?(?:white|transparent|#fff)|\shidden\b)[^>]*>([^<]*)` +
		`|<(?:script|style|template|noscript)\b[^>]*>([^<]*)` +
		`|<[?%!](?:\[CDATA\[)?([^>]*)>|\{#([^#]*)#\}|<\w+[^>]*\s(?:alt|title|aria-label|data-\w+) ?= ?"([^"]*)"` +
		`|(?:^|\n) *\[(?://|comment|hidden|_)[^\]]*\]: *(?:#|<>|\S+) *["'(]([^\n]*)`)
)

// words counts the words of a text; two characters of Chinese count as one.
func words(s string) int {
	han := 0
	rest := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Han, r) {
			han++
			return ' '
		}
		return r
	}, s)
	return len(strings.Fields(rest)) + han/2
}
