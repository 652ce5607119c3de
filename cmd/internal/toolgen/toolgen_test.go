package toolgen_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/toolgen"
	"github.com/etui-run/etui/cmd/internal/toolgen/testdata/sample"
	"github.com/etui-run/etui/tool"
)

var update = flag.Bool("update", false, "rewrite the generated files")

// TestGenerated proves that the generated tools of this module are up to date.
// `make generate` rewrites them, also when they no longer compile.
func TestGenerated(t *testing.T) {
	t.Parallel()
	made, err := toolgen.Generate(t.Context(), ".", "./testdata/sample", "../builtin/...", "../../../selection/meta", "../../../hub", "../../../examples/tools")
	if err != nil {
		t.Fatal(err)
	}
	const module = "../../../examples/unittest" // one of its own
	agent, err := toolgen.Generate(t.Context(), module, "./work")
	if err != nil {
		t.Fatal(err)
	}
	for i := range agent {
		agent[i].Path = filepath.Join(module, agent[i].Path)
	}
	for _, p := range slices.Concat(made, agent) {
		if len(p.Tools) == 0 {
			continue
		}
		if *update {
			if err := os.WriteFile(p.Path, p.Text, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if have, err := os.ReadFile(p.Path); err != nil || !bytes.Equal(p.Text, have) {
			t.Errorf("%s is not what is generated (%v): run `make generate`", p.Path, err)
		}
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	registry := catalog.NewRegistry(nil)
	if err := sample.Register(registry, &sample.Service{Name: "rain"}); err != nil {
		t.Fatal(err)
	}
	call := func(name, args string) string {
		e, ok := registry.Catalog().Get(name)
		if !ok {
			t.Fatalf("there is no tool %s", name)
		}
		r, err := e.Run(t.Context(), json.RawMessage(args))
		if err != nil {
			return "error: " + err.Error()
		}
		return r.Text
	}
	for _, c := range []struct{ name, args, want string }{
		{"say_hello", `{"who":"Ada \u0026 \"Bo\""}`, `Hello, Ada & "Bo"!`},
		{"say_hello", `{}`, "error: nobody is there"},
		{"forget_all", `{}`, "Done."},
		{"read_page", `{"path":"a.md", "first_line":3, "unit":"C"}`, "a.md3C"},
		{"read_page", `{"path":"a.md", "first_line":3, "lines":7, "unit":"F"}`, "a.md3 7F"},
		{"read_page", `{"path":"a.md", "first_line":"x", "unit":"F"}`, "error: "},
		{"count_words", `{"text":"one two"}`, "2"},
		{"show_map", `{"lat":1.5, "lon":-2}`, "1.5"},
		{"show_map", `{"lat":"x", "lon":-2}`, "error: "},
		{"forecast", `{"city":"罗马"}`, `{"input":{"city":"罗马","days":3,"near":null,"pair":[false,false]},"note":"rain","any":null}`},
	} {
		if got := call(c.name, c.args); got != c.want && (c.want != "error: " || !strings.HasPrefix(got, c.want)) {
			t.Errorf("%s(%s) = %s, want %s", c.name, c.args, got, c.want)
		}
	}
	if n, err := sample.Rings(nil); n != 1 || err != nil || len(sample.Definitions()) != 1 || sample.Definitions()[0].Name != "ring_bell" {
		t.Error(n, err, sample.Definitions())
	}
	if got := fmt.Sprint(sample.Groups()); got != "map[read:[forecast] social:[say_hello] weather:[forecast show_map]]" {
		t.Error(got)
	}
}

// FuzzForecast compares the generated code with encoding/json, and with the schema:
// the tool accepts what the schema allows, except for numbers that are too large and
// strings in the wrong format.
func FuzzForecast(f *testing.F) {
	f.Add(`{"city":"a","days":2,"unit":"F","near":{"lat":1,"lon":2e1},"wants":["rain"],"limit":9,"extra":{"x":[1, 2]},"since":"2026-01-02T03:04:05Z","tags":{"a":1,"b":-2},"grid":[[1,2.5],[]],"pair":[true,false],"blob":"AAE="}`)
	f.Add(` { "city" : "\ud83d\ude00\n" , "near" : null, "wants":null, "grid":[null], "unknown":{"a":[{}]} } `)
	f.Add(`{"city":1}`)
	f.Add(`{"days":1e2,"limit":300}`)
	f.Add(`[]`)
	forecast := sample.Tools(&sample.Service{})[0]
	schema, err := tool.CompileSchema(forecast.Definition().Schema())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var any any
		if _ = json.Unmarshal([]byte(text), &any); folds(any) || strings.Contains(text, `"wait"`) {
			t.Skip() // the generated code matches names exactly and writes durations differently
		}
		want := sample.Forecast{Days: 3}
		wantErr := json.Unmarshal([]byte(text), &want)
		r, err := forecast.Call(t.Context(), json.RawMessage(text))
		if err != nil && schema.Validate(json.RawMessage(text)) == nil && !strings.Contains(err.Error(), "bits") && !strings.HasPrefix(err.Error(), "since: ") && !strings.HasPrefix(err.Error(), "blob: ") {
			t.Fatalf("the schema allows %s, the generated code says: %v", text, err)
		}
		if wantErr != nil || err != nil {
			if wantErr == nil && !strings.Contains(text, "null") {
				t.Fatalf("encoding/json reads %q, the generated code says: %v", text, err)
			}
			return
		}
		var got sample.Weather
		if err := json.Unmarshal([]byte(r.Text), &got); err != nil {
			t.Fatalf("%q wrote %s: %v", text, r.Text, err)
		}
		a, _ := json.Marshal(want)
		b, _ := json.Marshal(got.Input)
		if !bytes.Equal(a, b) {
			t.Fatalf("%q:\ngot  %s\nwant %s", text, b, a)
		}
	})
}

// folds reports whether a value contains a name that encoding/json matches to a field
// despite its case.
func folds(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for name, inner := range v {
			if name != strings.ToLower(name) || strings.ContainsAny(name, "ſK") || folds(inner) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, folds)
	}
	return false
}

func TestMistakes(t *testing.T) {
	t.Parallel()
	_, err := toolgen.Generate(t.Context(), ".", "./testdata/wrong")
	var p *toolgen.Problem
	if !errors.As(err, &p) || p.Position.Line == 0 || filepath.Base(p.Position.Filename) != "wrong.go" {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{
		"wrong.go:7:6: noComment has no doc comment",
		"wrong.go:12:16: an argument of noName has no name",
		`unknown key "grups"; did you mean "groups"`,
		"noError must return an error last",
		`unknown risk "harmless"; it is read, write or destructive`,
		`wrong.go:21:27: unknown replay "neverr"; did you mean "never"?`,
		`unknown directive //etui:alais; did you mean "alias"`,
		"Tree contains itself",
		"chan int cannot be written as JSON",
		`default:"many" is not an integer`,
		`the default "c" is not allowed: at /: value must be one of`,
		"the tag minimum is for integer or number, and this field is string",
		"the field lower has a json tag but is not exported",
		`two fields are "count" in JSON: Count and Twice`,
		`two functions define the tool "tree"`,
		"the json option omitempy of Form is not supported",
		"the tag maxlength of Form is written maxLength",
		"the tag of Loose is not well formed at json:loose",
		`maximum:"256" does not fit into uint8`,
		`pattern:"(" is not a regular expression`,
		`"emp ty" is not a name that all models accept`,
		"the minItems 2 is more than the maximum, 1",
		"args is a name that the generated code uses",
		`"chinese" is not a language`,
		"//etui:alias needs a text",
		"a directive begins with //etui:tool, without a space",
		"wrong_js.go:6:6: elsewhere is a tool in a file with build constraints",
		"Other is not a struct type; a tool is a function, or a struct type with its arguments",
		"Groups is the name of a generated function",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing says %q", want)
		}
	}
	if t.Failed() {
		t.Log(err)
	}
}

func TestSameBytes(t *testing.T) {
	t.Parallel()
	var made [2][]toolgen.Package
	for i := range made {
		var err error
		if made[i], err = toolgen.Generate(t.Context(), ".", "./testdata/sample"); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(made[0], made[1]) {
		t.Error("two runs differ")
	}
}

// An outdated generated file is replaced, even if it no longer parses or imports a
// package that is gone.
func TestOutdated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":     "module bell\n\ngo 1.26\n",
		"bell.go":    "package bell\n\n// ring rings.\n//\n//etui:tool\nfunc ring() error { return nil }\n\nvar all = Tools()\n",
		toolgen.File: "// Code generated by etui tools gen; DO NOT EDIT.\n\npackage bell\n\nimport \"bell/gone\"\n\nfunc Tools( { gone.X }\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	made, err := toolgen.Generate(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(made) != 1 {
		t.Fatalf("len(made) = %v, want 1: %+v", len(made), made)
	}
	if !strings.Contains(string(made[0].Text), "ring),") {
		t.Errorf("string(made[0].Text): %q does not contain %q", string(made[0].Text), "ring),")
	}
}
