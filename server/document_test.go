package server_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestDocument holds openapi.json to what generators of clients and people need: each operation has a name of its
// own, a summary, its parameters, an answer and a refusal; each body of JSON has an example, which fits.
func TestDocument(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	d := &linted{T: t, compiler: jsonschema.NewCompiler(), names: map[string]bool{}}
	if err := d.compiler.AddResource("openapi.json", value); err != nil {
		t.Fatal(err)
	}
	doc := object(value)
	for path, item := range object(doc["paths"]) {
		for method, op := range object(item) {
			d.operation(method, path, object(op))
		}
	}
	if len(d.names) < 90 || d.examples < 200 {
		t.Errorf("%d operations with %d examples were looked at", len(d.names), d.examples)
	}
	for name := range object(object(doc["components"])["schemas"]) {
		if !strings.Contains(string(text), `"#/components/schemas/`+name+`"`) {
			t.Errorf("the schema %s is not used", name)
		}
		d.compile("#/components/schemas/" + name)
	}
}

// linted is the document under test.
type linted struct {
	*testing.T
	compiler *jsonschema.Compiler
	names    map[string]bool
	examples int
}

func object(v any) map[string]any { o, _ := v.(map[string]any); return o }

func (d *linted) compile(at string) *jsonschema.Schema {
	s, err := d.compiler.Compile("openapi.json" + strings.NewReplacer("{", "%7B", "}", "%7D").Replace(at))
	if err != nil {
		d.Errorf("%s: %v", at, err)
	}
	return s
}

func (d *linted) operation(method, path string, op map[string]any) {
	name, _ := op["operationId"].(string)
	if name == "" || d.names[name] {
		d.Errorf("%s %s: the name %q is empty or another operation's", method, path, name)
	}
	d.names[name] = true
	if op["summary"] == "" || op["summary"] == nil || op["tags"] == nil {
		d.Errorf("%s has no summary or no tags", name)
	}
	var inPath []string
	parameters, _ := op["parameters"].([]any)
	for _, p := range parameters {
		p := object(p)
		if p["schema"] == nil {
			d.Errorf("%s: the parameter %s has no schema", name, p["name"])
		}
		if at, _ := p["name"].(string); p["in"] == "path" {
			inPath = append(inPath, "{"+at+"}")
		}
	}
	named := ofPath.FindAllString(path, -1)
	if !slices.Equal(inPath, named) {
		d.Errorf("%s %s has the parameters %v", name, path, inPath)
	}
	at := "#/paths/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(path) + "/" + method
	d.content(at+"/requestBody", object(op["requestBody"]))
	responses := object(op["responses"])
	if responses["default"] == nil || responses["200"] == nil && responses["204"] == nil {
		d.Errorf("%s documents %d answers, not one and a refusal", name, len(responses))
	}
	for status, r := range responses {
		if object(r)["description"] == "" {
			d.Errorf("%s: the answer %s has no description", name, status)
		}
		d.content(at+"/responses/"+status, object(r))
	}
}

// content holds the examples of a body to its schemas.
func (d *linted) content(at string, body map[string]any) {
	for media, m := range object(body["content"]) {
		m := object(m)
		if !strings.Contains(media, "json") {
			continue
		}
		if m["example"] == nil {
			d.Errorf("%s: %s has no example", at, media)
			continue
		}
		d.examples++
		if s := d.compile(at + "/content/" + strings.ReplaceAll(media, "/", "~1") + "/schema"); s != nil {
			if err := s.Validate(m["example"]); err != nil {
				d.Errorf("%s: the example does not fit: %v", at, err)
			}
		}
	}
}
