package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

type order struct {
	Item  string   `json:"item" jsonschema:"what to buy"`
	Count int      `json:"count,omitempty"`
	Tags  []string `json:"tags,omitempty"`
}

func call(t *testing.T, tl tool.Tool, args string) chat.Result {
	t.Helper()
	r, err := tl.Call(t.Context(), json.RawMessage(args))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestFuncInfersItsSchema(t *testing.T) {
	buy := tool.Func(tool.Definition{Name: "buy"}, func(_ context.Context, o order) (order, error) { o.Count++; return o, nil })
	s, err := tool.CompileSchema(buy.Definition().Schema())
	if err != nil {
		t.Fatal(err)
	}
	for args, ok := range map[string]bool{`{"item":"tea"}`: true, `{"item":"tea","count":2,"tags":["x"]}`: true, `{}`: false, `{"item":1}`: false, `{"item":"tea","size":1}`: false, `[]`: false} {
		if err := s.Validate([]byte(args)); (err == nil) != ok {
			t.Errorf("%s: %v", args, err)
		}
	}
	if !strings.Contains(string(buy.Definition().Schema()), "what to buy") {
		t.Errorf("no description in %s", buy.Definition().Schema())
	}
	r := call(t, buy, `{"item":"tea","count":1}`)
	if r.Text != `{"item":"tea","count":2}` {
		t.Errorf("r.Text = %q, want %q", r.Text, `{"item":"tea","count":2}`)
	}
	if string(r.View.Data) != r.Text {
		t.Errorf("string(r.View.Data) = %v, want %v", string(r.View.Data), r.Text)
	}
}

func TestFuncResults(t *testing.T) {
	text := tool.Func(tool.Definition{Name: "t"}, func(context.Context, struct{}) (string, error) { return "hi", nil })
	if r := call(t, text, ``); r.Text != "hi" || r.View != nil {
		t.Errorf("%+v", r)
	}
	own := tool.Func(tool.Definition{Name: "t"}, func(context.Context, map[string]any) (chat.Result, error) { return tool.Failure("no %d", 1), nil })
	if r := call(t, own, `{"a":1}`); !r.Failed || r.Text != "no 1" || r.View.Error != "no 1" {
		t.Errorf("%+v", r)
	}
	fails := tool.Func(tool.Definition{Name: "t"}, func(context.Context, struct{}) (string, error) { return "", errors.New("away") })
	if _, err := fails.Call(t.Context(), nil); err == nil || err.Error() != "away" {
		t.Errorf("%v", err)
	}
}

func TestFuncPanicsOnMistakes(t *testing.T) {
	defer func() {
		if p := recover(); p == nil || !strings.Contains(p.(string), "a b") {
			t.Errorf("panic %v", p)
		}
	}()
	tool.Func(tool.Definition{Name: "a b"}, func(context.Context, struct{}) (string, error) { return "", nil })
}

func TestSchemas(t *testing.T) {
	for raw, says := range map[string]string{`{`: "not JSON", `{"type":"strin"}`: "not a valid JSON Schema", `{"$ref":"https://example.com/x"}`: "leads outside", `{"$ref":"file:///etc/passwd"}`: "leads outside", `{"$ref":"#/$defs/x"}`: "not a valid", `{"minimum":1e3000000}`: "too large"} {
		if _, err := tool.CompileSchema([]byte(raw)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", raw, err, says)
		}
	}
	s, err := tool.CompileSchema([]byte(`{"type":"object","properties":{"a":{"$ref":"#/$defs/n"},"b":{"enum":["x"]}},"required":["a"],"$defs":{"n":{"type":"integer","minimum":3}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var m *tool.Mismatch
	if err := s.Validate([]byte(`{"a":1,"b":"y"}`)); !errors.As(err, &m) || len(m.Problems) != 2 || !strings.HasPrefix(m.Problems[0], "at /a: ") {
		t.Errorf("%v", err)
	}
	if err := s.Validate([]byte(`{"a":1e3000000}`)); !errors.As(err, &m) {
		t.Errorf("a number that the validator panics on: %v", err)
	}
	if err := s.Validate([]byte(`{`)); err == nil {
		t.Errorf("%v", err)
	}
}

func TestHost(t *testing.T) {
	tool.Report(t.Context(), tool.Progress{Text: "nobody listens"})
	if _, ok := tool.Defer(t.Context()); ok {
		t.Error("there is nobody to finish for")
	}
	var seen []string
	ctx := tool.WithHost(t.Context(), tool.Host{Progress: func(p tool.Progress) { seen = append(seen, p.Text) }, Finish: func(r chat.Result) { seen = append(seen, r.Text) }})
	tool.Report(ctx, tool.Progress{Text: "a"})
	finish, _ := tool.Defer(ctx)
	finish(tool.Text("b"))
	if strings.Join(seen, "") != "ab" {
		t.Errorf("%v", seen)
	}
}

// TestMisnamed: a name that differs from a property only in its case is found wherever the
// schema describes the property, and free names are left alone.
func TestMisnamed(t *testing.T) {
	const path = `{"type":"object","properties":{"path":{"type":"string"}}}`
	for schema, cases := range map[string]map[string]bool{
		path: {`{"path":"a"}`: false, `{"Path":"a"}`: true, `{"path":"a","PATH":"b"}`: true, `{"pa\u0074h":"a"}`: false, `{"other":{"Path":1}}`: false},
		`{"properties":{"kind":{"type":"string"}}}`:                                             {`{"\u212aind":"a"}`: true}, // the sign of Kelvin
		`{"properties":{"in":{"anyOf":[{"type":"null"},` + path + `]}}}`:                        {`{"in":{"Path":"a"}}`: true, `{"in":{"path":"a"}}`: false},
		`{"properties":{"in":{"oneOf":[` + path + `]}}}`:                                        {`{"in":{"Path":"a"}}`: true},
		`{"allOf":[` + path + `]}`:                                                              {`{"Path":"a"}`: true},
		`{"if":{"required":["x"]},"then":` + path + `}`:                                         {`{"Path":"a"}`: true},
		`{"$defs":{"p":` + path + `},"properties":{"in":{"$ref":"#/$defs/p"}}}`:                 {`{"in":{"pAth":"a"}}`: true, `{"in":{"path":"a"}}`: false},
		`{"additionalProperties":` + path + `}`:                                                 {`{"any":{"Path":"a"}}`: true, `{"Any":{"path":"a"}}`: false},
		`{"patternProperties":{"^x":` + path + `}}`:                                             {`{"x1":{"Path":"a"}}`: true, `{"y1":{"Path":"a"}}`: false},
		`{"properties":{"list":{"items":{"items":` + path + `}}}}`:                              {`{"list":[[{"Path":"a"}]]}`: true},
		`{"properties":{"list":{"prefixItems":[true,` + path + `]}}}`:                           {`{"list":[{"Path":"a"},{"Path":"a"}]}`: true, `{"list":[{"Path":"a"},{"path":"a"}]}`: false},
		`{"dependentSchemas":{"x":` + path + `}}`:                                               {`{"Path":"a"}`: true},
		`{"properties":{"headers":{"type":"object","additionalProperties":{"type":"string"}}}}`: {`{"headers":{"Headers":"a","HOST":"b"}}`: false},
		`{"properties":{"a":` + path + `,"b":{"properties":{"Path":{}}}}}`:                      {`{"a":{"Path":"a"}}`: true, `{"b":{"Path":"a"}}`: false, `{"b":{"path":"a"}}`: true},
	} {
		s, err := tool.CompileSchema(json.RawMessage(schema))
		if err != nil {
			t.Fatalf("%s: %v", schema, err)
		}
		for args, want := range cases {
			if err := s.CheckNames(json.RawMessage(args)); (err != nil) != want {
				t.Errorf("%s with %s: %v", schema, args, err)
			}
		}
	}
}

func FuzzSchema(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":"b"}`)
	f.Add(`{"$ref":"#"}`, `[1]`)
	f.Fuzz(func(_ *testing.T, schema, value string) {
		if s, err := tool.CompileSchema([]byte(schema)); err == nil {
			_ = s.Validate([]byte(value)) // it must not panic
		}
	})
}

// TestSchemaBounds: neither a schema nor its use keeps the validator busy for long.
func TestSchemaBounds(t *testing.T) {
	var b strings.Builder
	b.WriteString(`{"type":"object","$defs":{"a0":{"type":"string"}`)
	for i := 1; i <= 40; i++ {
		fmt.Fprintf(&b, `,"a%d":{"allOf":[{"$ref":"#/$defs/a%d"},{"$ref":"#/$defs/a%d"}]}`, i, i-1, i-1)
	}
	b.WriteString(`},"properties":{"x":{"$ref":"#/$defs/a40"}}}`)
	if _, err := tool.CompileSchema(json.RawMessage(b.String())); err == nil || !strings.Contains(err.Error(), "more than 50000 parts") {
		t.Error(err)
	}
	wide := `{"type":"object","properties":{"x":{"items":{"allOf":[` + strings.Repeat(`{"minLength":1},`, 2000) + `{}]}}}}`
	s, err := tool.CompileSchema(json.RawMessage(wide))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{"x":["a"]}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(json.RawMessage(`{"x":[` + strings.Repeat(`"a",`, 200_000) + `"a"]}`)); err == nil || !strings.Contains(err.Error(), "too long for so large a schema") {
		t.Error(err)
	}
}

// TestSlowPatterns: a pattern of a schema counts with the size that it has when it is compiled.
func TestSlowPatterns(t *testing.T) {
	slow := `(?:` + strings.Repeat(".?", 200) + `){900}z`
	for _, schema := range []string{`{"properties":{"a":{"pattern":"` + slow + `"}}}`, `{"patternProperties":{"` + slow + `":{}}}`} {
		if _, err := tool.CompileSchema(json.RawMessage(schema)); err == nil || !strings.Contains(err.Error(), "more than 50000 parts") {
			t.Errorf("%.40s: %v", schema, err)
		}
	}
	// A middling one takes short arguments only. A property may be called pattern.
	s, err := tool.CompileSchema(json.RawMessage(`{"properties":{"a":{"pattern":"(?:` + strings.Repeat(".?", 20) + `){100}z"},"pattern":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{"a":"aaz","pattern":"x"}`)); err != nil {
		t.Error(err)
	}
	if err := s.Validate(json.RawMessage(`{"a":"` + strings.Repeat("a", 500_000) + `"}`)); err == nil || !strings.Contains(err.Error(), "too long for so large a schema") {
		t.Error(err)
	}
}

// TestSlowCheck: a check whose patterns take too long ends soon and says so, whatever the schema makes of a
// text that does not match. The next check is another one.
func TestSlowCheck(t *testing.T) {
	var texts []string
	for n := 4000; n > 100; n = n * 2 / 3 { // each is tried: the length that is left out shrinks less
		texts = append(texts, `"`+strings.Repeat("a", n)+`!"`)
	}
	for _, schema := range []string{`{"items":{"pattern":"^(?!x)(a+)+$"}}`, `{"items":{"not":{"pattern":"^(?!x)(a+)+$"}}}`} {
		s, err := tool.CompileSchema(json.RawMessage(`{"properties":{"a":` + schema + `}}`))
		if err != nil {
			t.Fatal(err)
		}
		err = s.Validate(json.RawMessage(`{"a":[` + strings.Join(texts, ",") + `]}`))
		if err == nil || !strings.Contains(err.Error(), "could not be checked") {
			t.Errorf("%s: %v", schema, err)
		}
		if err := s.Validate(json.RawMessage(`{"a":["x"]}`)); err != nil && strings.Contains(err.Error(), "could not") {
			t.Error(err)
		}
	}
}

// TestManySlowPatterns: a schema can have some patterns for the slower engine, each at several places.
func TestManySlowPatterns(t *testing.T) {
	schema := func(n int) json.RawMessage {
		var list []string
		for i := range n {
			one := fmt.Sprintf(`{"pattern":"^(?!x)(a+)+%d$"}`, i)
			list = append(list, one, one)
		}
		return json.RawMessage(`{"properties":{"a":{"anyOf":[` + strings.Join(list, ",") + `]}}}`)
	}
	if _, err := tool.CompileSchema(schema(16)); err != nil {
		t.Error(err)
	}
	if _, err := tool.CompileSchema(schema(17)); err == nil || !strings.Contains(err.Error(), "at most 16 patterns") {
		t.Error(err)
	}
}

// TestManyProblems: arguments with a hundred thousand mistakes do not become a text of hundreds
// of megabytes.
func TestManyProblems(t *testing.T) {
	var values []string
	for i := range 200 {
		values = append(values, fmt.Sprintf(`"value number %d"`, i))
	}
	s, err := tool.CompileSchema(json.RawMessage(`{"properties":{"a":{"items":{"enum":[` + strings.Join(values, ",") + `]}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err = s.Validate(json.RawMessage(`{"a":[` + strings.Repeat("0,", 100_000) + `0]}`))
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 300 || err == nil || len(err.Error()) > 200_000 {
		t.Errorf("it took %d MiB: %.200v", n, err)
	}
}
