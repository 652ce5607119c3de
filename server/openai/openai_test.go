package openai_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/tool"
)

func Example() {
	e, err := engine.New(engine.Config{
		Registry: catalog.NewRegistry(nil),
		Agents:   []engine.Agent{{Name: "main", Model: fake.New(fake.Step{Text: "Hello, Ann."})}},
		Now:      func() time.Time { return time.Unix(1700000000, 0) },
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	openai.New(e, wire.NewModels(e, nil)).Completions(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions",
		strings.NewReader(`{"model":"main","messages":[{"role":"user","content":"Hello!"}]}`)))
	_, answer, _ := strings.Cut(w.Body.String(), `"choices":`)
	fmt.Println(w.Code, answer)
	// Output:
	// 200 [{"index":0,"message":{"role":"assistant","content":"Hello, Ann."},"logprobs":null,"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0,"total_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}}
}

// newAPI returns the API of an engine with one tool, and its model.
func newAPI(t *testing.T, steps ...fake.Step) (*openai.API, *fake.Model) {
	t.Helper()
	r := catalog.NewRegistry(nil)
	type word struct {
		Word string `json:"word"`
	}
	if err := r.Register(tool.Func(tool.Definition{Name: "echo", Risk: tool.Read}, func(_ context.Context, w word) (string, error) { return w.Word, nil })); err != nil {
		t.Fatal(err)
	}
	m := fake.New(steps...)
	e, err := engine.New(engine.Config{
		Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}, {Name: "other", Model: m}},
		MaxMessage: 100, Now: func() time.Time { return time.Unix(1700000000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return openai.New(e, wire.NewModels(e, map[string]string{"gpt-5": "other"})), m
}

// complete posts a request and returns the status and the body of the answer.
func complete(a *openai.API, body string, header ...string) (int, string) {
	r := httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	a.Completions(w, r)
	return w.Code, w.Body.String()
}

// TestWholeAnswer: text before and after a call is one reply, with the tokens of
// both requests.
func TestWholeAnswer(t *testing.T) {
	a, m := newAPI(t,
		fake.Step{Text: "Looking.", Calls: []chat.Call{fake.Call("1", "echo", `{"word":"a"}`)}, Usage: model.Tokens{Input: 5, Output: 2}},
		fake.Step{Text: "Done.", Usage: model.Tokens{Input: 7, Output: 1, CacheRead: 3}})
	status, body := complete(a, `{"model":"main","messages":[{"role":"system","content":"Be kind."},{"role":"user","content":"hi"},{"role":"assistant","content":"ho"},{"role":"user","content":[{"type":"text","text":"echo a"}]}]}`)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	for _, part := range []string{`"system_fingerprint":"fp_etui"`, `"object":"chat.completion"`, `"content":"Looking.\n\nDone."`, `"finish_reason":"stop"`, `"prompt_tokens":12`, `"total_tokens":15`, `"cached_tokens":3`, `"created":1700000000`} {
		if !strings.Contains(body, part) {
			t.Errorf("no %s in %s", part, body)
		}
	}
	r := m.Requests()[0]
	if !strings.Contains(r.System, "\n\nBe kind.") {
		t.Errorf("the client's instructions are missing in %q", r.System)
	}
	if len(r.Messages) != 3 {
		t.Fatalf("%d messages in the request, want 3: %+v", len(r.Messages), r.Messages)
	}
	if r.Messages[2].Text != "echo a" {
		t.Errorf("the last message is %q, want %q", r.Messages[2].Text, "echo a")
	}
}

func TestStream(t *testing.T) {
	a, _ := newAPI(t, fake.Step{Text: "streamed"})
	status, body := complete(a, `{"model":"main","stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"hi"}]}`)
	want := []string{`"delta":{"role":"assistant","content":""}`, `"delta":{"content":"streamed"}`, `"finish_reason":"stop"`, `"choices":[],"usage":{`, "data: [DONE]"}
	lines := strings.Split(strings.TrimSpace(body), "\n\n")
	if status != 200 || len(lines) != len(want) {
		t.Fatalf("%d, %d lines: %s", status, len(lines), body)
	}
	for i, part := range want {
		if !strings.Contains(lines[i], part) {
			t.Errorf("line %d is %s, want %s", i+1, lines[i], part)
		}
	}
}

func TestFailureInAStream(t *testing.T) {
	for name, c := range map[string]struct {
		step   fake.Step
		status int
		body   string
	}{
		"before the first text": {fake.Step{Err: &model.Error{Kind: model.ErrRateLimited}}, 429, `{"error":`},
		"after it":              {fake.Step{Text: "half", Err: &model.Error{Kind: model.ErrRateLimited}}, 200, `data: {"error":`},
	} {
		a, _ := newAPI(t, c.step)
		status, body := complete(a, `{"model":"main","stream":true,"messages":[{"role":"user","content":"hi"}]}`)
		if status != c.status || !strings.Contains(body, c.body) {
			t.Errorf("%s: %d %s, want %d %s", name, status, body, c.status, c.body)
		}
	}
}

// TestStoredConversation: with a session's name the conversation is the stored
// one.
func TestStoredConversation(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "first"}, fake.Step{Text: "second"})
	for range 2 {
		if status, body := complete(a, `{"model":"main","messages":[{"role":"user","content":"hi"}]}`, "X-Etui-Session", "s1", "X-Etui-User", "ann"); status != 200 {
			t.Fatalf("%d %s", status, body)
		}
	}
	if n := len(m.Requests()[1].Messages); n != 3 {
		t.Errorf("the second request has %d messages, want 3", n)
	}
}

func TestRefusedRequests(t *testing.T) {
	a, _ := newAPI(t)
	user := `"messages":[{"role":"user","content":"x"}]`
	for _, c := range []struct {
		body   string
		status int
		says   string
	}{
		{`{`, 400, "not the expected JSON"},
		{`{"model":"mian",` + user + `}`, 404, `did you mean \"main\"`},
		{`{"model":"main","messages":[]}`, 400, "must not be empty"},
		{`{"model":"main","messages":[{"role":"assistant","content":"x"}]}`, 400, "empty"},
		{`{"model":"main","messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400, "image_url"},
		{`{"model":"main","tools":[{}],` + user + `}`, 400, `"param":"tools[0]","code":"unsupported_parameter"`},
		{`{"model":"main","tools":[{"type":"function","function":{"name":"a b"}}],` + user + `}`, 400, `"param":"tools"`},
		{`{"model":"main","tools":[` + readFile + `],"tool_choice":"some",` + user + `}`, 400, `"param":"tool_choice"`},
		{`{"model":"main","tools":[` + readFile + `],"tool_choice":{"type":"function","function":{"name":"b"}},` + user + `}`, 400, `not among its tools`},
		{`{"model":"main","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c","content":"y"}]}`, 400, `"param":"messages[1].tool_call_id"`},
		{`{"model":"main","messages":[{"role":"robot","content":"x"}]}`, 400, `"param":"messages[0].role"`},
		{`{"model":"main","modalities":["audio"],` + user + `}`, 400, `"param":"modalities","code":"unsupported_parameter"`},
		{`{"model":"main","temperature":3,` + user + `}`, 400, `"param":"temperature","code":"invalid_request"`},
		{`{"model":"main","max_tokens":0,` + user + `}`, 400, `"param":"max_tokens","code":"invalid_request"`},
		{`{"model":"main","stop":7,` + user + `}`, 400, `"param":"stop","code":"invalid_request"`},
		{`{"model":"main","response_format":{"type":"xml"},` + user + `}`, 400, `"param":"response_format","code":"invalid_request"`},
		{`{"model":"main","max_tokens":"many",` + user + `}`, 400, `\"max_tokens\" must be a whole number`},
		{`{"model":"mian",` + user + `}`, 404, `"type":"invalid_request_error","param":"model","code":"model_not_found"`},
		{`{"model":"main","n":1,"tool_choice":"auto","logprobs":false,"metadata":{"a":"b"},"store":false,"unheard_of":1,"messages":[]}`, 400, "must not be empty"},
		{`{"model":"main","messages":[{"role":"user","content":"` + strings.Repeat("x", 101) + `"}]}`, 400, "context_length_exceeded"},
	} {
		if status, body := complete(a, c.body); status != c.status || !strings.Contains(body, c.says) {
			t.Errorf("%.60s: %d %.200s; want %d and %q", c.body, status, body, c.status, c.says)
		}
	}
}

// What a client says about the answer reaches the model.
func TestSettings(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "a"}, fake.Step{Text: "b"})
	for _, body := range []string{
		`"max_tokens":7,"temperature":0.5,"top_p":0.25,"stop":"END","seed":42,"response_format":{"type":"json_object"}`,
		`"max_completion_tokens":8,"stop":["A","B"],"response_format":{"type":"text"}`,
	} {
		if status, answer := complete(a, `{"model":"main",`+body+`,"messages":[{"role":"user","content":"x"}]}`); status != 200 {
			t.Fatalf("%d %s", status, answer)
		}
	}
	for i, want := range []string{
		`{"max_tokens":7,"temperature":0.5,"top_p":0.25,"stop":["END"],"seed":42,"response_format":{"type":"json_object"}}`,
		`{"max_tokens":8,"stop":["A","B"]}`,
	} {
		got, err := json.Marshal(m.Requests()[i].Settings)
		if err != nil {
			t.Fatal(err)
		}
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
	}
}

// A stream begins before the model does, and comments keep it alive.
// lockedRecorder is read while timers still write.
type lockedRecorder struct {
	*httptest.ResponseRecorder
	mu sync.Mutex
}

func (r *lockedRecorder) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ResponseRecorder.Write(b)
}

func (r *lockedRecorder) WriteString(s string) (int, error) { return r.Write([]byte(s)) }

func (r *lockedRecorder) text() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.Body.String()
}

func TestStreamWhileTheModelThinks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := newAPI(t, fake.Step{Delay: 25 * time.Second, Text: "at last"})
		w := &lockedRecorder{ResponseRecorder: httptest.NewRecorder()}
		done := make(chan struct{})
		go func() {
			a.Completions(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(`{"model":"main","stream":true,"messages":[{"role":"user","content":"hi"}]}`)))
			close(done)
		}()
		time.Sleep(time.Second)
		synctest.Wait()
		if !strings.HasPrefix(w.text(), `data: {"id"`) {
			t.Errorf("after a second: %q", w.text())
		}
		<-done
		if n := strings.Count(w.text(), ": keep-alive\n\n"); n != 4 {
			t.Errorf("%d comments, want 2 in each of two silences of 25 s: %s", n, w.text())
		}
		if !strings.Contains(w.text(), `"at last"`) {
			t.Errorf("no answer in %s", w.text())
		}
	})
}

func TestModel(t *testing.T) {
	a, _ := newAPI(t)
	for name, want := range map[string]string{"other": `{"id":"other","object":"model"`, "othr": `"code":"model_not_found"`} {
		r := httptest.NewRequest(http.MethodGet, "/v1/models/"+name, nil)
		r.SetPathValue("id", name)
		w := httptest.NewRecorder()
		if a.Model(w, r); !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %s", name, w.Body)
		}
	}
}

func TestModels(t *testing.T) {
	a, _ := newAPI(t)
	w := httptest.NewRecorder()
	a.Models(w, httptest.NewRequest(http.MethodGet, "/v1/models", nil))
	for _, agent := range []string{"main", "other"} {
		if !strings.Contains(w.Body.String(), `"id":"`+agent+`"`) {
			t.Errorf("no agent %s in %s", agent, w.Body)
		}
	}
}

// TestRepeatedRequest: a client whose connection broke, and that sends its request again without a
// key, gets the answer of the first one; after an answer, the same question is a new one.
func TestRepeatedRequest(t *testing.T) {
	begun, goOn := make(chan struct{}), make(chan struct{})
	api, m := newAPI(t, fake.Step{Check: func(model.Request) error { close(begun); return nil }, Wait: goOn, Text: "paid"}, fake.Step{Text: "paid again"})
	s := httptest.NewServer(http.HandlerFunc(api.Completions))
	defer s.Close()
	ask := func(ctx context.Context, attempt string) string {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, strings.NewReader(`{"model":"main","messages":[{"role":"user","content":"pay"}]}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("X-Etui-User", "ann")
		r.Header.Set("X-Etui-Session", "1")
		r.Header.Set("X-Stainless-Retry-Count", attempt)
		res, err := s.Client().Do(r)
		if err != nil {
			return ""
		}
		defer res.Body.Close()
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || len(answer.Choices) != 1 {
			t.Errorf("status %d, %v", res.StatusCode, err)
			return ""
		}
		return answer.Choices[0].Message.Content
	}
	first, breaks := context.WithCancel(t.Context())
	var both sync.WaitGroup
	both.Go(func() { ask(first, "0") })
	<-begun
	breaks()
	both.Go(func() {
		if got := ask(t.Context(), "1"); got != "paid" {
			t.Errorf("the repeated request gets %q", got)
		}
	})
	close(goOn)
	both.Wait()
	for _, c := range [][2]string{{"1", "paid"}, {"0", "paid again"}} {
		if got := ask(t.Context(), c[0]); got != c[1] {
			t.Errorf("attempt %s gets %q, want %q", c[0], got, c[1])
		}
	}
	if m.Left() != 0 {
		t.Errorf("%d answers are left", m.Left())
	}
}
