package config

import (
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/nearest"
)

// Error is something in the configuration that cannot be used.
type Error struct {
	// File, Line and Column say where; Line and Column are 0 when it is the
	// whole file, and Column alone when it is a line. File is the name of a variable when the value came from the
	// environment.
	File         string
	Line, Column int
	// Reason says what is wrong and what would be right.
	Reason string
}

func (e *Error) Error() string {
	switch {
	case e.Line == 0:
		return fmt.Sprintf("%s: %s", e.File, e.Reason)
	case e.Column == 0:
		return fmt.Sprintf("%s:%d: %s", e.File, e.Line, e.Reason)
	}
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Reason)
}

// decoder fills a Config from YAML nodes and collects everything that is wrong.
type decoder struct {
	file   string
	lookup func(string) (string, bool) // of environment variables
	origin map[*yaml.Node]string       // nodes that came from the environment
	errors []error
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	p := d.position(n)
	d.errors = append(d.errors, &Error{File: p.File, Line: p.Line, Column: p.Column, Reason: fmt.Sprintf(format, args...)})
}

func (d *decoder) position(n *yaml.Node) Position {
	if name, ok := d.origin[n]; ok {
		return Position{File: name}
	}
	return Position{d.file, n.Line, n.Column}
}

// placed is a value that keeps where it stands.
type placed interface {
	stands(d *decoder, n *yaml.Node)
}

// maxDepth bounds how deep nodes may lie; the file's format needs four.
const maxDepth = 20

// decode stores a node in v. The path names the value in messages.
func (d *decoder) decode(n *yaml.Node, v reflect.Value, path string, depth int) {
	for n.Kind == yaml.AliasNode && depth < maxDepth {
		n, depth = n.Alias, depth+1
	}
	if depth >= maxDepth {
		d.fail(n, "%s lies too deep", path)
		return
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		return // a key without a value keeps its default
	}
	switch {
	case v.Type() == reflect.TypeFor[time.Duration](), v.Type() == reflect.TypeFor[Size]():
		d.scalar(n, v, path)
	case v.Kind() == reflect.Struct:
		d.mapping(n, v, path, depth)
	case v.Kind() == reflect.Slice:
		d.list(n, v, path, depth)
	case v.Kind() == reflect.Map:
		d.stringMap(n, v, path, depth)
	default:
		d.scalar(n, v, path)
	}
}

func (d *decoder) mapping(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s must be a mapping of keys to values, not %s", named(path), kind(n))
		return
	}
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		f, ok := field(v, key.Value)
		if !ok {
			d.fail(key, "unknown key %q%s%s", key.Value, in(path), nearest.Hint(key.Value, keys(v.Type())))
			continue
		}
		if seen[key.Value] {
			d.fail(key, "the key %q stands twice in %s", key.Value, named(path))
			continue
		}
		seen[key.Value] = true
		d.decode(value, v.FieldByIndex(f.Index), join(path, key.Value), depth+1)
		d.check(value, v.FieldByIndex(f.Index), f, join(path, key.Value))
	}
	if p, ok := v.Addr().Interface().(placed); ok {
		p.stands(d, n)
	}
	for f := range fields(v.Type()) {
		if f.Tag.Get("required") != "" && !seen[f.Tag.Get("yaml")] {
			d.fail(n, "%s needs the key %q", named(path), f.Tag.Get("yaml"))
		}
	}
}

// mayBeNegative are the keys for which a negative number means none or never.
var mayBeNegative = []string{"direct", "directory", "cache_life"}

// check holds a value against what its field allows.
func (d *decoder) check(n *yaml.Node, v reflect.Value, f reflect.StructField, path string) {
	if list := f.Tag.Get("enum"); list != "" && v.Kind() == reflect.String {
		allowed := strings.Split(list, ",")
		if !slices.Contains(allowed, v.String()) {
			d.fail(n, "%s is %q; it must be one of %s%s", path, v.String(), strings.Join(allowed, ", "), nearest.Hint(v.String(), slices.Values(allowed)))
		}
	}
	if f.Tag.Get("required") != "" && v.IsZero() {
		d.fail(n, "%s must not be empty", path)
	}
	if v.CanInt() && v.Int() < 0 && !slices.Contains(mayBeNegative, f.Tag.Get("yaml")) {
		d.fail(n, "%s must not be negative", path)
	}
}

func (d *decoder) list(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind == yaml.ScalarNode && v.Type() == reflect.TypeFor[Paths]() {
		n = d.paths(n)
	}
	if n.Kind != yaml.SequenceNode {
		d.fail(n, "%s must be a list, not %s", path, kind(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		if item.Kind == yaml.ScalarNode && item.Tag == "!!null" {
			d.fail(item, "%s[%d] is empty", path, i)
			continue
		}
		setDefaults(v.Index(i))
		d.decode(item, v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1)
	}
}

// paths makes a list of one path, or of those of a variable.
func (d *decoder) paths(n *yaml.Node) *yaml.Node {
	name, variable := d.origin[n]
	if !variable {
		return &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{n}}
	}
	list := &yaml.Node{Kind: yaml.SequenceNode}
	for _, path := range filepath.SplitList(n.Value) {
		list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Value: path})
	}
	d.mark(list, name)
	return list
}

func (d *decoder) stringMap(n *yaml.Node, v reflect.Value, path string, depth int) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, "%s must be a mapping of names to texts, not %s", path, kind(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	seen := map[string]bool{}
	for key, value := range pairs(n) {
		if seen[key.Value] {
			d.fail(key, "the key %q stands twice in %s", key.Value, path)
		}
		seen[key.Value] = true
		text := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, text, join(path, key.Value), depth+1)
		v.SetMapIndex(reflect.ValueOf(key.Value), text)
	}
}

func (d *decoder) scalar(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.ScalarNode {
		d.fail(n, "%s must be a single value, not %s", path, kind(n))
		return
	}
	text, ok := d.expand(n)
	if !ok {
		return
	}
	var err error
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		var t time.Duration
		if t, err = time.ParseDuration(text); err != nil || t < 0 {
			d.fail(n, "%s is %q; it must be a time such as 30s or 2m", path, text)
		}
		v.SetInt(int64(t))
	case v.Type() == reflect.TypeFor[Size]():
		var s Size
		if s, err = ParseSize(text); err != nil {
			d.fail(n, "%s: %v", path, err)
		}
		v.SetInt(int64(s))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		var b bool
		if b, err = strconv.ParseBool(text); err != nil {
			d.fail(n, "%s is %q; it must be true or false", path, text)
		}
		v.SetBool(b)
	case v.CanInt():
		var i int64
		if i, err = strconv.ParseInt(text, 10, 32); err != nil {
			d.fail(n, "%s is %q; it must be a whole number", path, text)
		}
		v.SetInt(i)
	case v.CanFloat():
		var x float64
		if x, err = strconv.ParseFloat(text, 64); err != nil || x < 0 || x > 1 {
			d.fail(n, "%s is %q; it must be a number from 0 to 1", path, text)
		}
		v.SetFloat(x)
	}
}

var variable = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand puts environment variables in the place of ${NAME}. A variable that is
// not set is an error, never an empty text.
func (d *decoder) expand(n *yaml.Node) (string, bool) {
	ok := true
	text := variable.ReplaceAllStringFunc(n.Value, func(ref string) string {
		name := ref[2 : len(ref)-1]
		value, set := d.lookup(name)
		if !set || value == "" {
			d.fail(n, "the environment variable %s is not set", name)
			ok = false
		}
		return value
	})
	return text, ok
}

// pairs yields the keys and values of a mapping, merged ones (<<) not.
func pairs(n *yaml.Node) iter.Seq2[*yaml.Node, *yaml.Node] {
	return func(yield func(*yaml.Node, *yaml.Node) bool) {
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i], n.Content[i+1]) {
				return
			}
		}
	}
}

// fields yields the fields that are keys of the file.
func fields(t reflect.Type) iter.Seq[reflect.StructField] {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if f := t.Field(i); f.Tag.Get("yaml") != "-" && !yield(f) {
				return
			}
		}
	}
}

func keys(t reflect.Type) iter.Seq[string] {
	return func(yield func(string) bool) {
		for f := range fields(t) {
			if !yield(f.Tag.Get("yaml")) {
				return
			}
		}
	}
}

func field(v reflect.Value, key string) (reflect.StructField, bool) {
	for f := range fields(v.Type()) {
		if f.Tag.Get("yaml") == key {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

// setDefaults gives a struct and the structs in it their default values.
func setDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for f := range fields(v.Type()) {
		part := v.FieldByIndex(f.Index)
		setDefaults(part)
		if text := f.Tag.Get("default"); text != "" {
			d := decoder{lookup: os.LookupEnv}
			d.scalar(&yaml.Node{Kind: yaml.ScalarNode, Value: text}, part, f.Name)
			if len(d.errors) > 0 {
				panic(d.errors[0]) // the tag is wrong
			}
		}
	}
}

func join(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

func named(path string) string {
	if path == "" {
		return "the file"
	}
	return path
}

func in(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

func kind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value" // which may be a secret in the wrong place
}
