package anthropic_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/tool"
)

// TestQuirks: what servers do that the API's description does not say, or not yet.
func TestQuirks(t *testing.T) {
	const (
		start = `{"type":"message_start","message":{"usage":{"input_tokens":3,"cache_read_input_tokens":null}}}`
		text  = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hi."}}`
		stop  = `{"type":"message_stop"}`
	)
	for name, c := range map[string]struct {
		reply     modeltest.Reply
		says, err string
	}{
		"no names of events": {modeltest.Reply{Raw: "data: " + start + "\n\ndata: " + text + "\n\ndata: " + stop + "\n\n"}, "Hi.", ""},
		"no beginning, but an end": {modeltest.Reply{
			Raw: events(t, text, `{"type":"message_delta","usage":{"output_tokens":1}}`, stop),
		}, "Hi.", ""},
		"a block begins with text": {modeltest.Reply{Raw: events(t, start, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"So. "}}`, text, stop)}, "So. Hi.", ""},
		"a known field of another type": {modeltest.Reply{Raw: events(t, start,
			`{"type":"content_block_start","index":1,"content_block":{"type":"news","name":5,"text":{"a":1}}}`, text, stop)}, "Hi.", ""},
		"an error in place of a stream": {modeltest.Reply{Raw: `{"type":"error","error":{"type":"rate_limit_error","message":"Slow down."}}`, Type: "application/json"}, "",
			"the provider's rate limit is reached (HTTP 200): Slow down."},
		"an error that is not JSON": {modeltest.Reply{Raw: events(t, start, text) + "event: error\ndata: boom " + modeltest.Key + "\n\n"}, "Hi.",
			"the provider is not available (HTTP 200): boom (secret)"},
		"an error behind the end": {modeltest.Reply{Raw: events(t, start, text, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`,
			`{"type":"error","error":{"type":"api_error","message":"no usage"}}`)}, "Hi.", ""},
		"no last event":            {modeltest.Reply{Raw: events(t, start, text, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`)}, "Hi.", ""},
		"an event that is no JSON": {modeltest.Reply{Raw: events(t, start) + "data: ping\n\n" + events(t, text, stop)}, "Hi.", ""},
		"no end":                   {modeltest.Reply{Raw: events(t, start, text)}, "Hi.", "the provider is not available: the connection ended before the answer did"},
		"no beginning": {modeltest.Reply{Raw: events(t, `{"type":"ping"}`)}, "",
			"the provider is not available: the server sent an empty answer, or one of another protocol"},
		"credit": {modeltest.Reply{Status: 400, Message: "Your credit balance is too low."}, "",
			"the provider's account has no credit left (HTTP 400): Your credit balance is too low."},
		"elsewhere": {modeltest.Reply{Status: 302, Raw: " ", Type: "text/html", Header: map[string]string{"Location": "https://example.com/"}}, "",
			"the provider refused the request (HTTP 302): Found https://example.com/"},
	} {
		t.Run(name, func(t *testing.T) {
			_, said, _, err := ask(t, c.reply, model.Request{Messages: []chat.Message{user("Hello.")}})
			if said.Text != c.says {
				t.Errorf("the text is %q, want %q", said.Text, c.says)
			}
			if want := "model anthropic/claude-test: " + c.err; c.err != "" && (err == nil || err.Error() != want) || c.err == "" && err != nil {
				t.Errorf("got  %v\nwant %s", err, want)
			}
		})
	}
}

func TestCheck(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Header.Get("X-Api-Key") != modeltest.Key:
			http.Error(w, `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key"}}`, http.StatusUnauthorized)
		case r.URL.EscapedPath() == "/v1/models/an%2Fold%20one":
			_, _ = w.Write([]byte(`{"type":"model","id":"an/old one"}`))
		case strings.HasPrefix(r.URL.Path, "/web/"):
			_, _ = w.Write([]byte("<html>Welcome!</html>"))
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	for _, c := range []struct{ path, name, key, says, err string }{
		{"", "an/old one", modeltest.Key, "the server answers and has the model", ""},
		{"", "m", modeltest.Key, "the server answers, but does not know the model m", ""},
		{"", "m", "wrong", "", "model anthropic/m: the provider refused the key (HTTP 401): invalid x-api-key"},
		{"/web", "m", modeltest.Key, "", "model anthropic/m: the provider is not available: something answers, but not about the model as Anthropic's API does"},
	} {
		m, err := anthropic.New(anthropic.Config{Model: c.name, BaseURL: s.URL + c.path, APIKey: c.key})
		if err != nil {
			t.Fatal(err)
		}
		says, err := m.Check(t.Context())
		if says != c.says || (c.err != "" || err != nil) && (err == nil || err.Error() != c.err) {
			t.Errorf("%s%s: got %q, %v; want %q, %s", c.path, c.name, says, err, c.says, c.err)
		}
	}
}

// TestThinkingGoesBack: signed thinking goes back to the same model with the calls that followed from
// it, and to no other.
func TestThinkingGoesBack(t *testing.T) {
	raw := events(t,
		`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I need "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"the time."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"eHl6"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"a","name":"time","input":{"zone":"UTC"}}}`,
		`{"type":"content_block_stop","index":2}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}`,
		`{"type":"message_stop"}`,
	)
	whole := `{"type":"message","content":[{"type":"thinking","thinking":"I need the time.","signature":"c2ln"},{"type":"redacted_thinking","data":"eHl6"},{"type":"tool_use","id":"a","name":"time","input":{"zone":"UTC"}}],"stop_reason":"tool_use","usage":{"input_tokens":1,"output_tokens":4}}`
	for _, raw := range []string{raw, whole} {
		s := modeltest.Anthropic(modeltest.Reply{Raw: raw}, modeltest.Reply{Text: []string{"noon"}}, modeltest.Reply{Text: []string{"noon"}})
		defer s.Close()
		m, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
		if err != nil {
			t.Fatal(err)
		}
		said := chat.Message{Role: chat.Assistant}
		for e, err := range m.Stream(t.Context(), model.Request{Messages: []chat.Message{user("time?")}, Tools: []tool.Definition{{Name: "time"}}}) {
			if err != nil {
				t.Fatal(err)
			}
			if e.Text != "" {
				t.Errorf("the person reads %q", e.Text)
			}
			if e.Call != nil {
				said.Calls = append(said.Calls, *e.Call)
			}
			if e.Stop != "" {
				said.State, said.StateOf = e.State, e.StateOf
			}
		}
		if len(said.Calls) != 1 || string(said.Calls[0].Arguments) != `{"zone":"UTC"}` || said.StateOf != "anthropic/claude-test" {
			t.Fatalf("the answer is %+v", said)
		}
		want := `"content":[{"type":"thinking","thinking":"I need the time.","signature":"c2ln"},{"type":"redacted_thinking","data":"eHl6"},{"id":"a",`
		for i, of := range []string{m.Info().Name, "another"} {
			said.StateOf = of
			result := chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: "a", Text: "12:00"}}
			if _, _, _, err := model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{user("time?"), said, result}})); err != nil {
				t.Fatal(err)
			}
			if sent := string(s.Requests()[i+1].Body); strings.Contains(sent, want) != (i == 0) {
				t.Errorf("to %s: %s", of, sent)
			}
		}
	}
}
