package matrix

import (
	"bytes"
	"html"
	"strings"

	"github.com/yuin/goldmark"
)

// render returns the HTML that clients show of a text, org.matrix.custom.html; empty if it says no
// more than the text.
func render(m goldmark.Markdown, text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	var b bytes.Buffer
	if m.Convert([]byte(text), &b) != nil { // it writes into memory
		return ""
	}
	out := strings.TrimSpace(b.String())
	if plain, ok := strings.CutPrefix(out, "<p>"); ok && strings.TrimSuffix(plain, "</p>") == html.EscapeString(strings.TrimSpace(text)) {
		return ""
	}
	return out
}
