package skill

import (
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
)

// Variables are the values for ${NAME} in a file.
type Variables struct {
	// Lookup finds the value of an environment variable. Nil means os.LookupEnv.
	Lookup func(name string) (value string, ok bool)
	// Allowed are secrets of etui's own that files may name. Without it they may not
	// name OPENAI_API_KEY, ANTHROPIC_API_KEY and names that begin with ETUI_.
	Allowed []string
}

// secrets reads headers or env. No message shows their values.
func (r *reader) secrets(n *yaml.Node, key string) map[string]Secret {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, key, "%s must be a mapping of names to texts, not %s", key, form.KindOf(n))
		return nil
	}
	all, seen := make(map[string]Secret, len(n.Content)/2), map[string]bool{}
	for k, value := range form.Pairs(n) {
		field := key + "." + form.Short(k.Value)
		reason, fold := checkVariableName(k.Value), k.Value
		if key == "headers" {
			reason, fold = CheckHeaderName(k.Value), strings.ToLower(k.Value)
		}
		switch {
		case reason != "":
			r.Fail(k, field, "%s: %q %s", key, form.Short(k.Value), reason)
		case seen[fold]:
			r.Fail(k, field, "%s: duplicate key %q", key, form.Short(k.Value))
		case value.Kind != yaml.ScalarNode:
			r.Fail(value, field, "%s must be text, not %s", field, form.KindOf(value))
		case value.Tag != "!!str":
			r.Fail(value, field, "%s must be text; put it in quotes", field)
		default:
			all[k.Value] = Secret(r.expand(value, field, as))
		}
		seen[fold] = true
	}
	return all
}

// secret reads one text that may hold ${NAME}.
func (r *reader) secret(n *yaml.Node, key string) Secret {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!str" {
		r.Fail(n, key, "%s must be text; put it in quotes", key)
		return ""
	}
	return Secret(r.expand(n, key, as))
}

// as writes a value as it is.
func as(value string) string { return value }

// query replaces ${NAME} in the query of a URL: some services take their key there. The host and
// the path stay as people read them.
func (r *reader) query(n *yaml.Node, field string) string {
	base, query, found := strings.Cut(n.Value, "?")
	if !found || !strings.Contains(query, "${") {
		return n.Value
	}
	part := *n
	part.Value = query
	return base + "?" + r.expand(&part, field, url.QueryEscape)
}

// expand replaces ${NAME} by environment variables, see [form.Expand].
func (r *reader) expand(n *yaml.Node, field string, escape func(string) string) string {
	if strings.ContainsFunc(strings.TrimRight(n.Value, "\r\n"), notInSecret) {
		r.Fail(n, field, "%s holds a line break or another control character", field)
	}
	text, err := form.Expand(strings.TrimRight(n.Value, "\r\n"), func(name string) (string, error) {
		value, err := r.variables.get(name)
		r.expanded = append(r.expanded, Secret(value))
		return escape(value), err
	})
	if err != nil {
		r.Fail(n, field, "%s: %v", field, err)
	}
	if len(text) > maxText {
		r.Fail(n, field, "%s is longer than %d bytes", field, maxText)
	}
	return text
}

func notInSecret(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }

// get returns the value of a variable without line breaks behind it, or why a file may not have it.
func (v Variables) get(name string) (string, error) {
	lookup := v.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	own := name == "OPENAI_API_KEY" || name == "ANTHROPIC_API_KEY" || strings.HasPrefix(name, "ETUI_")
	value, _ := lookup(name)
	value = strings.TrimRight(value, "\r\n")
	switch {
	case own && !slices.Contains(v.Allowed, name):
		return "", fmt.Errorf("the environment variable %s is a secret of etui's own and not for skills", name)
	case strings.ContainsFunc(value, notInSecret):
		return "", fmt.Errorf("the environment variable %s holds a line break or another control character", name)
	}
	return value, nil
}
