// Package web holds the built-in tools that read the web: web_fetch and web_search.
// They reach only public addresses, through a client that the program provides.
//
// Web content is material for the model: it is cleaned of invisible characters,
// limited in size, and marked as not being instructions.
//
//etui:tools groups=web source=builtin version=1
package web

import (
	"strings"

	"github.com/etui-run/etui/internal/printable"
)

const agent = "etui (+https://github.com/etui-run/etui)"

// line turns a foreign text into one line of at most limit bytes.
func line(text string, limit int) string {
	text = printable.OneLine(text)
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
