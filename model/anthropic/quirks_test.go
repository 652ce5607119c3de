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
		"no end": {modeltest.Reply{Raw: events(t, start, text)}, "Hi.", "the provider is not available: the connection ended before the answer did"},
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
