package skill

import (
	"fmt"
	"net/url"
	"os"
	"regexp"
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
			reason, fold = checkHeaderName(k.Value), strings.ToLower(k.Value)
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
			all[k.Value] = Secret(r.expand(value, field, func(value string) string { return value }))
		}
		seen[fold] = true
	}
	return all
}

var reference = regexp.MustCompile(`\$\{([^}]*)\}?`)

var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

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

// expand replaces ${NAME} by environment variables, once: their values are not
// expanded again.
func (r *reader) expand(n *yaml.Node, field string, escape func(string) string) string {
	if strings.ContainsFunc(n.Value, notInSecret) {
		r.Fail(n, field, "%s holds a line break or another control character", field)
	}
	text := reference.ReplaceAllStringFunc(n.Value, func(ref string) string {
		name, closed := strings.CutSuffix(ref[2:], "}")
		value, reason := "", fmt.Sprintf("%q is not the name of a variable; write ${NAME}", form.Short(ref))
		if closed && variableName.MatchString(name) {
			value, reason = r.variables.get(name)
			r.expanded = append(r.expanded, Secret(value))
		}
		if reason != "" {
			r.Fail(n, field, "%s: %s", field, reason)
		}
		return escape(value)
	})
	if len(text) > maxText {
		r.Fail(n, field, "%s is longer than %d bytes", field, maxText)
	}
	return text
}

func notInSecret(r rune) bool { return r < 0x20 && r != '\t' || r == 0x7f }

// get returns the value of a variable, or why a file may not have it.
func (v Variables) get(name string) (value, reason string) {
	lookup := v.Lookup
	if lookup == nil {
		lookup = os.LookupEnv
	}
	own := name == "OPENAI_API_KEY" || name == "ANTHROPIC_API_KEY" || strings.HasPrefix(name, "ETUI_")
	value, _ = lookup(name)
	switch {
	case own && !slices.Contains(v.Allowed, name):
		return "", fmt.Sprintf("the environment variable %s is a secret of etui's own and not for skills", name)
	case value == "":
		return "", fmt.Sprintf("the environment variable %s is not set", name)
	case strings.ContainsFunc(value, notInSecret):
		return "", fmt.Sprintf("the environment variable %s holds a line break or another control character", name)
	}
	return value, ""
}
