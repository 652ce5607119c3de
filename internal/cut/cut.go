// Package cut shortens texts to a number of bytes.
package cut

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// End shortens a text to its first limit bytes and adds a note that it did.
func End(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	kept := Bytes(text, limit)
	return fmt.Sprintf("%s\n(cut: %d of %d bytes)", kept, len(kept), len(text))
}

// Middle keeps the first two thirds and the last third of a result that is longer than
// limit bytes, and notes how much is missing. The end matters: it often tells how
// something ended and where to read on.
func Middle(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, at := Bytes(text, limit-limit/3), len(text)-limit/3
	for at < len(text) && !utf8.RuneStart(text[at]) {
		at++
	}
	return fmt.Sprintf("%s\n(... %d of %d bytes are left out here; ask for less at a time to see them ...)\n%s",
		head, at-len(head), len(text), text[at:])
}

// Line puts a text into one line of at most limit characters.
func Line(text string, limit int) string {
	text = strings.Join(strings.Fields(text), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}

// Words shortens a text to a number of characters, at a space if there is one near.
func Words(text string, limit int) string {
	if len(text) <= limit || utf8.RuneCountInString(text) <= limit {
		return text
	}
	if limit == 0 {
		return ""
	}
	end := 0
	for range limit - 1 {
		_, size := utf8.DecodeRuneInString(text[end:])
		end += size
	}
	if i := strings.LastIndexAny(text[:end], " \n"); i > end-40 && i > 0 {
		end = i
	}
	return strings.TrimRight(text[:end], " \n") + "…"
}

// Bytes shortens text to at most limit bytes, between characters.
func Bytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit]
}
