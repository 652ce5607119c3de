package anthropic_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	claude "github.com/etui-run/etui/model/anthropic"
	gpt "github.com/etui-run/etui/model/openai"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/wire"
)

// TestStops: an answer says which stop of the client ended it, as far as the provider does.
func TestStops(t *testing.T) {
	fromClaude := "data: " + strings.Join([]string{
		`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So."}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"stop_sequence","stop_sequence":"END"},"usage":{"output_tokens":4}}`,
		`{"type":"message_stop"}`,
	}, "\n\ndata: ") + "\n\n"
	fromServer := func(field string) string {
		return `data: {"choices":[{"index":0,"delta":{"content":"So."},"finish_reason":"stop",` + field + `}]}` + "\n\ndata: [DONE]\n\n"
	}
	for name, c := range map[string]struct {
		reply  string
		claude bool
		want   string
	}{
		"Anthropic":        {fromClaude, true, `"stop_reason":"stop_sequence","stop_sequence":"END"`},
		"vLLM":             {fromServer(`"stop_reason":"END"`), false, `"stop_reason":"stop_sequence","stop_sequence":"END"`},
		"SGLang":           {fromServer(`"matched_stop":"END"`), false, `"stop_reason":"stop_sequence","stop_sequence":"END"`},
		"a token's number": {fromServer(`"stop_reason":2`), false, `"stop_reason":"end_turn","stop_sequence":null`},
		"null":             {fromServer(`"stop_reason":null`), false, `"stop_reason":"end_turn","stop_sequence":null`},
		"another word":     {fromServer(`"stop_reason":"eos"`), false, `"stop_reason":"end_turn","stop_sequence":null`},
	} {
		for _, stream := range []bool{false, true} {
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, c.reply)
			}))
			defer s.Close()
			var m model.Model
			var err error
			if c.claude {
				m, err = claude.New(claude.Config{Model: "m", BaseURL: s.URL, Retries: -1})
			} else {
				m, err = gpt.New(gpt.Config{Model: "m", BaseURL: s.URL, Retries: -1})
			}
			if err != nil {
				t.Fatal(err)
			}
			e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}}})
			if err != nil {
				t.Fatal(err)
			}
			a := anthropic.New(e, wire.NewModels(e, nil))
			status, body := post(a.Messages, fmt.Sprintf(
				`{"model":"main","max_tokens":100,"stream":%t,"stop_sequences":["END"],"messages":[{"role":"user","content":"go"}]}`, stream))
			if status != http.StatusOK || !strings.Contains(body, c.want) {
				t.Errorf("%s, stream %t: %d %s", name, stream, status, body)
			}
		}
	}
}
