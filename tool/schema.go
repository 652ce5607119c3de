package tool

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/etui-run/etui/internal/patternsize"
)

// Schema is a compiled JSON Schema (draft 2020-12 unless it says otherwise).
// It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	nodes    int
}

// CompileSchema compiles a tool's parameters. References to other documents
// are refused: nothing is loaded from disk or network. So are references that lead
// back to themselves: models' providers refuse such schemas, or read them without end.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	if n, ok := hugeNumber(doc); ok {
		return nil, fmt.Errorf("not a valid JSON Schema: the number %.40s is too large or too long", n)
	}
	nodes, err := checkReferences(doc)
	if err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	const name = "etui:///parameters" // absolute, because error messages show it and must not show a path of this machine
	if err := c.AddResource(name, doc); err != nil {
		return nil, err
	}
	s, err := c.Compile(name)
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		err = mismatch(invalid.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	return &Schema{s, nodes}, nil
}

// Limits of the work that a schema can cause: a few references that double each other
// would keep the validator busy for ever.
const (
	maxNodes = 50_000      // of a schema with its references written out
	maxWork  = 500_000_000 // nodes times bytes of arguments
)

// checkReferences refuses references that lead outside a schema or in a circle. It returns
// the number of nodes of the schema with all references written out.
func checkReferences(doc any) (nodes int, err error) {
	r := references{doc: doc, named: map[string]any{}, at: map[string]int{"": following}}
	r.name(doc)
	return r.follow(doc)
}

// references follows the references of a schema.
type references struct {
	doc   any
	named map[string]any // schemas with an anchor
	at    map[string]int // references by target: the nodes there, or following
}

func (r *references) name(v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			r.name(inner)
		}
	case map[string]any:
		for _, key := range []string{"$anchor", "$dynamicAnchor", "$id", "id"} {
			if name, ok := v[key].(string); ok {
				r.named[strings.TrimPrefix(name, "#")] = v
			}
		}
		for _, inner := range v {
			r.name(inner)
		}
	}
}

// follow follows all references below a value and counts its nodes.
func (r *references) follow(v any) (nodes int, err error) {
	add := func(n int, failed error) {
		if nodes += n; nodes > maxNodes && failed == nil {
			failed = fmt.Errorf("with its references written out it has more than %d parts", maxNodes)
		}
		err = cmp.Or(err, failed)
	}
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			add(r.follow(inner))
		}
	case map[string]any:
		for key, inner := range v {
			text, isText := inner.(string)
			switch {
			case isText && (key == "$ref" || key == "$dynamicRef" || key == "$recursiveRef"):
				add(r.enter(text))
			case isText && key == "pattern":
				add(patternsize.Of(text), nil)
			default:
				add(r.follow(inner))
			}
			if patterns, ok := inner.(map[string]any); ok && key == "patternProperties" {
				for pattern := range patterns {
					add(patternsize.Of(pattern), nil)
				}
			}
			if err != nil {
				break
			}
		}
	}
	add(1, nil)
	return nodes, err
}

// following marks a reference that is being followed.
const following = -1

func (r *references) enter(target string) (nodes int, err error) {
	place, ok := strings.CutPrefix(target, "#")
	if !ok {
		return 0, fmt.Errorf("the reference %.80q leads outside the schema; a reference begins with #", target)
	}
	if place == "/" {
		place = ""
	}
	switch nodes, seen := r.at[place]; {
	case nodes == following:
		return 0, fmt.Errorf("the reference %.80q leads back to itself", target)
	case seen:
		return nodes, nil
	}
	r.at[place] = following
	nodes, err = r.follow(r.find(place))
	r.at[place] = nodes
	return nodes, err
}

// find returns the schema at a JSON pointer or an anchor; nil if there is none, which
// the compiler reports.
func (r *references) find(place string) any {
	if !strings.HasPrefix(place, "/") {
		return r.named[place]
	}
	if plain, err := url.PathUnescape(place); err == nil {
		place = plain
	}
	v := r.doc
	for name := range strings.SplitSeq(place[1:], "/") {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		switch inner := v.(type) {
		case map[string]any:
			v = inner[name]
		case []any:
			n, err := strconv.Atoi(name)
			if err != nil || n < 0 || n >= len(inner) {
				return nil
			}
			v = inner[n]
		default:
			return nil
		}
	}
	return v
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the reference %s leads outside the schema", url)
}

// Mismatch lists in what arguments differ from a schema: the first 50 mistakes, if there are more.
type Mismatch struct {
	// Problems holds one sentence each: "at /level: value must be one of …".
	Problems []string
}

func (m *Mismatch) Error() string { return strings.Join(m.Problems, "; ") }

// Validate checks a JSON value. The error is a [*Mismatch] when the value is
// JSON but does not fit.
func (s *Schema) Validate(args json.RawMessage) error {
	if s.nodes*len(args) > maxWork {
		return &Mismatch{Problems: []string{fmt.Sprintf("the arguments are too long for so large a schema: at most %d bytes", maxWork/s.nodes)}}
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	if n, ok := hugeNumber(value); ok {
		return &Mismatch{Problems: []string{fmt.Sprintf("the number %.40s is too large or too long", n)}}
	}
	return mismatch(s.compiled.Validate(value))
}

// mismatch rewords the validator's errors for people and models.
func mismatch(err error) error {
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err
	}
	m := &Mismatch{}
	m.collect(invalid, message.NewPrinter(language.English))
	slices.Sort(m.Problems)
	m.Problems = slices.Compact(m.Problems)
	return m
}

// hugeNumber finds a number that the validator would fail on, or calculate with
// for long: one of more than 400 characters, or with more than three digits of
// exponent.
func hugeNumber(value any) (string, bool) {
	switch v := value.(type) {
	case json.Number:
		text := string(v)
		exponent := strings.IndexAny(text, "eE")
		return text, len(text) > 400 || exponent >= 0 && len(strings.TrimLeft(text[exponent+1:], "+-")) > 3
	case []any:
		for _, item := range v {
			if n, ok := hugeNumber(item); ok {
				return n, true
			}
		}
	case map[string]any:
		for _, item := range v {
			if n, ok := hugeNumber(item); ok {
				return n, true
			}
		}
	}
	return "", false
}

// The most that a mismatch says: the same mistake in each of a hundred thousand items, with all
// values that were possible, would be a text of hundreds of megabytes.
const (
	maxProblems = 50
	maxProblem  = 2000 // bytes of each
)

func (m *Mismatch) collect(e *jsonschema.ValidationError, p *message.Printer) {
	for _, cause := range e.Causes {
		m.collect(cause, p)
	}
	if len(e.Causes) == 0 && len(m.Problems) < maxProblems {
		text := fmt.Sprintf("at /%s: %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(p))
		if len(text) > maxProblem {
			text = strings.ToValidUTF8(text[:maxProblem], "") + "…"
		}
		m.Problems = append(m.Problems, text)
	}
}
