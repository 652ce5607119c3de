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
	ask := func(context.Context, model.Request, endpoint.Declarations) (io.ReadCloser, error) {
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
	e, err := endpoint.New(endpoint.Config{Adapter: "test", Model: "m", Name: "m", BaseURL: "http://localhost", Header: http.Header{}, Transport: http.DefaultTransport})
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// TestProse: wherever a text is cut into pieces, the person reads the same, and thoughts and calls
// are found.
func TestProse(t *testing.T) {
	for text, want := range map[string]string{
		"It is 5.":                                                     "It is 5.",
		"<Think>plan</Think>yes":                                       "yes",
		"<seed:think>plan</seed:think>yes":                             "yes",
		"<thinking mode=\"deep\">plan</thinking>yes":                   "yes",
		"<|channel>thought\nplan<channel|>yes":                         "yes",
		"Here is my thought process:\nplan\nHere is my response:\nyes": "yes",
		"Here is my thought process: none.":                            "Here is my thought process: none.",
		"analysisWe plan.assistantfinalyes":                            "yes",
		"analysis<|message|>plan<|end|><|start|>assistant<|channel|>final<|message|>yes": "yes",
		"Okay, a plan.\n</think>\n\nyes":                                                 "yes",
		"The user wants it.\n</thinking>yes":                                             "yes",
		"The user wants it. [/THINK]yes":                                                 "yes",
		"好的，用户想要。</think>是":                                                              "是",
		"Okay, it is 5.":                                                                 "Okay, it is 5.",
		"<think>plan</think></think>yes":                                                 "yes",
		"Hello.\n<think>plan</think>yes":                                                 "Hello.\nyes",
		"Okay, here.\n<think>plan</think>yes":                                            "Okay, here.\nyes",
		"Write <think> and </think> around it.":                                          "Write <think> and </think> around it.",
		"It ends with `</think>`.":                                                       "It ends with `</think>`.",
		"So:\n```\n<think>\nplan\n</think>\n```":                                         "So:\n```\n<think>\nplan\n</think>\n```",
		"I see.\n<think>":                                                                "I see.\n<think>",
		"<|START_THINKING|>plan<|END_THINKING|><|START_RESPONSE|>yes<|END_RESPONSE|>":    "yes",
		"<|im_start|>assistant\nyes<|im_end|>\n":                                         "yes",
		"yes<|endoftext|><|im_start|>user":                                               "yes",
		"<b>yes</b>":                                                                     "<b>yes</b>",
		"<div>a</div><br><br>b":                                                          "<div>a</div><br><br>b",
		"[link](http://x)":                                                               "[link](http://x)",
		"```html\n<p>a</p>\n```":                                                         "```html\n<p>a</p>\n```",
		"[time(zone=\"UTC\"), time()]":                                                   "time{\"zone\":\"UTC\"}time{}",
		"[time(s) are up]":                                                               "[time(s) are up]",
		"```tool_code\nprint(time(zone='UTC'))\n```":                                     "time{\"zone\":\"UTC\"}",
		"<|python_tag|>time.call(zone=\"a, (b\")":                                        "time{\"zone\":\"a, (b\"}",
		"<tool_call>\n{'name': 'time', 'arguments': {'zone': 'UTC',}}\n</tool_call>":     "time{\"zone\": \"UTC\"}",
		"<tool_call>{\"name\":\"time\",\"arguments\":{\"zone\":\"UT":                     "<tool_call>{\"name\":\"time\",\"arguments\":{\"zone\":\"UT",
		"<tool_call>{\"function\":{\"name\":\"time\",\"arguments\":\"{}\"}}</tool_call>": "time{}",
		"{\"tool_calls\":[{\"type\":\"function\",\"function\":{\"name\":\"time\",\"arguments\":\"{}\"}}]}": "time{}",
		"{\"tool\":\"time\",\"args\":{\"zone\":\"UTC\"}}":                                                  "time{\"zone\":\"UTC\"}",
		"{\"name\":\"time\",\"parameters\":{}}; {\"name\":\"time\",\"parameters\":{}}":                     "time{}time{}",
		"<tool_call>time\n</tool_call>":                                                                    "time{}",
		"<tool_call><function=time>\n<parameter=zone>\nUTC\n</function></tool_call>":                       "time{\"zone\":\"UTC\"}",
		"<function=time>nothing of it</function>":                                                          "<function=time>nothing of it</function>",
		"<|tool_call>call:time{zone:<|\"|>UTC<|\"|>}<tool_call|>":                                          "time{\"zone\":\"UTC\"}",
		"<|START_ACTION|>[{\"tool_name\":\"time\",\"parameters\":{}}]<|END_ACTION|>":                       "time{}",
		"<TOOLCALL>[{\"name\":\"time\",\"arguments\":{}}]</TOOLCALL>":                                      "time{}",
		"<|action_start|><|plugin|>{\"name\":\"time\",\"parameters\":{}}<|action_end|>":                    "time{}",
		"functools[{\"name\":\"time\",\"arguments\":{}}]":                                                  "time{}",
		"Action: ```json\n[{\"tool_name\":\"time\",\"parameters\":{}}]\n```":                               "time{}",
		"<function name=\"time\"><parameter name=\"zone\">UTC</parameter></function>":                      "time{\"zone\":\"UTC\"}",
		"<tool_use><name>time</name><arguments>{}</arguments></tool_use>":                                  "time{}",
		"[TOOL_CALLS]time[CALL_ID]abc[ARGS]{}":                                                             "time{}",
		"<think>plan <tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>":                          "time{}",
		"Okay, plan.\n</think>\n{\"name\":\"time\",\"arguments\":{}}":                                      "time{}",
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
		for at := 0; at <= len(text); at += 1 + len(text)/50 { // a long text in some places
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
