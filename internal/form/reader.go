package form

import (
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/etui-run/etui/internal/nearest"
)

// Reader reads one form and collects what is wrong with it.
type Reader struct {
	// File names the form in problems.
	File string
	// Depth and Nodes bound the form: levels of nesting, and keys and values with
	// aliases written out.
	Depth, Nodes int
	// Most is how many problems are kept; 0 means all.
	Most int
	// Strict forms have no tags, only texts as keys, and values of the right YAML
	// type: a number is not text, and a key without a value is a mistake. Their
	// durations are whole seconds. In other forms a key without a value keeps its
	// default.
	Strict bool
	// Text reads a text, or reports why it cannot.
	Text func(n *yaml.Node, path string) (string, bool)
	// Value reads a value of a type of the caller's own into the pointer v. It
	// returns false if the type is none of these. It may be nil.
	Value func(n *yaml.Node, v any, path string) bool
	// Inspect sees every node before it is decoded, with the top-level key that it
	// belongs to. It may be nil.
	Inspect func(n *yaml.Node, top string)
	// Origins names the environment variables that nodes came from.
	Origins map[*yaml.Node]string

	Problems []Problem

	nodes int
}

// SourceSetter is a struct that wants to know the mapping that it was read from.
type SourceSetter interface {
	SetSource(r *Reader, n *yaml.Node)
}

// Position is the place of a node. File is the name of a variable if it came from
// the environment; then Line and Column are 0.
type Position struct {
	File         string
	Line, Column int
}

// Position returns the place of a node.
func (r *Reader) Position(n *yaml.Node) Position {
	if name, ok := r.Origins[n]; ok {
		return Position{File: name}
	}
	return Position{r.File, n.Line, n.Column}
}

// Fail adds a problem with a node. The path is the field that it is about.
func (r *Reader) Fail(n *yaml.Node, path, format string, args ...any) {
	if p := r.Position(n); r.Most == 0 || len(r.Problems) < r.Most {
		r.Problems = append(r.Problems, Problem{p.File, p.Line, p.Column, path, fmt.Sprintf(format, args...)})
	}
}

// Resolve replaces aliases and merge keys in the nodes below root by what they
// stand for, and refuses duplicate keys and forms beyond the bounds. Each use of an
// alias counts as if it were written out, so that few lines cannot become many. It
// returns false if it gave up; root must not be decoded then.
func (r *Reader) Resolve(root *yaml.Node) bool { return r.resolve(root, 0, "") }

func (r *Reader) resolve(n *yaml.Node, depth int, top string) bool {
	r.nodes++
	switch {
	case r.nodes > r.Nodes:
		r.Fail(n, "", "the file holds more than %d keys and values", r.Nodes)
		return false
	case depth > r.Depth:
		r.Fail(n, "", "this lies deeper than %d mappings and lists", r.Depth)
		return false
	case r.Most > 0 && len(r.Problems) >= r.Most:
		return false
	case r.Strict && n.Style&yaml.TaggedStyle != 0:
		r.Fail(n, top, "tags (%s) are not allowed", Short(n.Tag))
	case r.Inspect != nil:
		r.Inspect(n, top)
	}
	for i, item := range n.Content {
		if item.Kind == yaml.AliasNode {
			n.Content[i] = item.Alias
		}
	}
	if n.Kind == yaml.MappingNode {
		r.merge(n)
		return r.resolveMapping(n, depth, top)
	}
	for _, item := range n.Content {
		if !r.resolve(item, depth+1, top) {
			return false
		}
	}
	return true
}

func (r *Reader) resolveMapping(n *yaml.Node, depth int, top string) bool {
	seen := map[string]bool{}
	for key, value := range Pairs(n) {
		switch {
		case r.Strict && key.Kind != yaml.ScalarNode:
			r.Fail(key, "", "a key must be text, not %s", r.kind(key))
		case r.Strict && key.Tag != "!!str" && key.Style&yaml.TaggedStyle == 0:
			r.Fail(key, key.Value, "the key %s must be text; put it in quotes", Short(key.Value))
		case seen[key.Value]:
			r.Fail(key, key.Value, "duplicate key %q", Short(key.Value))
		}
		seen[key.Value] = true
		if depth == 0 {
			top = Short(key.Value)
		}
		if !r.resolve(key, depth+1, "") || !r.resolve(value, depth+1, top) {
			return false
		}
	}
	return true
}

// merge puts the keys of other mappings, which the merge key << names, behind
// those that a mapping has itself. The first of two with one name wins.
func (r *Reader) merge(n *yaml.Node) {
	var own, others []*yaml.Node
	seen := map[string]bool{}
	for key, value := range Pairs(n) {
		if key.Tag == "!!merge" {
			others = append(others, value)
			continue
		}
		own, seen[key.Value] = append(own, key, value), true
	}
	n.Content = own
	for _, other := range others {
		list := []*yaml.Node{other}
		if other.Kind == yaml.SequenceNode {
			list = other.Content
		}
		for _, from := range list {
			if from.Kind == yaml.AliasNode {
				from = from.Alias
			}
			if from.Kind != yaml.MappingNode || from == n {
				r.Fail(from, "", "<< must be given another mapping, or a list of them")
				return
			}
			if r.nodes += len(from.Content); r.nodes > r.Nodes {
				return // resolve reports it
			}
			for key, value := range Pairs(from) {
				if !seen[key.Value] {
					n.Content, seen[key.Value] = append(n.Content, key, value), true
				}
			}
		}
	}
}

// Decode fills the struct that v points to from a resolved mapping.
func (r *Reader) Decode(root *yaml.Node, v any) {
	r.decode(root, reflect.ValueOf(v).Elem(), reflect.StructField{}, "")
}

// decode stores a node in v, the value of the field f or an element of it.
func (r *Reader) decode(n *yaml.Node, v reflect.Value, f reflect.StructField, path string) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!null" {
		if r.Strict {
			r.Fail(n, path, "%s has no value; give it one or remove the key", path)
		}
		return
	}
	if r.Value != nil && r.Value(n, v.Addr().Interface(), path) {
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		r.mapping(n, v, path)
	case reflect.Slice:
		r.list(n, v, f, path)
	case reflect.Map:
		r.texts(n, v, f, path)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		r.decode(n, v.Elem(), f, path)
	default:
		r.scalar(n, v, f, path)
	}
}

func (r *Reader) mapping(n *yaml.Node, v reflect.Value, path string) {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, path, "%s must be a mapping of keys to values, not %s", named(path), r.kind(n))
		return
	}
	fields := map[string]reflect.StructField{}
	for key, f := range Fields(v.Type()) {
		fields[key] = f
		for _, other := range also(f) {
			fields[other] = f
		}
	}
	seen := map[string]bool{}
	for key, value := range Pairs(n) {
		name, f := join(path, Short(key.Value)), fields[key.Value]
		if f.Name == "" {
			r.Fail(key, name, "unknown key %q%s%s", Short(key.Value), in(path), nearest.Hint(key.Value, keys(v.Type())))
			continue
		}
		if seen[f.Tag.Get("yaml")] {
			r.Fail(key, name, "%s is %s under another name, which is there already", name, f.Tag.Get("yaml"))
			continue
		}
		seen[f.Tag.Get("yaml")] = true
		before := len(r.Problems)
		r.decode(value, v.FieldByIndex(f.Index), f, name)
		if f.Tag.Get("required") != "" && v.FieldByIndex(f.Index).IsZero() && len(r.Problems) == before {
			r.Fail(value, name, "%s must not be empty", name)
		}
	}
	if p, ok := v.Addr().Interface().(SourceSetter); ok {
		p.SetSource(r, n)
	}
	for key, f := range Fields(v.Type()) {
		switch {
		case f.Tag.Get("required") == "" || seen[key]:
		case path == "":
			r.Fail(n, key, "the key %s is missing", key)
		default:
			r.Fail(n, join(path, key), "%s needs the key %q", path, key)
		}
	}
}

func (r *Reader) list(n *yaml.Node, v reflect.Value, f reflect.StructField, path string) {
	if n.Kind != yaml.SequenceNode {
		r.Fail(n, path, "%s must be a list, not %s", path, r.kind(n))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		name := fmt.Sprintf("%s[%d]", path, i)
		if item.Kind == yaml.ScalarNode && item.Tag == "!!null" {
			r.Fail(item, name, "%s is empty", name)
			continue
		}
		r.setDefaults(v.Index(i))
		r.decode(item, v.Index(i), f, name)
	}
}

func (r *Reader) texts(n *yaml.Node, v reflect.Value, f reflect.StructField, path string) {
	if n.Kind != yaml.MappingNode {
		r.Fail(n, path, "%s must be a mapping of names to texts, not %s", path, r.kind(n))
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range Pairs(n) {
		text := reflect.New(v.Type().Elem()).Elem()
		r.decode(value, text, f, join(path, Short(key.Value)))
		v.SetMapIndex(reflect.ValueOf(key.Value), text)
	}
}

func (r *Reader) scalar(n *yaml.Node, v reflect.Value, f reflect.StructField, path string) {
	if v.Kind() != reflect.String && n.Kind != yaml.ScalarNode {
		r.Fail(n, path, "%s must be a single value, not %s", path, r.kind(n))
		return
	}
	text, ok := n.Value, true
	if v.Kind() == reflect.String || !r.Strict {
		text, ok = r.Text(n, path)
	}
	if !ok {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
		if allowed := enum(f); allowed != nil && !slices.Contains(allowed, text) {
			r.Fail(n, path, "%s is %q; it must be one of %s%s%s", path, Short(text), strings.Join(allowed, ", "),
				nearest.Hint(text, slices.Values(allowed)), f.Tag.Get("hint"))
		}
	case reflect.Bool:
		b, err := strconv.ParseBool(text)
		if err != nil || r.Strict && n.Tag != "!!bool" {
			r.Fail(n, path, "%s is %q; it must be true or false", path, Short(text))
		}
		v.SetBool(b)
	case reflect.Float64:
		x, err := strconv.ParseFloat(text, 64)
		most := 1.0
		if tag, bad := strconv.ParseFloat(f.Tag.Get("max"), 64); bad == nil {
			most = tag
		}
		if err != nil || !(x >= 0 && x <= most) {
			r.Fail(n, path, "%s is %q; it must be a number from 0 to %g", path, Short(text), most)
		}
		v.SetFloat(x)
	default:
		v.SetInt(r.number(n, v.Type() == reflect.TypeFor[time.Duration](), f, path, text))
	}
}

var decimal = regexp.MustCompile(`^(0|-?[1-9][0-9]{0,8})$`)

// number reads a whole number or a duration.
func (r *Reader) number(n *yaml.Node, duration bool, f reflect.StructField, path, text string) int64 {
	negative := f.Tag.Get("negative") != ""
	if duration && !r.Strict {
		t, err := parseDuration(text)
		if err != nil || t < 0 && !negative {
			r.Fail(n, path, "%s is %q; it must be a time such as 30s, 2m or 90d", path, Short(text))
		}
		return int64(t)
	}
	least, most := f.Tag.Get("min"), f.Tag.Get("max")
	lo, _ := strconv.ParseInt(least, 10, 32)
	hi, _ := strconv.ParseInt(most, 10, 32)
	x, err := strconv.ParseInt(text, 10, 32)
	switch {
	case r.Strict && (n.Tag != "!!int" || !decimal.MatchString(text)):
		r.Fail(n, path, "%s must be a whole number from %s to %s, without quotes or a unit", path, least, most)
	case err != nil:
		r.Fail(n, path, "%s is %q; it must be a whole number", path, Short(text))
	case most != "" && (x < lo || x > hi):
		r.Fail(n, path, "%s is %d; it must be from %d to %d", path, x, lo, hi)
	case x < 0 && !negative:
		r.Fail(n, path, "%s must not be negative", path)
	}
	if duration {
		return int64(time.Duration(x) * time.Second)
	}
	return x
}

// parseDuration reads a duration as [time.ParseDuration] does, or a number of days: 90d.
func parseDuration(text string) (time.Duration, error) {
	if days, ok := strings.CutSuffix(text, "d"); ok {
		const most = 36_500 // a hundred years
		n, err := strconv.Atoi(days)
		if err == nil && (n < -most || n > most) {
			err = strconv.ErrRange
		}
		return time.Duration(n) * 24 * time.Hour, err
	}
	return time.ParseDuration(text)
}

// SetDefaults gives the struct that v points to, and the structs in it, the values
// of their default tags. A tag that does not fit its field is a panic.
func (r *Reader) SetDefaults(v any) { r.setDefaults(reflect.ValueOf(v).Elem()) }

func (r *Reader) setDefaults(v reflect.Value) {
	if v.Kind() != reflect.Struct {
		return
	}
	for key, f := range Fields(v.Type()) {
		part := v.FieldByIndex(f.Index)
		r.setDefaults(part)
		if text := f.Tag.Get("default"); text != "" {
			before := len(r.Problems)
			r.decode(&yaml.Node{Kind: yaml.ScalarNode, Value: text}, part, f, key)
			if len(r.Problems) > before {
				panic(r.Problems[before])
			}
		}
	}
}

// kind says what a node is. A strict form shows a single value; in others it may
// be a secret in the wrong place.
func (r *Reader) kind(n *yaml.Node) string {
	if r.Strict && n.Kind == yaml.ScalarNode {
		return strconv.Quote(Short(n.Value))
	}
	return KindOf(n)
}

// enum returns the values that a field may have; nil means any.
func enum(f reflect.StructField) []string {
	if list := f.Tag.Get("enum"); list != "" {
		return strings.Split(list, ",")
	}
	return nil
}

func keys(t reflect.Type) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for key := range Fields(t) {
			if !yield(key) {
				return
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

// named is how messages call the value of a path.
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
