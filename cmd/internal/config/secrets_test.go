package config_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/etui-run/etui/cmd/internal/config"
)

func TestSecrets(t *testing.T) {
	c, err := config.Parse("etui.yaml", []byte(`
api: {key: "1-${KEY}"}
models: [{name: m, provider: openai, model: x, api_key: "2-${KEY}", headers: {X-Token: 3-key, X-Tenant: production}}]
skills: {registries: [{name: r, type: clawhub, token: 4-key}]}
embeddings: {model: e, api_key: 5-key}
`), []string{"KEY=key"})
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []string{"models: [{name: m, provider: openai, model: x, base_url: 'http://user:6-key@x/v1?key=7-key&a=b'}]", "channels: [{type: irc, name: i, url: 'https://8-key@x/'}]"} {
		more, err := config.Parse("etui.yaml", []byte(s), nil)
		if err != nil {
			t.Fatal(err)
		}
		c.Channels, c.Models = append(c.Channels, more.Channels...), append(c.Models, more.Models...)
	}
	var found []string
	for _, s := range c.Secrets() {
		if s != "" {
			found = append(found, string(s))
		}
	}
	slices.Sort(found)
	if got := fmt.Sprint(found); got != "[1-key 2-key 3-key 4-key 5-key 6-key 7-key 8-key]" {
		t.Error(got)
	}
}

// TestVariables: references have defaults, keys lose the line break behind them, and nothing leaves as it
// was written by mistake.
func TestVariables(t *testing.T) {
	environ := []string{"KEY=key\n", "TWO=a\nb", "URL=http://x/v1"}
	for text, want := range map[string]string{
		"${NOPE:-fallback}": "fallback",
		"${KEY:-fallback}":  "key",
		"${NOPE:-${KEY}}":   "key",
		"${NOPE:-}":         "",
		"$${KEY}":           "${KEY}",
		"written \\n":       "written",
		"${TWO}":            "etui.yaml:1:57: models[0].api_key: the environment variable TWO holds a line break or another control character",
		"a\\nb":             "etui.yaml:1:57: models[0].api_key holds a line break or another control character",
		"${NOPE}":           "etui.yaml:1:57: the environment variable NOPE is not set",
		"${KEY-x}":          `etui.yaml:1:57: "${KEY-x}" is no reference to a variable; write ${NAME} or ${NAME:-default}, and $${ for ${`,
		"${NOPE:-${KEY}":    `etui.yaml:1:57: "${NOPE:-${KEY}" is no reference to a variable; write ${NAME} or ${NAME:-default}, and $${ for ${`,
	} {
		c, err := config.Parse("etui.yaml", []byte(`models: [{name: m, provider: openai, model: x, api_key: "`+text+`"}]`), environ)
		got := fmt.Sprint(err)
		if err == nil {
			got = string(c.Models[0].APIKey)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
	}
}
