package openai_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/tool"
)

// TestQuirks reads answers as servers are known to give them.
func TestQuirks(t *testing.T) {
	const json = "application/json"
	for _, tt := range []struct {
		name, kind, raw string
		text            string
		calls           string // name(arguments)#id, one after the other
		stop            model.Stop
		usage           model.Tokens
	}{
		{
			name: "comments, CRLF, no space after the colon",
			raw:  ": keep-alive\r\n\r\nevent: message\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\r\n\r\n: keep-alive\r\n\r\ndata:{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\r\n\r\ndata: [DONE]\r\n\r\n",
			text: "ab", stop: model.Done,
		},
		{
			name: "[DONE] is missing",
			raw:  sse(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`),
			text: "a", stop: model.Done, usage: model.Tokens{Input: 3, Output: 1},
		},
		{
			name: "the reason is missing",
			raw:  sse(`{"choices":[{"delta":{"content":"a"}}]}`, `[DONE]`),
			text: "a", stop: model.Done,
		},
		{
			name: "no empty lines, none at the end",
			raw:  "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\ndata: {\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}",
			text: "ab", stop: model.Done,
		},
		{
			name: "an event of several lines",
			raw:  "data: {\"choices\":[\ndata: {\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\n\n",
			text: "a", stop: model.Done,
		},
		{
			name: "usage in every piece, as DeepSeek counts it",
			raw:  sse(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `{"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":7}}`, `[DONE]`),
			text: "a", stop: model.Done, usage: model.Tokens{Input: 9, Output: 2, CacheRead: 7},
		},
		{
			name: "whole, not streamed", kind: json,
			raw:  "{\n \"object\":\"chat.completion\",\n \"choices\":[{\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"a\\nb\"},\"finish_reason\":\"stop\"}],\n \"usage\":{\"prompt_tokens\":3,\"completion_tokens\":1}\n}\n",
			text: "a\nb", stop: model.Done, usage: model.Tokens{Input: 3, Output: 1},
		},
		{
			name: "whole with a call, arguments as an object, no reason", kind: json,
			raw:   `{"choices":[{"message":{"content":null,"tool_calls":[{"function":{"name":"time","arguments":{"zone": "UTC"}}}]}}]}`,
			calls: `time({"zone": "UTC"})#call00002`, stop: model.ToolCalls,
		},
		{
			name:  "a call whole in one piece, finish_reason stop",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","type":"function","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"stop"}]}`, `[DONE]`),
			calls: `time({})#x`, stop: model.ToolCalls,
		},
		{
			name:  "no index, no ID",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"function":{"name":"time","arguments":"{\"a\""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"files_read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"a":1})#call00002 files.read({})#call00003`, stop: model.ToolCalls,
		},
		{
			name:  "the same index for every call",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\":1}"}},{"index":0,"id":"b","function":{"name":"time","arguments":"{\"n\":2}"}}]},"finish_reason":"stop"}]}`, `[DONE]`),
			calls: `time({"n":1})#a time({"n":2})#b`, stop: model.ToolCalls,
		},
		{
			name:  "ID and name in every piece",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"time","arguments":"{\"n\""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"time","arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`),
			calls: `time({"n":1})#a`, stop: model.ToolCalls,
		},
		{
			name:  "pieces of two calls mixed",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"b","function":{"name":"time"}},{"index":0,"id":"a","function":{"name":"files_read"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"x\":0}"}},{"index":1,"function":{"arguments":"{\"x\":1}"}}]},"finish_reason":"tool_calls"}]}`),
			calls: `time({"x":1})#b files.read({"x":0})#a`, stop: model.ToolCalls,
		},
		{
			name:  "an ID that the conversation has",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"call_1","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`),
			calls: `time({})#call00002`, stop: model.ToolCalls,
		},
		{
			name: "content in parts, with thinking",
			raw:  sse(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":"hm"},{"type":"text","text":"a"}]},"finish_reason":"stop"}]}`),
			text: "a", stop: model.Done,
		},
		{
			name:  "an empty object before the arguments",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"n\":"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":1})#a`, stop: model.ToolCalls,
		},
		{
			name:  "the call comes twice",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\":1}"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\":1}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":1})#a`, stop: model.ToolCalls,
		},
		{
			name:  "each piece has the arguments so far",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\":1"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\":12}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":12})#a`, stop: model.ToolCalls,
		},
		{
			name:  "a name in two pieces",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"ti"}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"me","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({})#a`, stop: model.ToolCalls,
		},
		{
			name:  "two calls of one event, with one index and no ID",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"","function":{"name":"time","arguments":"{\"n\":1}"}},{"index":0,"id":"","function":{"name":"time","arguments":"{\"n\":2}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":1})#call00002 time({"n":2})#call00003`, stop: model.ToolCalls,
		},
		{
			name:  "a number as ID, a text as index, one call in place of a list, a list as arguments",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":{"index":"0","id":17,"function":{"name":"time","arguments":[]}}},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time([])#17`, stop: model.ToolCalls,
		},
		{
			name:  "a name with what models write around it",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":" functions.Time:0","arguments":"{}"}},{"index":1,"id":"b","function":{"name":"time<|channel|>commentary","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({})#a time({})#b`, stop: model.ToolCalls,
		},
		{
			name:  "the arguments twice in one piece, and beside empty ones",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\":1}{\"n\":1}"}},{"index":1,"id":"b","function":{"name":"time","arguments":"{}{\"n\":2}"}},{"index":2,"id":"c","function":{"name":"time","arguments":"{\"n\":3}{\"m\":4}"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":1})#a time({"n":2})#b time({"n":3}{"m":4})#c`, stop: model.ToolCalls,
		},
		{
			name:  "a call in a thought beside an answer without text",
			raw:   sse(`{"choices":[{"delta":{"content":"","reasoning_content":"I call it. <tool_call>{\"name\":\"time\",\"arguments\":{}}</tool_call>"},"finish_reason":"stop"}]}`, `[DONE]`),
			calls: `time({})#call00002`, stop: model.ToolCalls,
		},
		{
			name: "an answer that begins as thoughts do, and is cut",
			raw:  sse(`{"choices":[{"delta":{"content":"Okay, "}}]}`, `{"choices":[{"delta":{"content":"it is"},"finish_reason":"length"}]}`, `[DONE]`),
			text: "Okay, it is", stop: model.Length,
		},
		{
			name: "an error behind the end of the answer",
			raw:  sse(`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`, `{"error":{"message":"no usage","code":500}}`, `[DONE]`),
			text: "a", stop: model.Done,
		},
		{
			name: "two answers, of which the second begins first",
			raw:  sse(`{"choices":[{"index":1,"delta":{"content":"a"}}]}`, `{"choices":[{"index":0,"delta":{"content":"NO"}}]}`, `{"choices":[{"index":0,"delta":{},"finish_reason":"length"},{"index":1,"delta":{"content":"b"},"finish_reason":"stop"}]}`, `[DONE]`),
			text: "ab", stop: model.Done,
		},
		{
			name: "an answer in a list", kind: json,
			raw:  `[{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}]}]`,
			text: "a", stop: model.Done,
		},
		{
			name: "usage and reason of other names",
			raw:  sse(`{"choices":[{"delta":{"content":"a"},"finish_reason":"MAX_TOKENS"}],"usage":{"input_tokens":9,"output_tokens":-2,"cached_tokens":"4"}}`, `[DONE]`),
			text: "a", stop: model.Length, usage: model.Tokens{Input: 9, CacheRead: 4},
		},
		{
			name: "content in other forms",
			raw:  sse(`{"choices":[{"delta":{"content":{"type":"text","text":"a"}}}]}`, `{"choices":[{"delta":{"content":["b",{"type":"output_text","text":"c"},{"type":"thinking","thinking":"x"}]}}]}`, `{"choices":[{"delta":{"content":5}}]}`, `{"choices":[{"text":"d"}]}`, `[done]`),
			text: "abc5d", stop: model.Done,
		},
		{
			name: "another answer, one choice in place of a list, null, and events of other kinds",
			raw:  "event: ping\ndata: ping\n\n" + sse(`null`, `{}`, `{"choices":[{"index":1,"delta":{"content":"NO"}},{"index":0,"delta":{"content":"a"}}]}`, `{"choices":{"delta":{"content":"b"}}}`, `{"choices":[{"delta":null,"finish_reason":"eos"}]}`, `"[DONE]"`),
			text: "ab", stop: model.Done,
		},
		{
			name: "lines that end with CR, and a prefix that is written twice",
			raw:  "data: data: {\"choices\":[{\"delta\":{\"content\":\"a\"},\"finish_reason\":\"stop\"}]}\r\rdata: data: [DONE]\r\r",
			text: "a", stop: model.Done,
		},
		{
			name: "one value a line", kind: "application/x-ndjson",
			raw:  "{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n{\"choices\":[{\"delta\":{\"content\":\"b\"},\"finish_reason\":\"stop\"}]}\n",
			text: "ab", stop: model.Done,
		},
		{
			name: "inside of what a gateway puts around it", kind: json,
			raw:  `{"code":0,"msg":"success","data":{"choices":[{"message":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":"3","completion_tokens":1.0}}}`,
			text: "a", stop: model.Done, usage: model.Tokens{Input: 3, Output: 1},
		},
		{
			name:  "calls without a function, with its name alone, with parameters, in a list of lists",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","name":"time","arguments":"{\"n\":1}"},{"index":1,"id":"b","function":"time","arguments":{"n":2}},[{"index":2,"id":"c","function":{"name":"time","parameters":{"n":3}}}]]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":1})#a time({"n":2})#b time({"n":3})#c`, stop: model.ToolCalls,
		},
		{
			name:  "an ID of its own for each piece, and a mark behind the arguments",
			raw:   sse(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{\"n\""}}]}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"b","function":{"name":null,"arguments":":1}<|im_end|>"}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
			calls: `time({"n":1})#a`, stop: model.ToolCalls,
		},
		{
			name:  "the older form of a call",
			raw:   sse(`{"choices":[{"delta":{"function_call":{"name":"time","arguments":"{}"}},"finish_reason":"function_call"}]}`, `[DONE]`),
			calls: `time({})#call00002`, stop: model.ToolCalls,
		},
		{
			name: "odd values beside a good answer",
			raw:  "\ufeff" + sse(`{"choices":null}`, `{"choices":[{"delta":{"content":"a"}}],"error":""}`, `{"choices":[{"delta":{},"finish_reason":0}],"error":{}}`, `{"choices":[],"usage":{"prompt_tokens":"12","completion_tokens":3.0}}`, `[DONE]`),
			text: "a", stop: model.Done, usage: model.Tokens{Input: 12, Output: 3},
		},
		{
			name: "thoughts in tags that are split",
			raw:  sse(`{"choices":[{"delta":{"content":"<thi"}}]}`, `{"choices":[{"delta":{"content":"nk>a plan</thi"}}]}`, `{"choices":[{"delta":{"content":"nk>\n\nIt is "}}]}`, `{"choices":[{"delta":{"content":"5."},"finish_reason":"stop"}]}`, `[DONE]`),
			text: "It is 5.", stop: model.Done,
		},
		{
			name: "thoughts that only end",
			raw:  sse(`{"choices":[{"delta":{"content":"a plan\n</think>\n\nIt is 5."},"finish_reason":"stop"}]}`, `[DONE]`),
			text: "It is 5.", stop: model.Done,
		},
		{
			name: "harmony channels",
			raw:  sse(`{"choices":[{"delta":{"content":"<|channel|>analysis<|mess"}}]}`, `{"choices":[{"delta":{"content":"age|>a plan<|end|><|start|>assistant<|channel|>final<|message|>It is 5.<|return|>"},"finish_reason":"stop"}]}`, `[DONE]`),
			text: "It is 5.", stop: model.Done,
		},
		{
			name:  "a call as a text, in tags",
			raw:   sse(`{"choices":[{"delta":{"content":"<tool_call>\n{\"name\": \"time\", \"arguments\": {\"n\": 1}}\n</tool_call>"},"finish_reason":"stop"}]}`, `[DONE]`),
			calls: `time({"n": 1})#call00002`, stop: model.ToolCalls,
		},
		{
			name:  "a call as a text, by parameters, behind a thought",
			raw:   sse(`{"choices":[{"delta":{"content":"<think>a plan</think><function=time>\n<parameter=zone>\nUTC\n</parameter>\n</function>\n</tool_call>"},"finish_reason":"stop"}]}`, `[DONE]`),
			calls: `time({"zone":"UTC"})#call00002`, stop: model.ToolCalls,
		},
		{
			name:  "a call as fenced JSON",
			raw:   sse("{\"choices\":[{\"delta\":{\"content\":\"```json\\n{\\\"name\\\":\\\"time\\\",\\\"arguments\\\":{}}\\n```\"},\"finish_reason\":\"stop\"}]}", `[DONE]`),
			calls: `time({})#call00002`, stop: model.ToolCalls,
		},
		{
			name: "JSON that is no call",
			raw:  sse(`{"choices":[{"delta":{"content":"{\"name\":\"Ann\",\"arguments\":{}}"},"finish_reason":"stop"}]}`, `[DONE]`),
			text: `{"name":"Ann","arguments":{}}`, stop: model.Done,
		},
		{
			name: "a call within a text stays a text",
			raw:  sse(`{"choices":[{"delta":{"content":"Write <tool_call>{\"name\":\"time\"}</tool_call> to call it."},"finish_reason":"stop"}]}`, `[DONE]`),
			text: `Write <tool_call>{"name":"time"}</tool_call> to call it.`, stop: model.Done,
		},
		{
			name: "filtered",
			raw:  sse(`{"choices":[{"delta":{"content":"a","tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{}"}}]},"finish_reason":"content_filter"}]}`),
			text: "a", stop: model.Refused,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			said, usage, stop, err := ask(t, modeltest.Reply{Raw: tt.raw, Type: tt.kind})
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, c := range said.Calls {
				calls = append(calls, c.Name+"("+string(c.Arguments)+")#"+c.ID)
			}
			if got := strings.Join(calls, " "); said.Text != tt.text || got != tt.calls {
				t.Errorf("got  %q %s\nwant %q %s", said.Text, got, tt.text, tt.calls)
			}
			if stop != tt.stop {
				t.Errorf("stop = %v, want %v", stop, tt.stop)
			}
			if usage != tt.usage {
				t.Errorf("usage = %v, want %v", usage, tt.usage)
			}
		})
	}
}

// TestErrors reads errors as servers are known to give them.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		raw    string
		kind   error
		detail string
	}{
		{"a text", 404, `{"error":"model 'x' not found"}`, model.ErrNoModel, "model 'x' not found"},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 4096 tokens.","type":"BadRequestError","code":400}`, model.ErrTooLong, "This model's maximum context length is 4096 tokens."},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"the request exceeds the available context size","type":"exceed_context_size_error"}}`, model.ErrTooLong, "the request exceeds the available context size"},
		{"FastAPI", 401, `{"detail":"Not authenticated"}`, model.ErrAuth, "Not authenticated"},
		{"nothing", 503, ` `, model.ErrUnavailable, "Service Unavailable"},
		{"no money", 402, `{"error":{"message":"Insufficient Balance"}}`, model.ErrBilling, "Insufficient Balance"},
		{"no quota", 429, `{"error":{"message":"You exceeded your current quota","type":"insufficient_quota","code":"insufficient_quota"}}`, model.ErrBilling, "You exceeded your current quota"},
		{"late, with a status", 200, sse(`{"error":{"message":"slow down","code":429}}`), model.ErrRateLimited, "slow down"},
		{"late, with a code", 200, sse(`{"choices":[]}`, `{ "error":{"message":"too long","code":"context_length_exceeded"}}`), model.ErrTooLong, "too long"},
		{"late, as an event", 200, "event: error\ndata: {\"message\":\"it broke\"}\n\n", model.ErrUnavailable, "it broke"},
		{"late, whole", 200, `{"error":{"message":"it broke","type":"server_error"}}`, model.ErrUnavailable, "it broke"},
		{"ended too early", 200, sse(`{"choices":[]}`), model.ErrUnavailable, "the connection ended before the answer did"},
		{"the key in a header, echoed", 400, `{"error":{"message":"bad header hunter2-hunter2"}}`, model.ErrRequest, "bad header (secret)"},
		{"moved", 308, ` `, model.ErrRequest, "Permanent Redirect https://elsewhere.test/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			reply := modeltest.Reply{Status: tt.status, Raw: tt.raw}
			if tt.status == http.StatusPermanentRedirect {
				reply.Header = map[string]string{"Location": "https://elsewhere.test/"}
			}
			_, _, _, err := ask(t, reply)
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("got %v", err)
			}
			if !errors.Is(err, tt.kind) || e.Detail != tt.detail {
				t.Errorf("got  %v, %q\nwant %v, %q", e.Kind, e.Detail, tt.kind, tt.detail)
			}
		})
	}
}

func sse(events ...string) string {
	return "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"
}

// ask plays a reply in a conversation with one call, call_1.
func ask(t *testing.T, reply modeltest.Reply) (chat.Message, model.Tokens, model.Stop, error) {
	t.Helper()
	s := modeltest.OpenAI(reply)
	defer s.Close()
	m, err := openai.New(openai.Config{
		Model: "test", BaseURL: s.URL + "/", APIKey: modeltest.Key, Headers: map[string]string{"X-Password": "hunter2-hunter2"},
		Retries: -1, Transport: &http.Transport{DisableKeepAlives: true}, // without retries
	})
	if err != nil {
		t.Fatal(err)
	}
	return model.Answer(m.Stream(t.Context(), model.Request{
		Tools: []tool.Definition{{Name: "files.read"}, {Name: "time"}},
		Messages: []chat.Message{
			{Role: chat.User, Text: "What time is it?"},
			{Role: chat.Assistant, Calls: []chat.Call{{ID: "call_1", Name: "time"}}},
			{Role: chat.Tool, Result: &chat.Result{CallID: "call_1", Text: "12:00"}},
		},
	}))
}

func TestRequest(t *testing.T) {
	s := modeltest.OpenAI(modeltest.Reply{}, modeltest.Reply{})
	defer s.Close()
	m, err := openai.New(openai.Config{
		Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, MaxTokens: 100, Headers: map[string]string{"X-Title": "etui"}, Retries: -1, Transport: s.Transport(),
	})
	if err != nil {
		t.Fatal(err)
	}
	d := tool.Definition{Name: "files.read", Description: "Reads <files> & more.", Parameters: []byte(`{"type":"object","title":"\u003c<&>"}`)}
	for _, limit := range []int{0, 7} {
		_, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{
			Settings: model.Settings{MaxTokens: limit}, System: "S", Tools: []tool.Definition{d}, Messages: []chat.Message{{Role: chat.User, Text: "a < b"}},
		}))
		if err != nil {
			t.Fatal(err)
		}
	}
	want := `{"max_tokens":100,"model":"test","stream":true,"stream_options":{"include_usage":true},` +
		`"tools":[{"type":"function","function":{"name":"files_read","description":"Reads <files> & more.","parameters":{"type":"object","title":"<<&>","properties":{}}}}],` +
		`"messages":[{"role":"system","content":"S"},{"role":"user","content":"a < b"}]}`
	if got := string(s.Requests()[0].Body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := string(s.Requests()[1].Body); !strings.Contains(got, `"max_tokens":7,`) {
		t.Errorf("the request's limit is missing: %s", got)
	}
	if got := s.Requests()[0].Header.Get("X-Title"); got != "etui" {
		t.Errorf("X-Title is %q", got)
	}
}

// TestPicturesOfMessages: the user's pictures are parts of the message, and words for
// models that cannot see them.
func TestPicturesOfMessages(t *testing.T) {
	req := model.Request{Messages: []chat.Message{
		{Role: chat.User, Text: "old", Files: []chat.File{{Name: "a.png", MediaType: "image/png", Size: 69}}},
		{Role: chat.Assistant, Text: "yes"},
		{Role: chat.User, Note: "note", Text: "new", Files: []chat.File{{Name: "b.png", MediaType: "image/png", Size: 1200, Data: []byte("PNG")}}},
		{Role: chat.Assistant, Text: "yes"},
		{Role: chat.User, Files: []chat.File{{MediaType: "image/webp", Size: 3, Data: []byte("PNG")}}},
	}}
	const (
		before = `"messages":[{"role":"user","content":"old\n\n[picture a.png, image/png, 1 kB: an earlier picture that is not shown again]"},{"role":"assistant","content":"yes"},`
		seen   = before + `{"role":"user","content":[{"type":"text","text":"note\n\nnew"},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]},{"role":"assistant","content":"yes"},` +
			`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/webp;base64,UE5H"}}]}]}`
		told = before + `{"role":"user","content":"note\n\nnew\n\n[picture b.png, image/png, 2 kB: this model cannot see pictures]"},{"role":"assistant","content":"yes"},` +
			`{"role":"user","content":"[picture image/webp, 1 kB: this model cannot see pictures]"}]}`
	)
	for name, c := range map[string]struct {
		blind   bool
		replies []modeltest.Reply
		want    []string
	}{
		"a model that sees":            {false, []modeltest.Reply{{}}, []string{seen}},
		"a server that refuses":        {false, []modeltest.Reply{{Status: 400}, {}}, []string{seen, told}},
		"a model configured as blind":  {true, []modeltest.Reply{{}}, []string{told}},
		"a refused key is no question": {false, []modeltest.Reply{{Status: 401}}, []string{seen}},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.OpenAI(c.replies...)
			defer s.Close()
			m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport(), Blind: c.blind})
			if err != nil {
				t.Fatal(err)
			}
			_, _, _, err = model.Answer(m.Stream(t.Context(), req))
			if refused := c.replies[len(c.replies)-1].Status != 0; (err != nil) != refused {
				t.Errorf("the answer is %v", err)
			}
			for _, problem := range s.Problems() {
				t.Error(problem)
			}
			got := s.Requests()
			if len(got) != len(c.want) {
				t.Fatalf("%d requests, want %d", len(got), len(c.want))
			}
			for i, want := range c.want {
				if !strings.HasSuffix(string(got[i].Body), want) {
					t.Errorf("request %d:\ngot  %s\nwant %s", i+1, got[i].Body, want)
				}
			}
		})
	}
}

// TestImages: pictures follow the results of a round, and a server that refuses
// them is asked without.
func TestImages(t *testing.T) {
	s := modeltest.OpenAI(modeltest.Reply{}, modeltest.Reply{Status: 400}, modeltest.Reply{Text: []string{"blind"}})
	defer s.Close()
	m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{Messages: []chat.Message{
		{Role: chat.User, Text: "look"},
		{Role: chat.Assistant, Calls: []chat.Call{{ID: "a", Name: "read_image"}, {ID: "b", Name: "time"}}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "a", Text: "A", Images: []chat.File{{MediaType: "image/png", Data: []byte("PNG")}}}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "b", Text: "B"}},
	}}
	for range 2 {
		if _, _, _, err := model.Answer(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
	}
	for _, problem := range s.Problems() {
		t.Error(problem)
	}
	want := `{"role":"tool","content":"B","tool_call_id":"b"},{"role":"user","content":[{"type":"text","text":"(The pictures of the results above.)"},{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]}]}`
	if got := string(s.Requests()[0].Body); !strings.HasSuffix(got, want) {
		t.Errorf("got %s\nwant %s", got, want)
	}
	if got := string(s.Requests()[2].Body); strings.Contains(got, "image_url") || !strings.Contains(got, "the model takes none") {
		t.Errorf("the last request is %s", got)
	}
}

func TestLimitName(t *testing.T) {
	for base, want := range map[string]string{
		"": `"max_completion_tokens":9`, "https://etui.openai.azure.com/openai/v1": `"max_completion_tokens":9`, "http://localhost:11434/v1": `"max_tokens":9`,
	} {
		var sent string
		m, err := openai.New(openai.Config{Model: "o3-mini", BaseURL: base, MaxTokens: 9, Transport: tripFunc(func(r *http.Request) (*http.Response, error) {
			body := make([]byte, r.ContentLength)
			_, _ = r.Body.Read(body)
			sent = string(body)
			if r.Header.Get("Authorization") != "" {
				t.Error("a key is sent where there is none")
			}
			return nil, errors.New("no network")
		})})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{})); !errors.Is(err, model.ErrUnavailable) {
			t.Error(err)
		}
		if !strings.Contains(sent, want) {
			t.Errorf("%q: %s is missing in %s", base, want, sent)
		}
	}
}

type tripFunc func(*http.Request) (*http.Response, error)

func (f tripFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]openai.Config{
		"openai: the model's name is missing":                           {},
		"openai: the base URL of openai/m is not one of http or https":  {Model: "m", BaseURL: "localhost:11434"},
		"openai: the base URL of my model is not one of http or https":  {Model: "m", Name: "my model", BaseURL: "https://"},
		"openai: the base URL of openai/m2 is not one of http or https": {Model: "m2", BaseURL: "ht tp://key@x"},
	} {
		if _, err := openai.New(cfg); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m, err := openai.New(openai.Config{Model: "m", Window: 8000})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Info(), (model.Info{Name: "openai/m", Window: 8000, CacheLife: time.Hour}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// TestPDFsOfMessages: a PDF is a part of the message. A server that refuses it is asked
// with its pictures alone, and one that refuses these, too, in words.
func TestPDFsOfMessages(t *testing.T) {
	req := model.Request{Messages: []chat.Message{{Role: chat.User, Text: "sum", Files: []chat.File{
		{Name: "a.pdf", MediaType: chat.PDF, Size: 1200, Data: []byte("PDF")}, {MediaType: "image/png", Size: 3, Data: []byte("PNG")},
	}}}}
	const (
		image   = `{"type":"image_url","image_url":{"url":"data:image/png;base64,UE5H"}}]}]}`
		whole   = `[{"role":"user","content":[{"type":"text","text":"sum"},{"type":"file","file":{"filename":"a.pdf","file_data":"data:application/pdf;base64,UERG"}},` + image
		inWords = `sum\n\n[file a.pdf, application/pdf, 2 kB: this model cannot read PDFs]`
		seen    = `[{"role":"user","content":[{"type":"text","text":"` + inWords + `"},` + image
		told    = `[{"role":"user","content":"` + inWords + `\n\n[picture image/png, 1 kB: this model cannot see pictures]"}]}`
	)
	for name, c := range map[string]struct {
		blind   bool
		replies []modeltest.Reply
		want    []string
	}{
		"takes both":         {false, []modeltest.Reply{{}}, []string{whole}},
		"takes pictures":     {false, []modeltest.Reply{{Status: 400}, {}}, []string{whole, seen}},
		"takes neither":      {false, []modeltest.Reply{{Status: 400}, {Status: 400}, {}}, []string{whole, seen, told}},
		"configured as such": {true, []modeltest.Reply{{}}, []string{told}},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.OpenAI(c.replies...)
			defer s.Close()
			m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport(), Blind: c.blind})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, _, err = model.Answer(m.Stream(t.Context(), req)); err != nil {
				t.Error(err)
			}
			got := s.Requests()
			if len(got) != len(c.want) {
				t.Fatalf("%d requests, want %d", len(got), len(c.want))
			}
			for i, want := range c.want {
				if !strings.HasSuffix(string(got[i].Body), want) {
					t.Errorf("request %d:\ngot  %s\nwant %s", i+1, got[i].Body, want)
				}
			}
		})
	}
}

// TestTextsOfPDFs: a model that takes no PDFs gets their text, within its window, and why there is none. The
// person hears of those only that the model has no text of.
func TestTextsOfPDFs(t *testing.T) {
	file := func(name, data string) chat.File {
		return chat.File{Name: name, MediaType: chat.PDF, Size: 3, Data: []byte(data)}
	}
	read := func(_ context.Context, data []byte) (string, error) {
		if string(data) == "scan" {
			return "", errors.New("it has no text")
		}
		return string(data), nil
	}
	for name, c := range map[string]struct {
		blind  bool
		window int
		files  []chat.File
		want   string
		told   bool
	}{
		"refused":       {false, 0, []chat.File{file("a.pdf", "one"), file("b.pdf", "two")}, `sum\n\n[file a.pdf, its text without pictures]\none\n[end of the file]\n\n[file b.pdf, its text without pictures]\ntwo\n[end of the file]"`, false},
		"blind":         {true, 0, []chat.File{file("a.pdf", "one")}, `[file a.pdf, its text without pictures]\none\n[end of the file]"`, false},
		"scanned":       {false, 0, []chat.File{file("a.pdf", "scan")}, `sum\n\n[the text of the file a.pdf cannot be read: it has no text]\n\n[file a.pdf, application/pdf, 1 kB: this model cannot read PDFs]"`, true},
		"small windows": {true, 4, []chat.File{file("a.pdf", "123456789")}, `[file a.pdf, its text without pictures]\n123456\n[… the rest is left out …]\n[end of the file]"`, false},
	} {
		replies := []modeltest.Reply{{Status: 400}, {Text: []string{"Hi."}}}
		if c.blind {
			replies = replies[1:]
		}
		s := modeltest.OpenAI(replies...)
		defer s.Close()
		m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport(), Blind: c.blind, PDF: read, Window: c.window})
		if err != nil {
			t.Fatal(err)
		}
		answer, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{{Role: chat.User, Text: "sum", Files: c.files}}}))
		if got := s.Requests(); err != nil || !strings.Contains(string(got[len(got)-1].Body), c.want) {
			t.Errorf("%s: %v\ngot  %s\nwant %s", name, err, got[len(got)-1].Body, c.want)
		}
		if told := answer.Text != "Hi."; told != c.told {
			t.Errorf("%s: the person reads %q", name, answer.Text)
		}
	}
}

// TestSoundOfMessages: sound is a part of the message. A server that refuses it is asked with words, the
// person is told, and it still sees pictures later.
func TestSoundOfMessages(t *testing.T) {
	req := func(f chat.File) model.Request {
		return model.Request{Messages: []chat.Message{{Role: chat.User, Text: "hear", Files: []chat.File{f}}}}
	}
	s := modeltest.OpenAI(
		modeltest.Reply{Status: 400, Message: "This model does not support audio, only text."},
		modeltest.Reply{Text: []string{"Hi."}}, modeltest.Reply{Text: []string{"Hi."}},
	)
	defer s.Close()
	m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	said, _, _, err := model.Answer(m.Stream(t.Context(), req(chat.File{MediaType: chat.MP3, Size: 3, Data: []byte("MP3")})))
	if err != nil || !strings.HasPrefix(said.Text, "(This model takes no sound: it answers without yours.)") {
		t.Errorf("%q, %v", said.Text, err)
	}
	if _, _, _, err = model.Answer(m.Stream(t.Context(), req(chat.File{MediaType: "image/png", Size: 3, Data: []byte("PNG")}))); err != nil {
		t.Error(err)
	}
	for i, want := range []string{
		`{"type":"input_audio","input_audio":{"data":"TVAz","format":"mp3"}}`,
		`hear\n\n[sound audio/mpeg, 1 kB: this model cannot hear]`, `"image_url"`,
	} {
		if got := string(s.Requests()[i].Body); !strings.Contains(got, want) {
			t.Errorf("request %d is %s", i+1, got)
		}
	}
}

// TestStateGoesBack: what a server gave with its calls goes back to the same model, with the calls, and
// to no other.
func TestStateGoesBack(t *testing.T) {
	const marks = `{"choices":[{"delta":{"reasoning_content":"I need "}}]}`
	s := modeltest.OpenAI(
		modeltest.Reply{Raw: sse(marks, `{"choices":[{"delta":{"reasoning_content":"the time."}}]}`, `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"time","arguments":"{}"},"extra_content":{"google":{"thought_signature":"c2ln"}}}]},"finish_reason":"tool_calls"}]}`, `[DONE]`)},
		modeltest.Reply{Text: []string{"noon"}}, modeltest.Reply{Text: []string{"noon"}})
	defer s.Close()
	m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	ask := []chat.Message{{Role: chat.User, Text: "what time is it?"}}
	said := chat.Message{Role: chat.Assistant}
	for e, err := range m.Stream(t.Context(), model.Request{Messages: ask, Tools: []tool.Definition{{Name: "time"}}}) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Call != nil {
			said.Calls = append(said.Calls, *e.Call)
		}
		if e.Stop != "" {
			said.State, said.StateOf = e.State, e.StateOf
		}
	}
	if len(said.Calls) != 1 || said.State == nil || said.StateOf != "openai/test" {
		t.Fatalf("the answer is %+v", said)
	}
	for i, of := range []string{m.Info().Name, "another"} {
		said.StateOf = of
		result := chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: "a", Text: "12:00"}}
		if _, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Messages: append(slices.Clone(ask), said, result)})); err != nil {
			t.Fatal(err)
		}
		sent := string(s.Requests()[i+1].Body)
		for _, mark := range []string{`"reasoning_content":"I need the time."`, `"extra_content":{"google":{"thought_signature":"c2ln"}}`} {
			if strings.Contains(sent, mark) != (i == 0) {
				t.Errorf("to %s: %s", of, sent)
			}
		}
	}
}
