package mcp

import (
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/internal/printable"
)

// cut shortens a text to a number of characters, at a nearby space if possible.
func cut(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	end := 0
	for range most - 1 {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	s = s[:end]
	if i := strings.LastIndexAny(s, " \n"); i > end-40 && i > 0 {
		s = s[:i]
	}
	return strings.TrimRight(s, " \n") + "…"
}

// cleanValue cleans all texts in a decoded JSON value, in place.
func cleanValue(v any) any {
	switch v := v.(type) {
	case string:
		return printable.Text(v)
	case []any:
		for i := range v {
			v[i] = cleanValue(v[i])
		}
	case map[string]any:
		for k, inner := range v {
			inner = cleanValue(inner)
			if name := printable.Text(k); name != k {
				delete(v, k)
				k = name
			}
			v[k] = inner
		}
	}
	return v
}
