package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/etui-run/etui/internal/ecma"
	"github.com/etui-run/etui/internal/subschema"
)

// Schema is a compiled JSON Schema (draft 2020-12 unless it says otherwise).
// It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	patterns *ecma.Patterns
	nodes    int
	circular bool
}

// CompileSchema compiles a tool's parameters. References to other documents
// are refused: nothing is loaded from disk or network. So are references that lead
// back to themselves: models' providers refuse such schemas, or read them without end.
func CompileSchema(raw json.RawMessage) (*Schema, error) { return compile(raw, false) }

// CompileArguments is CompileSchema for a schema that only checks arguments, see
// [Definition.Arguments]: it may refer to itself.
func CompileArguments(raw json.RawMessage) (*Schema, error) { return compile(raw, true) }

func compile(raw json.RawMessage, circles bool) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("not JSON: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	patterns := &ecma.Patterns{}
	c.UseRegexpEngine(func(pattern string) (jsonschema.Regexp, error) { return patterns.Compile(pattern) })
	if n, ok := hugeNumber(doc); ok {
		return nil, fmt.Errorf("not a valid JSON Schema: the number %.40s is too large or too long", n)
	}
	nodes, circle, err := subschema.Size(doc)
	if err == nil && circle != "" && !circles {
		err = fmt.Errorf("the reference %.80q leads back to itself", circle)
	}
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
	if err == nil && circle != "" && subschema.Endless(s) {
		err = fmt.Errorf("the reference %.80q leads back to itself", circle)
	}
	if err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	return &Schema{s, patterns, nodes, circle != ""}, nil
}

// Limits of the work that a schema can cause.
const (
	maxWork  = 500_000_000 // nodes times bytes of arguments
	maxSteps = 2_000_000   // of a schema that refers to itself, for some arguments
)

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
	var tooDeep bool
	undone := s.check(func() {
		if tooDeep = s.circular && subschema.Exceeds(s.compiled, value, maxSteps); !tooDeep {
			err = mismatch(s.compiled.Validate(value))
		}
	})
	switch {
	case undone != nil:
		return undone
	case tooDeep:
		return &Mismatch{Problems: []string{"the arguments are too deep for a schema that refers to itself so often"}}
	}
	return err
}

// check does work that matches patterns. It returns a [*Mismatch] if some text took too long: it may
// fit or not.
func (s *Schema) check(work func()) error {
	end := s.patterns.Begin()
	var undone string
	func() {
		defer func() { undone = end() }() // after a panic, too
		work()
	}()
	if undone == "" {
		return nil
	}
	return &Mismatch{Problems: []string{fmt.Sprintf("the arguments could not be checked: a text takes too long for the pattern %.200q; "+
		"make it shorter", undone)}}
}

// CheckNames finds a name in arguments that differs from a property of the schema only in its
// case. Many programs, those in Go among them, read it as that property, which neither the
// schema nor a rule has checked. The error is a [*Mismatch]. The arguments must be valid.
func (s *Schema) CheckNames(args json.RawMessage) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	var problem string
	undone := s.check(func() { problem = subschema.FindMisnamed(s.compiled, value) })
	if problem != "" {
		return &Mismatch{Problems: []string{problem}}
	}
	return undone
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
