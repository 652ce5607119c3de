package turn_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// FuzzArguments: whatever a model writes as arguments, directly or through call_tool, a tool
// gets exactly what the policy judged: an object that fits, in which no name can be read in
// two ways.
func FuzzArguments(f *testing.F) {
	for _, s := range []string{
		`{"path":"a"}`, `{"path":"a","Path":"b"}`, `{"path":"a","path":"b"}`, `{"pa\u0074h":"a"}`, `{"path":"a",}`, "```json\n{\"path\":\"a\"}\n```", `{path:'a'}`, `"{\"path\":\"a\"}"`,
		`{"path":["a"]}`, `{"path":7}`, `{"path":"a"`, `{"in":{"Path":"b"}}`, `{"path":null}`, `{"in":[{"path":"a"}]}`, `[]`, `null`, `{"path":"\ud800"}`, `{"name":"look","arguments":{"path":"a"}}`,
	} {
		f.Add([]byte(s))
	}
	const schema = `{"type":"object","properties":{"path":{"type":"string"},"in":{"anyOf":[{"type":"null"},{"type":"object","properties":{"path":{"type":"string"}}}]}}}`
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, call := range []chat.Call{fake.Call("1", "look", string(raw)), fake.Call("1", "call_tool", `{"name":"look","arguments":`+string(raw)+`}`)} {
			var judged, got json.RawMessage
			look := taking{tool.Definition{Name: "look", Description: "Look", Risk: tool.Read, Parameters: json.RawMessage(schema)}, func(args json.RawMessage) { got = bytes.Clone(args) }}
			b := newBench(t, turn.Config{Decide: func(_ context.Context, a rules.Attempt) rules.Decision {
				judged = bytes.Clone(a.Arguments)
				return rules.Decision{Effect: rules.Allow}
			}}, selection.Config{}, []tool.Tool{look})
			_, _ = b.Call(t.Context(), turn.Input{}, call.Name, call.Arguments) // it may be refused
			if got == nil {
				continue
			}
			if !bytes.Equal(got, judged) {
				t.Fatalf("%s: the tool got %s, and the policy judged %s", call.Arguments, got, judged)
			}
			once := map[string]bool{}
			d := json.NewDecoder(bytes.NewReader(got))
			if open, err := d.Token(); err != nil || open != json.Delim('{') {
				t.Fatalf("%s: the tool got %s", call.Arguments, got)
			}
			for d.More() {
				name, err := d.Token()
				if err != nil {
					t.Fatalf("%s: the tool got %s", call.Arguments, got)
				}
				text, _ := name.(string)
				if once[strings.ToLower(text)] && strings.EqualFold(text, "path") || strings.EqualFold(text, "path") && text != "path" {
					t.Fatalf("%s: the tool got %s", call.Arguments, got)
				}
				once[strings.ToLower(text)] = true
				var value json.RawMessage
				if err := d.Decode(&value); err != nil {
					t.Fatalf("%s: the tool got %s", call.Arguments, got)
				}
			}
		}
	})
}

// taking is a tool that hands its arguments on.
type taking struct {
	d  tool.Definition
	to func(args json.RawMessage)
}

func (r taking) Definition() tool.Definition { return r.d }
func (r taking) Call(_ context.Context, args json.RawMessage) (chat.Result, error) {
	r.to(args)
	return tool.Text("ok"), nil
}
