package config

import (
	"errors"
	"path/filepath"
	"strings"
	"unicode"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
	"github.com/etui-run/etui/secret"
)

// The bounds of the file's content. The format needs four levels.
const (
	maxDepth = 20
	maxNodes = 100_000
)

// Error is something in the configuration that cannot be used. File is the name of
// a variable if the value came from the environment.
type Error = form.Problem

// Position is a place in the configuration.
type Position = form.Position

// reader reads a configuration.
type reader struct {
	form.Reader
	variables map[string]string // of the environment
}

func newReader(file string, variables map[string]string) *reader {
	r := &reader{variables: variables}
	r.Reader = form.Reader{File: file, Depth: maxDepth, Nodes: maxNodes, Text: r.text, Value: r.value,
		Origins: map[*yaml.Node]string{}}
	return r
}

// err joins the problems.
func (r *reader) err() error {
	errs := make([]error, len(r.Problems))
	for i, p := range r.Problems {
		errs[i] = p
	}
	return errors.Join(errs...)
}

func (r *reader) fail(n *yaml.Node, format string, args ...any) { r.Fail(n, "", format, args...) }

// value reads sizes and paths, and accepts values of other programs.
func (r *reader) value(n *yaml.Node, v any, path string) bool {
	switch v := v.(type) {
	case *Foreign:
		return true
	case *Size:
		text, ok := r.text(n, path)
		if !ok {
			return true
		}
		var err error
		if *v, err = ParseSize(text); err != nil {
			r.fail(n, "%s: %v", path, err)
		}
		return true
	case *secret.Value:
		*v, _ = r.key(n, path)
		return true
	case *Paths:
		if n.Kind != yaml.ScalarNode {
			return false
		}
		if text, ok := r.text(n, path); ok {
			*v = Paths{text}
			if _, variable := r.Origins[n]; variable {
				*v = filepath.SplitList(text)
			}
		}
		return true
	}
	return false
}

// text replaces ${NAME} by environment variables, see [form.Expand]. A variable that is not set and
// has no default is an error, never an empty text.
func (r *reader) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		r.fail(n, "%s must be a single value, not %s", path, form.KindOf(n))
		return "", false
	}
	text, err := form.Expand(n.Value, func(name string) (string, error) {
		value := r.variables[name]
		return value, nil
	})
	if err != nil {
		r.fail(n, "%v", err)
	}
	return text, err == nil
}

// key reads a secret. It trims white space, such as the line break behind a key that was read from
// a file. A line break within would end the header that a key is sent in.
func (r *reader) key(n *yaml.Node, path string) (secret.Value, bool) {
	text, ok := r.text(n, path)
	if text = strings.TrimSpace(text); ok && strings.ContainsFunc(text, unicode.IsControl) {
		from := path
		for _, ref := range form.Variables(n.Value) {
			if value := r.variables[ref[2:len(ref)-1]]; strings.ContainsFunc(strings.TrimSpace(value),
				unicode.IsControl) {
				from += ": the environment variable " + ref[2:len(ref)-1]
			}
		}
		r.fail(n, "%s holds a line break or another control character", from)
		return "", false
	}
	return secret.Value(text), ok
}
