// Package web holds the built-in tools that read the web: web_fetch and
// web_search. They reach public addresses only, through a client that the program
// hands them.
//
// What comes from the web is material for the model: it is cleaned of characters
// that do not show, bounded, and marked as not being an instruction.
//
//etui:tools groups=web source=builtin version=1
package web

import (
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

const agent = "etui (+https://github.com/etui-run/etui)"

// line makes a text from outside one line of at most so many bytes.
func line(text string, limit int) string {
	text = printable.OneLine(text)
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
