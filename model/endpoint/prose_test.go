package endpoint_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/endpoint"
	"github.com/etui-run/etui/tool"
)

// says returns what an endpoint makes of texts that come one after the other: what a person reads,
// and the calls.
func says(t *testing.T, e *endpoint.Endpoint, pieces ...string) (text string, calls []string) {
	t.Helper()
	return saysTo(t, e, model.Settings{}, pieces...)
}

func saysTo(t *testing.T, e *endpoint.Endpoint, settings model.Settings, pieces ...string) (text string, calls []string) {
	t.Helper()
	ask := func(context.Context, model.Request, endpoint.Declared) (io.ReadCloser, error) {
		var b strings.Builder
		for i := range pieces {
			fmt.Fprintf(&b, "data: %d\n\n", i)
		}
		return io.NopCloser(strings.NewReader(b.String())), nil
	}
	read := func(a *endpoint.Answer, event endpoint.Event) (string, error) {
		var i int
		if _, err := fmt.Sscan(string(event.Data), &i); err != nil {
			return "", err
		}
		a.Begun, a.Complete = true, true
		return pieces[i], nil
	}
	req := model.Request{Settings: settings, Tools: []tool.Definition{{Name: "time", Parameters: []byte(`{"type":"object","properties":{"zone":{"type":"string"}}}`)}}}
	for event, err := range e.Stream(t.Context(), req, ask, read) {
		if err != nil {
			t.Fatal(err)
		}
		text += event.Text
		if event.Call != nil {
			calls = append(calls, event.Call.Name+string(event.Call.Arguments))
		}
	}
	return text, calls
}

func newEndpoint(t *testing.T) *endpoint.Endpoint {
	t.Helper()
	e, err := endpoint.New(endpoint.Config{Adapter: "test", Model: "m", Name: "m", BaseURL: "http://localhost", Header: http.Header{}})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestProse: wherever a text is cut into pieces, the person reads the same, and thoughts and calls
// are found.
func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"It is 5.":                          "It is 5.",
		"a < b, and 1 <thin> x":             "a < b, and 1 <thin> x",
		"<think>plan</think>\n\nyes":        "yes",
		" \n<thought>a</thought>b":          "b",
		"<think>a</think><think>b</think>c": "c",
		"<think>never ends":                 "",
		"{\"name\":\"Ann\"}":                "{\"name\":\"Ann\"}",
		"```json\n{\"a\":1}\n```":           "```json\n{\"a\":1}\n```",
		"<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>yes": "yes",
		`<tool_call>{"name":"time","arguments":{"zone":"UTC"}}</tool_call>`:                         "time{\"zone\":\"UTC\"}",
		`{"name":"time","arguments":{}}`:                                                            "time{}",
		"[TOOL_CALLS]time{\"zone\":\"UTC\"}":                                                        "time{\"zone\":\"UTC\"}",
		"[TOOL_CALLS]time[ARGS]{\"zone\":\"UTC\"}":                                                  "time{\"zone\":\"UTC\"}",
		"<function=time>{\"zone\":\"UTC\"}</function>":                                              "time{\"zone\":\"UTC\"}",
		"<|python_tag|>{\"name\":\"time\",\"parameters\":{}}<|eom_id|>":                             "time{}",
		"<tool_call>time\n<arg_key>zone</arg_key>\n<arg_value>UTC</arg_value>\n</tool_call>":        "time{\"zone\":\"UTC\"}",
		"<invoke name=\"time\"><parameter name=\"zone\">UTC</parameter></invoke>":                   "time{\"zone\":\"UTC\"}",
		"<｜DSML｜function_calls>\n<｜DSML｜invoke name=\"time\">\n<｜DSML｜parameter name=\"zone\" string=\"true\">UTC</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>": "time{\"zone\":\"UTC\"}",
		"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>time\n```json\n{\"zone\":\"UTC\"}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>":                                 "time{\"zone\":\"UTC\"}",
		"<|tool_calls_section_begin|><|tool_call_begin|>functions.time:0<|tool_call_argument_begin|>{\"zone\":\"UTC\"}<|tool_call_end|><|tool_calls_section_end|>":             "time{\"zone\":\"UTC\"}",
		"<|channel|>analysis<|message|>plan<|end|><|start|>assistant<|channel|>commentary to=functions.time <|constrain|>json<|message|>{\"zone\":\"UTC\"}<|call|>":            "time{\"zone\":\"UTC\"}",
		"<tool_call>{\"name\":\"nothing\",\"arguments\":{}}</tool_call>": "nothing{}",
		"<think>plan</think><answer>yes</answer>":                        "yes",
		"<answer>yes</answer>":                                           "<answer>yes</answer>",
		"<|begin_of_thought|>plan<|end_of_thought|>yes":                  "yes",
		"yes<|im_end|>":                             "yes",
		"the mark </s> ends a text":                 "the mark </s> ends a text",
		`{"name":"time","arguments":{"unknown":1}}`: `{"name":"time","arguments":{"unknown":1}}`,
	} {
		for at := range len(text) + 1 {
			got, calls := says(t, newEndpoint(t), text[:at], text[at:])
			if got+strings.Join(calls, "") != want {
				t.Errorf("%q cut at %d: %q and %q, want %q", text, at, got, calls, want)
			}
		}
		var each []string
		for _, r := range text {
			each = append(each, string(r))
		}
		if got, calls := says(t, newEndpoint(t), each...); got+strings.Join(calls, "") != want {
			t.Errorf("%q in single characters: %q and %q, want %q", text, got, calls, want)
		}
	}
}

// TestFormatKept: an answer in the form that the request asks for arrives as it is.
func TestFormatKept(t *testing.T) {
	for _, text := range []string{`{"a":"</think>"}`, `{"a":"<|end|>"}`, `{"name":"time","arguments":{}}`} {
		for at := range len(text) + 1 {
			if got, calls := saysTo(t, newEndpoint(t), model.Settings{Format: []byte(`{"type":"json_object"}`)}, text[:at], text[at:]); got != text || calls != nil {
				t.Errorf("%q cut at %d arrives as %q, %q", text, at, got, calls)
			}
		}
	}
}

// TestThoughtsThatOnlyEnd: after a model has closed a thought that it did not open, its next thoughts
// reach nobody, and an answer without one arrives whole.
func TestThoughtsThatOnlyEnd(t *testing.T) {
	e := newEndpoint(t)
	for i, c := range []struct {
		pieces []string
		want   string
	}{
		{[]string{"a plan</think>yes"}, "yes"},
		{[]string{"a secret ", "plan", "</th", "ink>", "yes"}, "yes"},
		{[]string{"It ", "is 5."}, "It is 5."},
		{[]string{"It ", "is 6."}, "It is 6."},
	} {
		if got, _ := says(t, e, c.pieces...); got != c.want {
			t.Errorf("answer %d: %q, want %q", i+1, got, c.want)
		}
	}
	long := strings.Repeat("word ", 20_000)
	says(t, e, "a plan</think>yes")
	if got, _ := says(t, e, long, long); got != long+long {
		t.Errorf("of a long answer without a thought arrive %d bytes of %d", len(got), 2*len(long))
	}
}
