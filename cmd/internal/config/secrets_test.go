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
	var found []string
	for _, s := range c.Secrets() {
		if s != "" {
			found = append(found, string(s))
		}
	}
	slices.Sort(found)
	if got := fmt.Sprint(found); got != "[1-key 2-key 3-key 4-key 5-key]" {
		t.Error(got)
	}
}
