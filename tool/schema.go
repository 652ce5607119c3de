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
)

// Schema is a compiled JSON Schema (draft 2020-12 unless it says otherwise).
// It is safe for concurrent use.
type Schema struct{ compiled *jsonschema.Schema }

// CompileSchema compiles a tool's parameters. References to other documents
// are refused: nothing is loaded from disk or network.
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
	const url = "etui:///parameters" // absolute, because error messages show it and must not show a path of this machine
	if err := c.AddResource(url, doc); err != nil {
		return nil, err
	}
	s, err := c.Compile(url)
	var invalid *jsonschema.SchemaValidationError
	if errors.As(err, &invalid) {
		err = mismatch(invalid.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("not a valid JSON Schema: %w", err)
	}
	return &Schema{s}, nil
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("the reference %s leads outside the schema", url)
}

// Mismatch lists everything in which arguments differ from a schema.
type Mismatch struct {
	// Problems holds one sentence each: "at /level: value must be one of …".
	Problems []string
}

func (m *Mismatch) Error() string { return strings.Join(m.Problems, "; ") }

// Validate checks a JSON value. The error is a [*Mismatch] when the value is
// JSON but does not fit.
func (s *Schema) Validate(args json.RawMessage) error {
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

func (m *Mismatch) collect(e *jsonschema.ValidationError, p *message.Printer) {
	for _, cause := range e.Causes {
		m.collect(cause, p)
	}
	if len(e.Causes) == 0 {
		m.Problems = append(m.Problems, fmt.Sprintf("at /%s: %s", strings.Join(e.InstanceLocation, "/"), e.ErrorKind.LocalizedString(p)))
	}
}
