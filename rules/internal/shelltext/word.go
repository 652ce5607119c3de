package shelltext

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// word is a word of a command as the program would read it, as far as is known.
type word struct {
	// text contains expansions as they are written.
	text string
	// literal means that there are none.
	literal bool
	// open means that it is a pattern, or braces, and may become several words.
	open bool
	node *syntax.Word
}

// name reports whether a word can only be one program.
func (w word) name() bool {
	return w.text != "" && w.literal && (!w.open || w.text == "[")
}

func texts(words []word) string {
	var list []string
	for _, w := range words {
		list = append(list, w.text)
	}
	return strings.Join(list, " ")
}

// word reads a word.
func (r *reader) word(node *syntax.Word) word {
	w := word{literal: true, node: node}
	var b strings.Builder
	r.parts(&w, &b, node.Parts, false)
	w.text = b.String()
	return w
}

func (r *reader) parts(w *word, b *strings.Builder, parts []syntax.WordPart, quoted bool) {
	for _, part := range parts {
		switch p := part.(type) {
		case *syntax.Lit:
			w.open = w.open || !quoted && strings.ContainsAny(p.Value, "*?[{")
			b.WriteString(unescape(p.Value, quoted))
		case *syntax.SglQuoted:
			b.WriteString(p.Value)
			if p.Dollar && strings.Contains(p.Value, `\`) {
				w.literal = false
			}
		case *syntax.DblQuoted:
			r.parts(w, b, p.Parts, true)
		default:
			w.literal = false
			b.WriteString(r.source(part))
		}
	}
}

// unescape removes the backslashes that the shell removes. Within double quotes they
// have a meaning only before a few characters.
func unescape(text string, quoted bool) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' || i+1 == len(text) || quoted && !strings.ContainsRune("$`\"\\\n", rune(text[i+1])) {
			b.WriteByte(text[i])
			continue
		}
		if i++; text[i] != '\n' {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}
