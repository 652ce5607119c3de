package modeltest_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"

	goopenai "github.com/sashabaranov/go-openai"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/modeltest"
)

// TestOpenAIForeignClient uses a third-party client, so that our server and our
// adapter cannot share a mistake about the protocol. Anthropic's own client talks to
// the other server in package anthropic.
func TestOpenAIForeignClient(t *testing.T) {
	s := modeltest.OpenAI(
		modeltest.Reply{
			Text: []string{"It is ", "sunny."}, Calls: []chat.Call{{ID: "a", Name: "time", Arguments: []byte(`{"n":1}`)}, {Name: "time", Arguments: []byte(`{"n":2}`)}},
			Usage: model.Tokens{Input: 9, Output: 3, CacheRead: 5},
		},
		modeltest.Reply{Status: 404, Message: "no such model"},
	)
	defer s.Close()
	cfg := goopenai.DefaultConfig(modeltest.Key)
	cfg.BaseURL = s.URL
	client := goopenai.NewClientWithConfig(cfg)
	req := goopenai.ChatCompletionRequest{
		Model: "gpt-test", StreamOptions: &goopenai.StreamOptions{IncludeUsage: true},
		Messages: []goopenai.ChatCompletionMessage{{Role: "system", Content: "S"}, {Role: "user", Content: "Hi."}},
		Tools:    []goopenai.Tool{{Type: "function", Function: &goopenai.FunctionDefinition{Name: "time", Parameters: map[string]any{"type": "object"}}}},
	}
	stream, err := client.CreateChatCompletionStream(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	var text, finish string
	args := map[int]string{}
	var usage *goopenai.Usage
	for {
		piece, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if piece.Usage != nil {
			usage = piece.Usage
		}
		for _, c := range piece.Choices {
			text += c.Delta.Content
			finish += string(c.FinishReason)
			for _, call := range c.Delta.ToolCalls {
				args[*call.Index] += call.ID + call.Function.Name + call.Function.Arguments
			}
		}
	}
	if text != "It is sunny." || finish != "tool_calls" || args[0] != `atime{"n":1}` || args[1] != `call_2time{"n":2}` {
		t.Errorf("got %q, %s, %v", text, finish, args)
	}
	if usage == nil {
		t.Errorf("usage = %v, want another than nil", usage)
	}
	if usage.PromptTokens != 9 {
		t.Errorf("usage.PromptTokens = %v, want 9", usage.PromptTokens)
	}
	if usage.CompletionTokens != 3 {
		t.Errorf("usage.CompletionTokens = %v, want 3", usage.CompletionTokens)
	}
	if usage.PromptTokensDetails.CachedTokens != 5 {
		t.Errorf("usage.PromptTokensDetails.CachedTokens = %v, want 5", usage.PromptTokensDetails.CachedTokens)
	}
	_, err = client.CreateChatCompletionStream(t.Context(), req)
	var api *goopenai.APIError
	if !errors.As(err, &api) || api.HTTPStatusCode != 404 || api.Message != "no such model" {
		t.Errorf("got %v", err)
	}
	if problems := s.Problems(); len(problems) > 0 {
		t.Error(problems)
	}
}

// TestChecks sends requests that a provider would reject.
func TestChecks(t *testing.T) {
	const (
		openaiHead    = `{"model":"m","stream":true,"stream_options":{"include_usage":true},`
		anthropicHead = `{"model":"m","stream":true,"max_tokens":9,`
		hi            = `{"role":"user","content":[{"type":"text","text":"hi"}]}`
		call          = `{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"time","input":{}}]}`
	)
	for _, tt := range []struct {
		protocol modeltest.Protocol
		body     string
		want     string
	}{
		{modeltest.OpenAI, `{`, "unexpected EOF"},
		{modeltest.OpenAI, openaiHead + `"messages":[]}`, "too short"},
		{modeltest.OpenAI, openaiHead + `"temprature":1,"messages":[{"role":"user","content":"hi"}]}`, "unknown field"},
		{modeltest.OpenAI, `{"model":"m","messages":[{"role":"user","content":"hi"}]}`, "streamed"},
		{modeltest.OpenAI, openaiHead + `"messages":[{"role":"wizard","content":"hi"}]}`, "unknown role"},
		{modeltest.OpenAI, openaiHead + `"messages":[{"role":"user","content":null}]}`, "content is missing"},
		{modeltest.OpenAI, openaiHead + `"messages":[{"role":"user","content":"hi"},{"role":"system","content":"S"}]}`, "come first"},
		{modeltest.OpenAI, openaiHead + `"messages":[{"role":"tool","content":"hi","tool_call_id":"a"}]}`, "which no call"},
		{modeltest.OpenAI, openaiHead + `"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"t","arguments":"{}"}}]}]}`, "have no result"},
		{modeltest.OpenAI, openaiHead + `"messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"t.t","arguments":"{}"}}]}]}`, "not allowed"},
		{modeltest.OpenAI, openaiHead + `"tools":[{"type":"function","function":{"name":"a.b","parameters":{"type":"object"}}}],"messages":[{"role":"user","content":"hi"}]}`, "not allowed"},
		{modeltest.OpenAI, openaiHead + `"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"array"}}}],"messages":[{"role":"user","content":"hi"}]}`, "type object"},
		{modeltest.Anthropic, anthropicHead + `"messages":[` + call + `]}`, "should be \"user\""},
		{modeltest.Anthropic, anthropicHead + `"messages":[` + hi + `,` + hi + `]}`, "should be \"assistant\""},
		{modeltest.Anthropic, anthropicHead + `"messages":[` + hi + `,` + call + `]}`, "have no result"},
		{modeltest.Anthropic, anthropicHead + `"messages":[` + hi + `,` + call + `,` + hi + `]}`, "have no result"},
		{modeltest.Anthropic, anthropicHead + `"messages":[{"role":"user","content":[{"type":"text","text":" "}]}]}`, "non-empty"},
		{modeltest.Anthropic, anthropicHead + `"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"a"}]}]}`, "which no call"},
		{modeltest.Anthropic, `{"model":"m","stream":true,"messages":[` + hi + `]}`, "max_tokens"},
		{modeltest.Anthropic, anthropicHead + `"temprature":1,"messages":[` + hi + `]}`, "unknown field"},
		{modeltest.Anthropic, anthropicHead + `"tools":[{"name":"a","input_schema":{"type":"object"},"defer_loading":true}],"messages":[` + hi + `]}`, "at least one tool"},
		{modeltest.Anthropic, anthropicHead + `"tools":[{"name":"a","input_schema":{"type":"object"},"defer_loading":true,"cache_control":{"type":"ephemeral"}}],"messages":[` + hi + `]}`, "exclude each other"},
		{modeltest.Anthropic, anthropicHead + `"messages":[` + hi + `,` + call + `,{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"gone"}]}]}]}`, "not found"},
		{modeltest.Anthropic, anthropicHead + `"messages":[{"role":"user","content":[` + strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 4) +
			`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}}]}]}`, "maximum of 4"},
	} {
		s := tt.protocol(modeltest.Reply{})
		path := "/chat/completions"
		if !strings.HasSuffix(s.URL, "/v1") {
			path = "/v1/messages"
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Content-Type": "application/json", "Authorization": "Bearer " + modeltest.Key, "X-Api-Key": modeltest.Key, "Anthropic-Version": "2023-06-01",
		} {
			req.Header.Set(name, value)
		}
		resp, err := s.Transport().RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		problems := strings.Join(s.Problems(), "\n")
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(problems, tt.want) {
			t.Errorf("%s\ngot HTTP %d, %q, want %q", tt.body, resp.StatusCode, problems, tt.want)
		}
		s.Close()
	}
}
