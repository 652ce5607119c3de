package turn

import (
	"fmt"
	"unicode/utf8"
)

// cut shortens a text to its first limit bytes and adds a note that it did.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	kept := cutBytes(text, limit)
	return fmt.Sprintf("%s\n(cut: %d of %d bytes)", kept, len(kept), len(text))
}

// shorten keeps the first two thirds and the last third of a result that is longer than
// limit bytes, and notes how much is missing. The end matters: it often tells how
// something ended and where to read on.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, at := cutBytes(text, limit-limit/3), len(text)-limit/3
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return fmt.Sprintf("%s\n(... %d of %d bytes are left out here; ask for less at a time to see them ...)\n%s",
		head, at-len(head), len(text), text[at:])
}

// cutBytes shortens text to at most limit bytes, between characters.
func cutBytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
