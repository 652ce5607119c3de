package openai_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/tool"
)

// TestAskedAgain: a server that refuses a part of the request is asked again without it, and the next
// request is without it at once.
func TestAskedAgain(t *testing.T) {
	req := model.Request{
		Tools: []tool.Definition{{Name: "time", Parameters: json.RawMessage(`{"type":"object","properties":{"zone":{"type":"string","format":"zone"}}}`)}},
		Messages: []chat.Message{
			{Role: chat.User, Text: "what is this?", Files: []chat.File{{MediaType: "image/png", Size: 3, Data: []byte("PNG")}}},
			{Role: chat.Assistant, Calls: []chat.Call{{ID: "toolu_01AbC", Name: "time", Arguments: json.RawMessage(`{}`)}}},
			{Role: chat.Tool, Result: &chat.Result{CallID: "toolu_01AbC", Text: "12:00"}},
		},
	}
	for _, c := range []struct {
		name   string
		status int
		says   string
		gone   string // what the requests after the first do not have
		has    string // what they have
	}{
		{"a schema, OpenAI", 400, "Invalid schema for function 'time': In context=('properties', 'zone'), 'zone' is not valid.", `"format":"zone"`, `(format: \"zone\")`},
		{"a schema, Gemini", 400, "Invalid JSON payload received. Unknown name \"format\" at 'tools[0].function_declarations[0].parameters': Cannot find field.", `"format":"zone"`, `"tools"`},
		{"a schema, llama.cpp", 500, "failed to parse grammar", `"format":"zone"`, `"tools"`},
		{"tools, Ollama", 400, "registry.ollama.ai/library/gemma3:4b does not support tools", `"tools"`, "Call of the tool time"},
		{"tools, OpenRouter", 404, "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection", `"tools"`, "Result of a tool: 12:00"},
		{"tools, vLLM", 400, `"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set`, `"tools"`, ""},
		{"tools, llama.cpp", 500, "tools param requires --jinja flag", `"tools"`, ""},
		{"tools, Chinese", 400, "该模型不支持工具调用", `"tools"`, ""},
		{"an identifier", 400, "Tool call id was toolu_01AbC but must be a-z, A-Z, 0-9, with a length of 9.", "toolu_01AbC", ""},
		{"reasoning, DeepSeek", 400, "The `reasoning_content` in the thinking mode must be passed back to the API.", "", `"reasoning_content":" "`},
		{"reasoning, Kimi", 400, "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2", "", `"reasoning_content":" "`},
		{"pictures, llama.cpp", 500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", "image_url", "cannot see pictures"},
		{"pictures, OpenAI", 400, "Invalid content type. image_url is only supported by certain models.", "image_url", "cannot see pictures"},
		{"pictures, LM Studio", 400, "Model does not support images. Please use a model that does.", "image_url", "cannot see pictures"},
		{"tools, a parameter", 400, "Unsupported parameter: 'tools'", `"tools"`, ""},
		{"tools, none", 400, "The model x has no tool support", `"tools"`, ""},
		{"pictures, vLLM", 400, "At most 0 image(s) may be provided in one prompt.", "image_url", "cannot see pictures"},
		{"pictures, SiliconFlow", 400, "The model is not a VLM (Vision Language Model). Please use text-only prompts.", "image_url", "cannot see pictures"},
		{"pictures, a type", 422, "Unexpected content type: image_url", "image_url", "cannot see pictures"},
		{"pictures, a string", 400, "Invalid user message: content should be a string", "image_url", "cannot see pictures"},
		{"pictures, no vision", 501, "The model does not have vision capability", "image_url", "cannot see pictures"},
		{"pictures, Chinese", 400, "该模型不支持图片输入", "image_url", "cannot see pictures"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := modeltest.OpenAI(modeltest.Reply{Status: c.status, Message: c.says}, modeltest.Reply{Text: []string{"one"}}, modeltest.Reply{Text: []string{"two"}})
			defer s.Close()
			m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Transport: model.Transport(model.TransportConfig{Retries: -1})})
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range []string{"one", "two"} {
				said, _, _, err := model.Answer(m.Stream(t.Context(), req))
				if err != nil || !strings.HasSuffix(said.Text, want) {
					t.Fatalf("answer %d is %q, %v", i, said.Text, err)
				}
				if told := strings.HasPrefix(said.Text, "(This model takes no pictures"); told != (c.gone == "image_url") {
					t.Errorf("the person reads %q", said.Text)
				}
			}
			got := s.Requests()
			if len(got) != 3 {
				t.Fatalf("%d requests, want 3", len(got))
			}
			for i, r := range got[1:] {
				if c.gone != "" && strings.Contains(string(r.Body), c.gone) || !strings.Contains(string(r.Body), c.has) {
					t.Errorf("request %d: %s", i+2, r.Body)
				}
			}
		})
	}
}

// TestForeignCalls: the calls of another model are written as Gemini and Mistral's want them.
func TestForeignCalls(t *testing.T) {
	req := model.Request{Messages: []chat.Message{
		{Role: chat.User, Text: "time?"},
		{Role: chat.Assistant, Calls: []chat.Call{{ID: "call_1", Name: "time"}, {ID: "call_2", Name: "time"}}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "call_1", Text: "1"}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "call_2", Text: "2"}},
		{Role: chat.User, Text: "and now?"},
	}}
	for name, has := range map[string][]string{
		"gemini-3-pro":  {`"extra_content":{"google":{"thought_signature":"skip_thought_signature_validator"}}},{"id":"call_2"`},
		"mistral-large": {`"tool_call_id":"`, `{"role":"assistant","content":"(The results are there.)"},{"role":"user","content":"and now?"}`},
		"gpt-5":         {`"tool_call_id":"call_2"},{"role":"user","content":"and now?"}`},
	} {
		s := modeltest.OpenAI(modeltest.Reply{Text: []string{"noon"}})
		defer s.Close()
		m, err := openai.New(openai.Config{Model: name, BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := model.Answer(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		sent := string(s.Requests()[0].Body)
		if slices.ContainsFunc(has, func(part string) bool { return !strings.Contains(sent, part) }) || name == "mistral-large" && strings.Contains(sent, "call_") && strings.Contains(sent, `"call_1"`) {
			t.Errorf("%s reads %s", name, sent)
		}
	}
}

// TestNoProvider: something else that answers in place of the provider is quoted.
func TestNoProvider(t *testing.T) {
	for _, c := range []struct{ kind, raw, says string }{
		{"text/html", "\n<!doctype html><html><head><title>Sign in - Corp proxy</title></head></html>", "Sign in - Corp proxy"},
		{"text/plain", "upstream connect error or disconnect/reset before headers", "upstream connect error"},
		{"application/json", `{"code":401,"msg":"invalid token","success":false}`, "invalid token"},
		{"application/json", `[{"error":{"code":503,"message":"The model is overloaded.","status":"UNAVAILABLE"}}]`, "overloaded"},
		{"application/json", `{"detail":"Not authenticated","status":"error"}`, "Not authenticated"},
	} {
		s := modeltest.OpenAI(modeltest.Reply{Raw: c.raw, Type: c.kind})
		defer s.Close()
		m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{{Role: chat.User, Text: "x"}}})); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: got %v", c.raw, err)
		}
	}
}

// TestStrict: in the strict form a tool is held to its schema, and the nulls of what is optional do not
// reach it.
func TestStrict(t *testing.T) {
	call := chat.Call{ID: "a", Name: "find", Arguments: json.RawMessage(`{"q":"x","limit":null}`)}
	s := modeltest.OpenAI(modeltest.Reply{Calls: []chat.Call{call}})
	defer s.Close()
	m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, Schemas: "strict", Retries: -1, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	tools := []tool.Definition{{Name: "find", Parameters: json.RawMessage(`{"type":"object","properties":{"q":{"type":"string"},"limit":{"type":"integer"}},"required":["q"]}`)}}
	said, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Tools: tools, Messages: []chat.Message{{Role: chat.User, Text: "find x"}}}))
	if err != nil || len(said.Calls) != 1 || string(said.Calls[0].Arguments) != `{"q":"x"}` {
		t.Fatalf("got %+v, %v", said, err)
	}
	if sent := string(s.Requests()[0].Body); !strings.Contains(sent, `"strict":true`) || !strings.Contains(sent, `"required":["q","limit"]`) {
		t.Errorf("sent %s", sent)
	}
	if _, err := openai.New(openai.Config{Model: "m", Schemas: "odd"}); err == nil {
		t.Error("there are no such schemas")
	}
}

// TestKeyFrom: the error of a refused key says where the key comes from, behind [model.Advice].
func TestKeyFrom(t *testing.T) {
	for status, told := range map[int]bool{401: true, 403: true, 400: false, 500: false} {
		s := modeltest.OpenAI(modeltest.Reply{Status: status, Message: "no such thing."})
		defer s.Close()
		m, err := openai.New(openai.Config{Model: "test", BaseURL: s.URL, APIKey: modeltest.Key, KeyFrom: "line 3", Retries: -1, Transport: &http.Transport{DisableKeepAlives: true}})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, err = model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{{Role: chat.User, Text: "x"}}}))
		if err == nil || strings.HasSuffix(err.Error(), ": no such thing"+model.Advice+"line 3") != told {
			t.Errorf("%d: %v", status, err)
		}
	}
}
