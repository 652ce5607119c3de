package mcp

import (
	"github.com/etui-run/etui/internal/printable"
)

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
