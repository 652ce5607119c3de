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
	"unicode"
)

const agent = "etui (+https://github.com/etui-run/etui)"

// clean takes out of a text from outside what does not show: control characters,
// marks of direction, and characters that stand for others.
func clean(text string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\u200c' || r == '\u200d':
			return r
		case unicode.IsControl(r), unicode.Is(unicode.Cf, r), r == unicode.ReplacementChar:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}

// line makes a text from outside one line of at most so many bytes.
func line(text string, limit int) string {
	text = strings.Join(strings.Fields(clean(text)), " ")
	if len(text) > limit {
		text = strings.ToValidUTF8(text[:limit], "") + "…"
	}
	return text
}
