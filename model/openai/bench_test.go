package openai_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/tool"
)

// BenchmarkStream writes a request of 20 tools and 41 messages and reads an
// answer of 100 pieces, without a network.
func BenchmarkStream(b *testing.B) {
	req := model.Request{System: strings.Repeat("Be brief. ", 100)}
	for i := range 20 {
		req.Tools = append(req.Tools, tool.Definition{
			Name: fmt.Sprintf("desk.tool_%d", i), Description: strings.Repeat("Does something useful. ", 5),
			Parameters: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		})
	}
	for range 20 {
		req.Messages = append(req.Messages, chat.Message{Role: chat.User, Text: strings.Repeat("word ", 50)}, chat.Message{Role: chat.Assistant, Text: strings.Repeat("word ", 200)})
	}
	req.Messages = append(req.Messages, chat.Message{Role: chat.User, Text: "Now?"})
	raw := strings.Repeat(sse(`{"id":"x","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":"word "},"finish_reason":null}]}`), 100) +
		sse(`{"choices":[{"delta":{},"finish_reason":"stop"}]}`, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`, `[DONE]`)
	m, err := openai.New(openai.Config{Model: "test", Transport: model.Transport(model.TransportConfig{Base: tripFunc(func(r *http.Request) (*http.Response, error) {
		_, err := io.Copy(io.Discard, r.Body)
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(raw))}, err
	})})})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, _, _, err := model.Answer(m.Stream(b.Context(), req)); err != nil {
			b.Fatal(err)
		}
	}
}
