package anthropic_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
)

// TestFormat: an answer in a form is held to its schema by the API, as far as that can express it, else the
// model is asked for it.
func TestFormat(t *testing.T) {
	for name, c := range map[string]struct {
		format, native, asked string
	}{
		"a schema": {
			`{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":{"type":"object","properties":{"a":{"type":"integer","minimum":3},"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string"}}}}},"required":["a"]}}}`,
			`"output_config":{"format":{"type":"json_schema","schema":{"type":"object","properties":{"a":{"type":"integer","description":"(minimum: 3)"},` +
				`"b":{"type":"array","items":{"type":"object","properties":{"c":{"type":"string"}},"additionalProperties":false}}},"required":["a"],"additionalProperties":false}}}`, "",
		},
		"any object": {`{"type":"json_object"}`, "", "one JSON object"},
		"free names": {
			`{"type":"json_schema","json_schema":{"name":"x","schema":{"type":"object","additionalProperties":{"type":"integer"}}}}`, "",
			`JSON Schema:\n{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\"}}`,
		},
		"a text": {`{"type":"text"}`, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s, _, _, err := ask(t, modeltest.Reply{Text: []string{`{"a":4}`}}, model.Request{
				Messages: []chat.Message{user("Hello.")}, Settings: model.Settings{Format: []byte(c.format)},
			})
			if err != nil {
				t.Fatal(err)
			}
			body := string(s.Requests()[0].Body)
			if !strings.Contains(body, c.native) || !strings.Contains(body, c.asked) {
				t.Errorf("the request is %s", body)
			}
			if strings.Contains(body, "output_config") != (c.native != "") || strings.Contains(body, "JSON object") != (c.asked != "") {
				t.Errorf("the request is %s", body)
			}
		})
	}
}

// TestFormatUnknown: a model that cannot be held to a schema is asked to follow it, from then on at once.
func TestFormatUnknown(t *testing.T) {
	s := modeltest.Anthropic(
		modeltest.Reply{Status: 400, Message: "output_config.format: this model does not support structured outputs"},
		modeltest.Reply{Text: []string{`{"a":4}`}}, modeltest.Reply{Text: []string{`{"a":5}`}},
	)
	defer s.Close()
	m := open(t, s)
	for range 2 {
		said, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{
			Messages: []chat.Message{user("Hello.")},
			Settings: model.Settings{Format: []byte(`{"type":"json_schema","json_schema":{"schema":{"type":"object","properties":{"a":{}}}}}`)},
		}))
		if err != nil || !strings.HasPrefix(said.Text, "{") {
			t.Errorf("%q, %v", said.Text, err)
		}
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("there are %d requests", n)
	}
}
