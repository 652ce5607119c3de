package config

import (
	"errors"
	"path/filepath"
	"regexp"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/form"
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
	lookup func(string) (string, bool) // of environment variables
}

func newReader(file string, lookup func(string) (string, bool)) *reader {
	r := &reader{lookup: lookup}
	r.Reader = form.Reader{File: file, Depth: maxDepth, Nodes: maxNodes, Text: r.text, Value: r.value, Origins: map[*yaml.Node]string{}}
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

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// text replaces ${NAME} by environment variables. A variable that is not set is an
// error, never an empty text.
func (r *reader) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind != yaml.ScalarNode {
		r.fail(n, "%s must be a single value, not %s", path, form.KindOf(n))
		return "", false
	}
	ok := true
	text := variable.ReplaceAllStringFunc(n.Value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		value, set := r.lookup(name)
		if !set || value == "" {
			r.fail(n, "the environment variable %s is not set", name)
			ok = false
		}
		return value
	})
	return text, ok
}
