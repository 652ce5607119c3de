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
