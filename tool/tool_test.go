package tool_test

import (
	"context"
	"encoding/json"
	"errors"
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
	if r := call(t, buy, `{"item":"tea","count":1}`); r.Text != `{"item":"tea","count":2}` || string(r.View.Data) != r.Text {
		t.Errorf("%+v", r)
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
	if _, ok := tool.Later(t.Context()); ok {
		t.Error("there is nobody to finish for")
	}
	var seen []string
	ctx := tool.WithHost(t.Context(), tool.Host{Progress: func(p tool.Progress) { seen = append(seen, p.Text) }, Finish: func(r chat.Result) { seen = append(seen, r.Text) }})
	tool.Report(ctx, tool.Progress{Text: "a"})
	finish, _ := tool.Later(ctx)
	finish(tool.Text("b"))
	if strings.Join(seen, "") != "ab" {
		t.Errorf("%v", seen)
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
