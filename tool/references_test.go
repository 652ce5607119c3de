package tool_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/tool"
)

func TestReferences(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/"}}}`,
		`{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#/properties/a"}}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"next":{"$ref":"#/$defs/x"}}}}}`,
		`{"type":"object","$defs":{"x":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/x"}]}}}`,
		`{"type":"object","definitions":{"x":{"items":{"$ref":"#/definitions"}}}}`,
		`{"type":"object","$anchor":"top","properties":{"a":{"$ref":"#top"}}}`,
		`{"type":"object","$dynamicAnchor":"top","properties":{"a":{"$dynamicRef":"#top"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"parameters"}}}`,
		`{"type":"object","$id":"https://a.example/s","properties":{"a":{"$ref":"https://a.example/s"}}}`,
		`{"type":"object","properties":{"a/b":{"items":{"$ref":"#/properties/a~1b"}}}}`,
		`{"type":"object","properties":{"a b":{"items":{"$ref":"#/properties/a%20b"}}}}`,
	} {
		if _, err := tool.CompileSchema(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), "reference") {
			t.Errorf("%s: %v", schema, err)
		}
	}
	for schema, c := range map[string]struct{ fits, fails string }{
		`{"type":"object","properties":{"a":{"$ref":"#"}},"additionalProperties":false}`: {`{"a":{"a":{}}}`, `{"a":{"a":{"b":1}}}`},
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":"object","properties":{"text":{"type":"string"},"next":{"type":"array","items":{"$ref":"#/$defs/x"}}}}}}`: {
			`{"a":{"text":"a","next":[{"next":[{"text":"b"}]}]}}`, `{"a":{"text":"a","next":[{"next":[{"text":1}]}]}}`},
		`{"type":"object","$defs":{"x":{"anyOf":[{"type":"null"},{"$ref":"#/$defs/x"}]}}}`:                                                                                 {},
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"$ref":"#/$defs/x"}}}`:                                            {},
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"allOf":[{"items":{"$ref":"#/$defs/y"}},{"$ref":"#/$defs/y"}]},"y":{"$ref":"#/$defs/x"}}}`: {},
	} {
		s, err := tool.CompileArguments(json.RawMessage(schema))
		if c.fits == "" {
			if err == nil && strings.Contains(schema, `"properties"`) {
				t.Errorf("%s has no end and compiles", schema)
			}
			continue
		}
		if err != nil || s.Validate(json.RawMessage(c.fits)) != nil || s.Validate(json.RawMessage(c.fails)) == nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
	for _, schema := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"},"b":{"$ref":"#/$defs/x"}},"$defs":{"x":{"$ref":"#/$defs/y"},"y":{"type":"string"}}}`,
		`{"type":"object","properties":{"$ref":{"type":"string"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#word"}},"$defs":{"w":{"$anchor":"word","type":"string"}}}`,
	} {
		if _, err := tool.CompileSchema(json.RawMessage(schema)); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// TestCircularWork: the work for a schema that refers to itself twice doubles with each level of the
// arguments, and has a limit. A tree without such doubling may be deep.
func TestCircularWork(t *testing.T) {
	nested := func(levels int) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, levels) + "{}" + strings.Repeat("}", levels))
	}
	for _, c := range []struct {
		schema string
		levels int
		ok     bool
	}{
		{`{"type":"object","properties":{"a":{"$ref":"#"}}}`, 500, true},
		{`{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, 8, true},
		{`{"type":"object","anyOf":[{"properties":{"a":{"$ref":"#"}}},{"properties":{"a":{"$ref":"#"}}}]}`, 500, false},
	} {
		s, err := tool.CompileArguments(json.RawMessage(c.schema))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(nested(c.levels)); (err == nil) != c.ok {
			t.Errorf("%s, %d levels: %v", c.schema, c.levels, err)
		}
	}
}
