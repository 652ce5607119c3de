package responses_test

import (
	"context"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/responses"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/tool"
)

// TestReplay: a client follows a stored response by its events, one that runs until it ends.
func TestReplay(t *testing.T) {
	wait := make(chan struct{})
	s, _ := newShelf(t, nil, calls(), fake.Step{Text: "late", Wait: wait}, fake.Step{Empty: true})
	asked := s.ann("POST", "", `{"model":"main","input":"go","tools":[`+tools+`]}`)
	status, body := s.as("ann", "k", "GET", "/"+asked.ID+"?stream=true", "")
	for _, part := range []string{
		`"delta":"Looking."`, `"type":"custom_tool_call"`, `"delta":"*** Begin"`, `"arguments":"{\"path\":\"x\"}"`, `"namespace":"mcp"`,
		"event: response.completed\n", `"total_tokens":7`,
	} {
		if status != http.StatusOK || !strings.Contains(body, part) {
			t.Errorf("no %s in %d %s", part, status, body)
		}
	}
	checkStream(t, body)
	later := s.ann("POST", "", `{"model":"main","input":"go","background":true}`)
	got := make(chan string)
	go func() {
		_, body := s.as("ann", "k", "GET", "/"+later.ID+"?stream=true", "")
		got <- body
	}()
	close(wait)
	body = <-got
	if !strings.Contains(body, `"delta":"late"`) || !strings.Contains(body, "event: response.completed\n") {
		t.Errorf("it follows %s", body)
	}
	for query, want := range map[string]int{"?stream=maybe": 400, "?stream=true&starting_after=3": 400, "?stream=false": 200} {
		if status, body := s.as("ann", "k", "GET", "/"+asked.ID+query, ""); status != want {
			t.Errorf("%s: %d %s", query, status, body)
		}
	}
	if status, _ := s.as("bob", "k", "GET", "/"+asked.ID+"?stream=true", ""); status != http.StatusNotFound {
		t.Errorf("bob follows it: %d", status)
	}
}

// TestConverse: a client makes a conversation, and responses go on with it.
func TestConverse(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "one"}, fake.Step{Text: "two"})
	make := func(body string) (int, string) {
		w := httptest.NewRecorder()
		a.Converse(w, httptest.NewRequest(http.MethodPost, "/v1/conversations", strings.NewReader(body)))
		return w.Code, w.Body.String()
	}
	if status, body := make(`{"items":[{"role":"user","content":"x"}]}`); status != http.StatusBadRequest {
		t.Errorf("%d %s", status, body)
	}
	status, body := make(`{"metadata":{"a":"b"}}`)
	_, rest, _ := strings.Cut(body, `{"id":"`)
	id, _, _ := strings.Cut(rest, `"`)
	if status != http.StatusOK || !strings.HasPrefix(id, "conv_") || !strings.Contains(body, `"metadata":{"a":"b"}`) {
		t.Fatalf("%d %s", status, body)
	}
	for range 2 {
		if status, body := post(a, `{"model":"main","input":"hi","conversation":"`+id+`"}`); status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
	}
	if n := len(m.Requests()[1].Messages); n != 3 {
		t.Errorf("the conversation has %d messages, want 3", n)
	}
}

// TestPicturesOfTheWeb: a picture with an address is fetched as a call of web_fetch, and refused with the reason.
func TestPicturesOfTheWeb(t *testing.T) {
	red, _ := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC")
	type page struct {
		URL string `json:"url"`
	}
	r := catalog.NewRegistry(nil)
	if err := r.Register(tool.Func(tool.Definition{Name: "web_fetch", Risk: tool.Read}, func(_ context.Context, p page) (chat.Result, error) {
		if strings.HasSuffix(p.URL, "text") {
			return chat.Result{Text: "hello"}, nil
		}
		return chat.Result{Images: []chat.File{{Data: red}}}, nil
	})); err != nil {
		t.Fatal(err)
	}
	m := fake.New(fake.Step{Text: "red"})
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}})
	if err != nil {
		t.Fatal(err)
	}
	a := responses.New(e, wire.NewModels(e, nil))
	ask := func(url string) (int, string) {
		return post(a, `{"model":"main","input":[{"role":"user","content":[{"type":"input_image","image_url":"`+url+`"},{"type":"input_text","text":"look"}]}]}`)
	}
	if status, body := ask("https://example.com/a"); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if files := m.Requests()[0].Messages[0].Files; len(files) != 1 || !slices.Equal(files[0].Data, red) || files[0].MediaType != "image/png" {
		t.Errorf("the model gets %+v", files)
	}
	if status, body := ask("https://example.com/text"); status != http.StatusBadRequest || !strings.Contains(body, "invalid_image_url") {
		t.Errorf("%d %s", status, body)
	}
}
