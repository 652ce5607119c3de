package skill

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/etui-run/etui/secret"
)

// Secret is a text that is never shown.
type Secret = secret.Value

// Redactor hides a skill's secrets in results: a service may repeat what it was
// sent.
type Redactor = secret.Redactor

// Secrets returns the values of a config that must stay hidden: those from the
// environment, those of headers and variables with telling names, and passwords and keys in addresses, but for ordinary words.
func (c *Config) Secrets() []Secret {
	var all []Secret
	for _, s := range c.Expanded {
		if _, err := os.Stat(string(s)); err != nil || !filepath.IsAbs(string(s)) { // a path that exists says no secret
			all = append(all, s.Parts()...)
		}
	}
	for _, address := range []string{c.Endpoint, c.Health} {
		all = append(all, secret.InURL(address)...)
	}
	if c.Auth.ClientSecret != "" {
		all = append(all, c.Auth.ClientSecret)
	}
	for _, values := range []map[string]Secret{c.Headers, c.Env} {
		for name, value := range values {
			if secret.Names(name) {
				all = append(all, value.Parts()...)
			}
		}
	}
	return slices.DeleteFunc(all, Secret.Ordinary)
}

// Redactor returns a redactor of [Config.Secrets].
func (c *Config) Redactor() Redactor { return secret.NewRedactor(c.Secrets()...) }
