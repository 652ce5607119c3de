package openai_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/tool"
)

// serve returns a model whose server always gives the same body.
func serve(t *testing.T, body string, got *bytes.Buffer) *openai.Model {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		if got != nil {
			got.Write(raw)
		}
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	m, err := openai.New(openai.Config{Model: "m", BaseURL: s.URL, Retries: -1})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

var askReq = model.Request{Messages: []chat.Message{{Role: chat.User, Text: "hi"}}, Tools: []tool.Definition{{Name: "f", Description: "f", Parameters: []byte(`{"type":"object","properties":{}}`)}}}

// TestExtraNull: a later piece without a state takes none away.
func TestExtraNull(t *testing.T) {
	m := serve(t, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":""},"extra_content":{"google":{"thought_signature":"s"}}}]}}]}

data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{}"},"extra_content":null}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`, nil)
	a, _, _, err := model.Answer(m.Stream(t.Context(), askReq))
	if err != nil || len(a.Calls) != 1 || !strings.Contains(string(a.Calls[0].State), "thought_signature") {
		t.Errorf("%v %+v %s", err, a, a.Calls[0].State)
	}
}

// TestExtraLarge: a state that is too large is not kept.
func TestExtraLarge(t *testing.T) {
	m := serve(t, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"},"extra_content":"`+strings.Repeat("x", 4<<20)+`"}]},"finish_reason":"tool_calls"}]}

data: [DONE]

`, nil)
	a, _, _, err := model.Answer(m.Stream(t.Context(), askReq))
	if err != nil || len(a.Calls[0].State) > 300<<10 {
		t.Errorf("%v %d", err, len(a.Calls[0].State))
	}
}

// TestCutThought: a thought that nothing opened is not shown when its answer is cut.
func TestCutThought(t *testing.T) {
	chunk := func(s string) string { return fmt.Sprintf("data: {\"choices\":[{\"delta\":{\"content\":%q}}]}\n\n", s) }
	bodies := []string{
		chunk("old") + chunk("</think>Hi") + "data: [DONE]\n\n", // the model becomes known
		chunk("secret thought"),                                 // cut
		chunk("secret thought") + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n",
	}
	for _, second := range bodies[1:] {
		n := 0
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			if n == 1 {
				_, _ = io.WriteString(w, bodies[0])
			} else {
				_, _ = io.WriteString(w, second)
			}
		}))
		defer s.Close()
		m, err := openai.New(openai.Config{Model: "m", BaseURL: s.URL, Retries: -1})
		if err != nil {
			t.Fatal(err)
		}
		_, _, _, _ = model.Answer(m.Stream(t.Context(), askReq))
		a, _, stop, err := model.Answer(m.Stream(t.Context(), askReq))
		if a.Text != "" {
			t.Errorf("shown: %q %v %v", a.Text, stop, err)
		}
	}
}
