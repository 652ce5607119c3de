package anthropic_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/tool"
)

// ask plays a reply to a request.
func ask(t *testing.T, reply modeltest.Reply, req model.Request) (s *modeltest.Server, said chat.Message, usage model.Tokens, err error) {
	t.Helper()
	s = modeltest.Anthropic(reply)
	defer s.Close()
	said, usage, _, err = model.Answer(open(t, s).Stream(t.Context(), req))
	for _, problem := range s.Problems() {
		t.Error(problem)
	}
	return s, said, usage, err
}

func user(text string) chat.Message { return chat.Message{Role: chat.User, Text: text} }

func TestRequest(t *testing.T) {
	s, _, _, err := ask(t, modeltest.Reply{}, model.Request{
		System: "S", Tools: []tool.Definition{{Name: "a"}, {Name: "files.read", Description: "Reads."}},
		Messages: []chat.Message{
			user("one"), {Role: chat.Assistant, Text: "1"}, user("two"),
			{Role: chat.Assistant, Text: "wait", Calls: []chat.Call{{ID: "x:1", Name: "files.read", Arguments: []byte(`{"b":1,"a":2}`)}, {ID: "x2", Name: "a", Arguments: []byte(`{broken`)}}},
			{Role: chat.Tool, Result: &chat.Result{CallID: "x:1", Text: "R", Images: []chat.File{{MediaType: "image/png", Data: []byte("PNG")}}}},
			{Role: chat.Tool, Result: &chat.Result{CallID: "x2", Text: "E", Failed: true}},
			user("three"),
		},
		Settings: model.Settings{MaxTokens: 5},
	})
	if err != nil {
		t.Fatal(err)
	}
	const mark = `"cache_control":{"type":"ephemeral"}`
	want := `{"max_tokens":5,"model":"claude-test","stream":true,` +
		`"tools":[{"input_schema":{"type":"object","properties":{}},"name":"a"},{"input_schema":{"type":"object","properties":{}},"name":"files_read","description":"Reads.",` + mark + `}],` +
		`"system":[{"text":"S",` + mark + `,"type":"text"}],"messages":[` +
		`{"content":[{"text":"one","type":"text"}],"role":"user"},{"content":[{"text":"1","type":"text"}],"role":"assistant"},` +
		`{"content":[{"text":"two",` + mark + `,"type":"text"}],"role":"user"},` +
		`{"content":[{"text":"wait","type":"text"},{"id":"x_1","input":{"b":1,"a":2},"name":"files_read","type":"tool_use"},` +
		`{"id":"x2","input":{"arguments":"{broken"},"name":"a","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"x_1","content":[{"text":"R","type":"text"},{"source":{"data":"UE5H","media_type":"image/png","type":"base64"},"type":"image"}],"type":"tool_result"},` +
		`{"tool_use_id":"x2","is_error":true,"content":[{"text":"E","type":"text"}],"type":"tool_result"},{"text":"three",` + mark + `,"type":"text"}],"role":"user"}]}`
	if got := string(s.Requests()[0].Body); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPicturesOfMessages: the user's pictures come before the text, and are words for
// models that cannot see them.
func TestPicturesOfMessages(t *testing.T) {
	req := model.Request{Messages: []chat.Message{
		{Role: chat.User, Text: "look", Files: []chat.File{{MediaType: "image/png", Size: 3, Data: []byte("PNG")}, {MediaType: "image/gif", Size: 3}}},
		{Role: chat.Assistant, Text: "1"},
		{Role: chat.User, Files: []chat.File{{MediaType: "image/png", Size: 3, Data: []byte("PNG")}}},
		{Role: chat.Assistant, Calls: []chat.Call{{ID: "c", Name: "look"}}},
		{Role: chat.Tool, Result: &chat.Result{CallID: "c", Text: "R", Images: []chat.File{{MediaType: "image/png", Data: []byte("PNG")}}}},
	}}
	const call = `{"content":[{"id":"c","input":{},"name":"look","type":"tool_use"}],"role":"assistant"},{"content":[{"tool_use_id":"c","cache_control":{"type":"ephemeral"},"content":[{"text":"R","type":"text"},`
	const mark = `"cache_control":{"type":"ephemeral"}`
	const image = `{"source":{"data":"UE5H","media_type":"image/png","type":"base64"},`
	for name, c := range map[string]struct {
		blind bool
		want  string
	}{
		"sees": {false, `"messages":[{"content":[` + image + `"type":"image"},{"text":"look\n\n[picture image/gif, 1 kB: an earlier picture that is not shown again]","type":"text"}],"role":"user"},` +
			`{"content":[{"text":"1","type":"text"}],"role":"assistant"},{"content":[` + image + mark + `,"type":"image"}],"role":"user"},` + call + image + `"type":"image"}],"type":"tool_result"}],"role":"user"}]}`},
		"blind": {true, `"messages":[{"content":[{"text":"look\n\n[picture image/png, 1 kB: this model cannot see pictures]\n\n[picture image/gif, 1 kB: an earlier picture that is not shown again]","type":"text"}],"role":"user"},` +
			`{"content":[{"text":"1","type":"text"}],"role":"assistant"},{"content":[{"text":"[picture image/png, 1 kB: this model cannot see pictures]",` + mark + `,"type":"text"}],"role":"user"},` +
			call + `{"text":"(The picture cannot be shown: the model takes none.)","type":"text"}],"type":"tool_result"}],"role":"user"}]}`},
	} {
		t.Run(name, func(t *testing.T) {
			s := modeltest.Anthropic(modeltest.Reply{})
			defer s.Close()
			m, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport(), Blind: c.blind})
			if err != nil {
				t.Fatal(err)
			}
			if _, _, _, err := model.Answer(m.Stream(t.Context(), req)); err != nil {
				t.Fatal(err)
			}
			for _, problem := range s.Problems() {
				t.Error(problem)
			}
			if got := string(s.Requests()[0].Body); !strings.HasSuffix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestUsage(t *testing.T) {
	want := model.Tokens{Input: 1000, Output: 20, CacheRead: 700, CacheWrite: 200}
	_, _, usage, err := ask(t, modeltest.Reply{Usage: want}, model.Request{Messages: []chat.Message{user("Hi.")}})
	if err != nil {
		t.Fatal(err)
	}
	if usage != want {
		t.Errorf("usage = %v, want %v", usage, want)
	}
}

func TestBlocksOfOtherKinds(t *testing.T) {
	raw := events(t,
		`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"time","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"n\":1}"}}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"q\":2}"}}`,
		`{"type":"content_block_start","index":2,"content_block":{"type":"redacted_thinking","data":"x"}}`,
		`{"type":"content_block_start","index":3,"content_block":{"type":"news_of_2030","x":[1]}}`,
		`{"type":"content_block_delta","index":3,"delta":{"type":"news_delta","x":[1]}}`,
		`{"type":"news_event"}`,
		`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":4}}`,
		`{"type":"message_stop"}`,
	)
	_, said, usage, err := ask(t, modeltest.Reply{Raw: raw}, model.Request{Messages: []chat.Message{user("Hi.")}})
	if err != nil {
		t.Fatal(err)
	}
	if len(said.Calls) != 1 {
		t.Fatalf("len(said.Calls) = %v, want 1: %+v", len(said.Calls), said.Calls)
	}
	if string(said.Calls[0].Arguments) != `{"n":1}` {
		t.Errorf("string(said.Calls[0].Arguments) = %q, want %q", string(said.Calls[0].Arguments), `{"n":1}`)
	}
	if said.Text != "" {
		t.Errorf("said.Text = %q, want %q", said.Text, "")
	}
	if want := (model.Tokens{Input: 1, Output: 4}); usage != want {
		t.Errorf("got %+v, want %+v", usage, want)
	}
}

func TestErrorsInTheMidst(t *testing.T) {
	for kind, want := range map[string]error{
		"overloaded_error": model.ErrUnavailable, "api_error": model.ErrUnavailable, "rate_limit_error": model.ErrRateLimited,
		"authentication_error": model.ErrAuth, "invalid_request_error": model.ErrRequest, "request_too_large": model.ErrTooLong,
	} {
		_, _, _, err := ask(t, modeltest.Reply{Late: true, Status: 529, Code: kind, Message: "why"}, model.Request{Messages: []chat.Message{user("Hi.")}})
		var e *model.Error
		if !errors.As(err, &e) || !errors.Is(err, want) || e.Detail != "why" {
			t.Errorf("%s: got %v, want %v", kind, err, want)
		}
	}
}

func TestSecretHeaders(t *testing.T) {
	s := modeltest.Anthropic(modeltest.Reply{Status: http.StatusBadRequest, Message: "bad header hunter2-hunter2"})
	defer s.Close()
	m, err := anthropic.New(anthropic.Config{
		Model: "m", Name: "mine", BaseURL: s.URL, APIKey: modeltest.Key, Headers: map[string]string{"X-Password": "hunter2-hunter2"}, Retries: -1, Transport: s.Transport(),
	})
	if err != nil {
		t.Fatal(err)
	}
	_, _, _, err = model.Answer(m.Stream(t.Context(), model.Request{Messages: []chat.Message{user("Hi.")}}))
	if want := "model mine: the provider refused the request (HTTP 400): bad header (secret)"; err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	if got := s.Requests()[0].Header.Get("X-Password"); got != "hunter2-hunter2" {
		t.Errorf("the header is %q", got)
	}
}

func TestConfig(t *testing.T) {
	for want, cfg := range map[string]anthropic.Config{
		"anthropic: the model's name is missing":                             {},
		"anthropic: the base URL of anthropic/m is not one of http or https": {Model: "m", BaseURL: "api.anthropic.com"},
	} {
		if _, err := anthropic.New(cfg); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	m, err := anthropic.New(anthropic.Config{Model: "m", Window: 200_000})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := m.Info(), (model.Info{Name: "anthropic/m", Window: 200_000, Answer: 8192, CacheLife: 5 * time.Minute, Price: model.Price{CacheWrite: 1.25}, Deferral: true}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// events writes server-sent events that are named by their type.
func events(t *testing.T, all ...string) string {
	t.Helper()
	var b strings.Builder
	for _, data := range all {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(data), &head); err != nil {
			t.Fatal(err)
		}
		b.WriteString("event: " + head.Type + "\ndata: " + data + "\n\n")
	}
	return b.String()
}

// TestPDFsOfMessages: a PDF is a document before the text, and words for a model that is
// configured as blind.
func TestPDFsOfMessages(t *testing.T) {
	req := model.Request{Messages: []chat.Message{{Role: chat.User, Text: "sum", Files: []chat.File{{Name: "a.pdf", MediaType: chat.PDF, Size: 3, Data: []byte("PDF")}}}}}
	for blind, want := range map[bool]string{
		false: `{"source":{"data":"UERG","media_type":"application/pdf","type":"base64"},"title":"a.pdf","type":"document"}`,
		true:  `"text":"sum\n\n[file a.pdf, application/pdf, 1 kB: this model cannot read PDFs]"`,
	} {
		s := modeltest.Anthropic(modeltest.Reply{})
		defer s.Close()
		m, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport(), Blind: blind})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, _, err := model.Answer(m.Stream(t.Context(), req)); err != nil {
			t.Fatal(err)
		}
		if got := string(s.Requests()[0].Body); !strings.Contains(got, want) {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// TestTextsOfPDFs: a blind model reads the text of a PDF.
func TestTextsOfPDFs(t *testing.T) {
	s := modeltest.Anthropic(modeltest.Reply{})
	defer s.Close()
	read := func(_ context.Context, data []byte) (string, error) { return string(data), nil }
	m, err := anthropic.New(anthropic.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport(), Blind: true, PDF: read})
	if err != nil {
		t.Fatal(err)
	}
	req := model.Request{Messages: []chat.Message{{Role: chat.User, Text: "sum", Files: []chat.File{{Name: "a.pdf", MediaType: chat.PDF, Data: []byte("one")}}}}}
	if _, _, _, err := model.Answer(m.Stream(t.Context(), req)); err != nil {
		t.Fatal(err)
	}
	if got := string(s.Requests()[0].Body); !strings.Contains(got, `"text":"sum\n\n[file a.pdf, its text without pictures]\none\n[end of the file]"`) {
		t.Errorf("got %s", got)
	}
}

// TestSoundOfMessages: the model reads of sound, which the API does not take.
func TestSoundOfMessages(t *testing.T) {
	s, _, _, err := ask(t, modeltest.Reply{}, model.Request{Messages: []chat.Message{{
		Role: chat.User, Text: "hear", Files: []chat.File{{MediaType: chat.WAV, Size: 3, Data: []byte("WAV")}},
	}}})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(s.Requests()[0].Body), `"text":"hear\n\n[sound audio/wav, 1 kB: this model cannot hear]"`; !strings.Contains(got, want) {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestPrefill: the beginning of an answer has no blank at its end, which the API refuses.
func TestPrefill(t *testing.T) {
	s, _, _, err := ask(t, modeltest.Reply{}, model.Request{Messages: []chat.Message{
		user("hi"), {Role: chat.Assistant, Text: "It is \n"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if got := string(s.Requests()[0].Body); !strings.Contains(got, `"text":"It is",`) {
		t.Errorf("the request is %s", got)
	}
}
