package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	provider "github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/wire"
)

// twice are two answers, with tokens.
func twice() []fake.Step {
	return []fake.Step{{Text: "red", Usage: model.Tokens{Input: 2, Output: 1}}, {Text: "blue", Usage: model.Tokens{Input: 2, Output: 1}}}
}

// texts posts a request of the older API.
func texts(a *openai.API, body string) (int, string) {
	w := httptest.NewRecorder()
	a.Texts(w, httptest.NewRequest(http.MethodPost, "/v1/completions", strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// TestAnswers: n answers are n turns of one message, and their tokens add up.
func TestAnswers(t *testing.T) {
	a, m := newAPI(t, twice()...)
	_, body := complete(a, `{"model":"main","n":2,"messages":[{"role":"user","content":"a color"}]}`)
	for _, want := range []string{
		`"choices":[{"index":0,"message":{"role":"assistant","content":"red"}`, `{"index":1,"message":{"role":"assistant","content":"blue"}`,
		`"prompt_tokens":4,"completion_tokens":2`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	m.Add(twice()...)
	_, body = complete(a, `{"model":"main","n":2,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"a color"}]}`)
	for _, want := range []string{
		`{"index":1,"delta":{"role":"assistant","content":""}`, `{"index":0,"delta":{"content":"red"}`, `{"index":1,"delta":{"content":"blue"}`,
		`"choices":[],"usage":{"prompt_tokens":4`,
	} {
		if strings.Count(body, want) != 1 {
			t.Errorf("%s has %d times %s", body, strings.Count(body, want), want)
		}
	}
	if strings.Count(body, "[DONE]") != 1 || strings.Count(body, `"finish_reason":"stop"`) != 2 {
		t.Errorf("the stream is %s", body)
	}
	for n, header := range map[string][]string{"0": nil, "17": nil, "2": {"X-Etui-Session", "s"}} {
		if status, body := complete(a, `{"n":`+n+`,"messages":[{"role":"user","content":"x"}]}`, header...); status != 400 || !strings.Contains(body, `"param":"n"`) {
			t.Errorf("n = %s: %d %s", n, status, body)
		}
	}
	m.Add(fake.Step{Text: "red"}, fake.Step{Err: &model.Error{Kind: model.ErrRateLimited}})
	if status, body := complete(a, `{"model":"main","n":2,"messages":[{"role":"user","content":"x"}]}`); status != 429 {
		t.Errorf("%d %s", status, body)
	}
}

// TestTexts: the older API completes prompts, each as a message.
func TestTexts(t *testing.T) {
	a, m := newAPI(t, twice()...)
	status, body := texts(a, `{"model":"main","prompt":["a color","another"],"max_tokens":5,"echo":true,"logprobs":1,"best_of":1}`)
	for _, want := range []string{
		`"object":"text_completion"`, `"choices":[{"text":"a colorred","index":0,"logprobs":null,"finish_reason":"stop"}`,
		`{"text":"anotherblue","index":1,"logprobs":null,"finish_reason":"stop"}]`, `"total_tokens":6`,
	} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d %s lacks %s", status, body, want)
		}
	}
	if r := m.Requests()[1]; r.Messages[0].Text != "another" || r.MaxTokens != 5 {
		t.Errorf("the model gets %+v", r)
	}
	m.Add(twice()[0])
	_, body = texts(a, `{"model":"main","prompt":"a color","stream":true,"user":"ann"}`)
	for _, want := range []string{`{"text":"red","index":0,"logprobs":null,"finish_reason":null}`, `{"text":"","index":0,"logprobs":null,"finish_reason":"stop"}`, "data: [DONE]"} {
		if !strings.Contains(body, want) || strings.Contains(body, "delta") {
			t.Errorf("%s lacks %s", body, want)
		}
	}
	for name, c := range map[string]struct{ body, says string }{
		"tokens":    {`{"model":"main","prompt":[1,2]}`, "prompt must be a text"},
		"no prompt": {`{"model":"main"}`, "prompt must be a text"},
		"an ending": {`{"model":"main","prompt":"a","suffix":"b"}`, `"param":"suffix"`},
		"too many":  {`{"model":"main","prompt":["a","b"],"n":9}`, "at most 16"},
		"no agent":  {`{"model":"nobody","prompt":"a"}`, "model_not_found"},
	} {
		if status, body := texts(a, c.body); status/100 != 4 || !strings.Contains(body, c.says) {
			t.Errorf("%s: %d %s", name, status, body)
		}
	}
}

// TestLogprobs: what a model of OpenAI's API says of its tokens reaches the client that asks for it.
func TestLogprobs(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, piece := range []string{
			`{"choices":[{"index":0,"delta":{"content":"red"},"logprobs":{"content":[{"token":"red","logprob":-0.5}]}}]}`,
			`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "[DONE]",
		} {
			_, _ = io.WriteString(w, "data: "+piece+"\n\n")
		}
	}))
	defer s.Close()
	m, err := provider.New(provider.Config{Model: "test", BaseURL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{
		Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}},
	})
	if err != nil {
		t.Fatal(err)
	}
	a := openai.New(e, wire.NewModels(e, nil))
	const known = `"logprobs":{"content":[{"token":"red","logprob":-0.5}],"refusal":null}`
	for more, want := range map[string]bool{`"logprobs":true,"top_logprobs":2`: true, `"stream":true,"logprobs":true`: true, `"n":1`: false} {
		status, body := complete(a, `{"model":"main",`+more+`,"messages":[{"role":"user","content":"a color"}]}`)
		if status != 200 || strings.Contains(body, known) != want {
			t.Errorf("%s: %d %s", more, status, body)
		}
	}
}
