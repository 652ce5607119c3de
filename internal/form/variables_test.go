package form_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/etui-run/etui/internal/form"
)

func TestExpand(t *testing.T) {
	lookup := func(name string) (string, error) {
		if name == "OWN" {
			return "", errors.New("OWN is not for skills")
		}
		return map[string]string{"A": "a", "B": "${A} $ }"}[name], nil
	}
	for text, want := range map[string]string{
		"":                  "",
		"x $ $$ $5 } {":     "x $ $$ $5 } {",
		"${A}":              "a",
		"1-${A}-${A}2":      "1-a-a2",
		"${B}":              "${A} $ }", // once
		"${A:-x}":           "a",
		"${NO:-fallback}!":  "fallback!",
		"${NO:-}":           "",
		"${NO:-${A}}.":      "a.",
		"${NO:-${NO:-x}y}z": "xyz",
		"${NO:-${NO:-}}":    "",
		"${A:-${NO}}":       "a",
		"${A:-$${x}}":       "a}",
		"${NO:-a:-b $ c}":   "a:-b $ c",
		"$${A}":             "${A}",
		"$${A:-x} ${A}":     "${A:-x} a",
		"${NO:-$${}":        "${",
		"${NO}":             "the environment variable NO is not set",
		"${NO:-${NO}}":      "the environment variable NO is not set",
		"${A":               "is no reference",
		"${NO:-x":           "is no reference",
		"${}":               "is no reference",
		"${1}":              "is no reference",
		"${A-x}":            "is no reference",
		"${A:?x}":           "is no reference",
		"${ A }":            "is no reference",
		"${OWN:-x}":         "OWN is not for skills",
		"${A:-${OWN}}":      "a",
		"${NO:-${NO:-x}":    "is no reference",
		strings.Repeat("${NO:-", 9) + strings.Repeat("}", 9): "is no reference",
	} {
		got, err := form.Expand(text, lookup)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	f.Add("${NO:-${A}$${x}}")
	f.Fuzz(func(t *testing.T, text string) {
		got, err := form.Expand(text, func(string) (string, error) { return "", nil })
		if err == nil && !strings.Contains(text, "${") && got != text {
			t.Errorf("%q became %q", text, got)
		}
	})
}
