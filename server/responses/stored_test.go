package responses_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/responses"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/store"
)

// shelf serves stored responses of an engine, to ann unless a request has another caller.
type shelf struct {
	t     *testing.T
	mux   *http.ServeMux
	model *fake.Model
}

func newShelf(t *testing.T, kept store.Store, steps ...fake.Step) (*shelf, *engine.Engine) {
	t.Helper()
	m := fake.New(steps...)
	e, err := engine.New(engine.Config{
		Registry: catalog.NewRegistry(nil), Store: kept, MaxMessage: 1000,
		Agents: []engine.Agent{{Name: "other", Model: fake.New()}, {Name: "main", Model: m}},
		Users: func(*catalog.Catalog) *identity.Users {
			users, err := identity.New([]identity.User{{Name: "ann"}, {Name: "bob"}})
			if err != nil {
				t.Error(err)
			}
			return users
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	a, mux := responses.New(e, wire.NewModels(e, nil)), http.NewServeMux()
	mux.HandleFunc("POST /v1/responses", a.Create)
	mux.HandleFunc("GET /v1/responses/{id}", a.Get)
	mux.HandleFunc("DELETE /v1/responses/{id}", a.Delete)
	mux.HandleFunc("POST /v1/responses/{id}/cancel", a.Cancel)
	mux.HandleFunc("GET /v1/responses/{id}/input_items", a.InputItems)
	return &shelf{t, mux, m}, e
}

// as sends a request of somebody with a key, and returns the status and the answer.
func (s *shelf) as(user, key, method, path, body string) (int, string) {
	r := httptest.NewRequest(method, "/v1/responses"+path, strings.NewReader(body))
	w := httptest.NewRecorder()
	s.mux.ServeHTTP(w, r.WithContext(wire.WithCaller(r.Context(), wire.Caller{User: user, Key: key})))
	return w.Code, w.Body.String()
}

type answer struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Store  bool   `json:"store"`
	Output []struct {
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
	} `json:"output"`
}

func (a answer) text() string {
	if len(a.Output) == 0 || len(a.Output[0].Content) == 0 {
		return ""
	}
	return a.Output[0].Content[0].Text
}

func (s *shelf) ann(method, path, body string) (a answer) {
	s.t.Helper()
	status, text := s.as("ann", "k", method, path, body)
	if err := json.Unmarshal([]byte(text), &a); err != nil || status != http.StatusOK {
		s.t.Fatalf("%s %s: %d %s", method, path, status, text)
	}
	return a
}

// TestStored: a client reads and deletes what was stored for it, and nobody else does.
func TestStored(t *testing.T) {
	s, _ := newShelf(t, nil, fake.Step{Text: "one"}, fake.Step{Text: "two"}, fake.Step{Text: "three"})
	asked := s.ann("POST", "", `{"model":"main","input":[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]}`)
	if again := s.ann("GET", "/"+asked.ID, ""); again.text() != "one" || again.Status != "completed" || !again.Store {
		t.Errorf("it is stored as %+v", again)
	}
	for _, c := range []struct{ query, want string }{
		{"", "cba"}, {"?order=asc", "abc"}, {"?order=asc&limit=2", "ab+"}, {"?limit=0", "cba"},
	} {
		_, text := s.as("ann", "k", "GET", "/"+asked.ID+"/input_items"+c.query, "")
		var list struct {
			Data []struct {
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"data"`
			Last string `json:"last_id"`
			More bool   `json:"has_more"`
		}
		if err := json.Unmarshal([]byte(text), &list); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, item := range list.Data {
			got += item.Content[0].Text
		}
		if list.More {
			got += "+"
			_, text = s.as("ann", "k", "GET", "/"+asked.ID+"/input_items?order=asc&after="+list.Last, "")
			if strings.Count(text, `"id"`) != 1 || !strings.Contains(text, `"text":"c"`) {
				t.Errorf("the next page is %s", text)
			}
		}
		if got != c.want {
			t.Errorf("%q: the items are %s, want %s", c.query, got, c.want)
		}
	}
	for _, c := range []struct{ user, key, method, path string }{
		{"bob", "k", "GET", ""}, {"ann", "another", "GET", ""}, {"bob", "b", "DELETE", ""}, {"bob", "b", "POST", "/cancel"},
		{"bob", "b", "GET", "/input_items"},
	} {
		if status, text := s.as(c.user, c.key, c.method, "/"+asked.ID+c.path, ""); status != http.StatusNotFound || !strings.Contains(text, "response_not_found") {
			t.Errorf("%v: %d %s", c, status, text)
		}
	}
	if status, text := s.as("ann", "k", "POST", "/"+asked.ID+"/cancel", ""); status != http.StatusBadRequest {
		t.Errorf("it cannot be cancelled: %d %s", status, text)
	}
	s.ann("DELETE", "/"+asked.ID, "")
	if status, _ := s.as("ann", "k", "GET", "/"+asked.ID, ""); status != http.StatusNotFound {
		t.Errorf("after it was deleted: %d", status)
	}
	for body, stored := range map[string]bool{
		`{"model":"main","input":"x","store":false}`: false,
		`{"model":"main","input":[{"role":"user","content":"x"},{"type":"reasoning","summary":["` + strings.Repeat("x", 5<<20) + `"]}]}`: false,
	} {
		a := s.ann("POST", "", body)
		if status, _ := s.as("ann", "k", "GET", "/"+a.ID, ""); a.Store != stored || status != http.StatusNotFound {
			t.Errorf("%.60s: it says %t, and is answered with %d", body, a.Store, status)
		}
	}
}

// until asks for a response until it has one of some states.
func (s *shelf) until(id string, states ...string) answer {
	s.t.Helper()
	for s.t.Context().Err() == nil {
		if got := s.ann("GET", "/"+id, ""); slices.Contains(states, got.Status) {
			return got
		}
		runtime.Gosched()
	}
	return answer{}
}

var ended = []string{"completed", "failed", "cancelled"}

// TestBackground: a response in the background is asked for until it has ended, can be cancelled, and
// outlives its process if etui keeps the conversation.
func TestBackground(t *testing.T) {
	for name, input := range map[string]string{
		"etui keeps": `"go"`, "the client keeps": `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			wait, kept := make(chan struct{}), &store.Memory{}
			s, _ := newShelf(t, kept, fake.Step{Text: "late", Wait: wait}, fake.Step{Text: "never", Wait: make(chan struct{})})
			body := `{"model":"main","background":true,"input":` + input
			first := s.ann("POST", "", body+"}")
			if first.Status != "queued" && first.Status != "in_progress" {
				t.Errorf("it begins with %+v", first)
			}
			close(wait)
			if got := s.until(first.ID, ended...); got.Status != "completed" || got.text() != "late" {
				t.Errorf("it ends with %+v", got)
			}
			second := s.ann("POST", "", body+"}")
			s.until(second.ID, "in_progress")
			for _, method := range []string{"POST", "GET"} {
				path := "/" + second.ID + map[string]string{"POST": "/cancel"}[method]
				if got := s.ann(method, path, ""); got.Status != "cancelled" {
					t.Errorf("%s: %+v", path, got)
				}
			}
			if status, text := s.as("ann", "k", "POST", "", body+`,"store":false}`); status != http.StatusBadRequest {
				t.Errorf("without store: %d %s", status, text)
			}
		})
	}
	kept := &store.Memory{}
	s, e := newShelf(t, kept, fake.Step{Wait: make(chan struct{})}, fake.Step{Wait: make(chan struct{})})
	var ids []string
	for _, input := range []string{`"go"`, `[{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}]`} {
		ids = append(ids, s.ann("POST", "", `{"model":"main","background":true,"input":`+input+"}").ID)
		s.until(ids[len(ids)-1], "in_progress")
	}
	now, cancel := context.WithCancel(t.Context())
	cancel()
	e.Stop(now)
	s, _ = newShelf(t, kept, fake.Step{Text: "in another process"})
	if got := s.ann("GET", "/"+ids[1], ""); got.Status != "failed" {
		t.Errorf("the one whose conversation nobody keeps: %+v", got)
	}
	if got := s.until(ids[0], ended...); got.Status != "completed" || got.text() != "in another process" {
		t.Errorf("the other one: %+v", got)
	}
}

// TestBackgroundStreams: the events of a response in the background can be followed.
func TestBackgroundStreams(t *testing.T) {
	s, _ := newShelf(t, nil, fake.Step{Text: "Looking."}, fake.Step{Calls: []chat.Call{}, Text: "x"})
	_, body := s.as("ann", "k", "POST", "", `{"model":"main","background":true,"stream":true,"input":"go"}`)
	if !strings.Contains(body, "event: response.completed") || !strings.Contains(body, `"background":true`) {
		t.Error(body)
	}
	id := body[strings.Index(body, `"id":"resp_`)+6:]
	if got := s.ann("GET", "/"+id[:37], ""); got.text() != "Looking." {
		t.Errorf("it is stored as %+v", got)
	}
}

// TestReasoning: a client that keeps the conversation gets what the provider wants back with the calls,
// and nobody else can bring it.
func TestReasoning(t *testing.T) {
	step := fake.Step{Calls: []chat.Call{fake.Call("1", "read_file", `{}`)}, State: []byte(`{"reasoning_content":"a thought"}`)}
	for _, stream := range []string{"false", "true"} {
		for name, c := range map[string]struct {
			include, user string
			change        func(string) string
			want          bool
		}{
			"brought back": {include: `,"include":["reasoning.encrypted_content"]`, user: "ann", want: true},
			"by bob":       {include: `,"include":["reasoning.encrypted_content"]`, user: "bob"},
			"changed": {include: `,"include":["reasoning.encrypted_content"]`, user: "ann", change: func(s string) string {
				return strings.ToLower(s)
			}},
			"not asked for": {user: "ann"},
		} {
			s, _ := newShelf(t, nil, step, fake.Step{Text: "Read."})
			head := `{"model":"main","store":false,"stream":` + stream + c.include + `,"tools":[{"type":"function","name":"read_file"}],"input":`
			_, body := s.as("ann", "k", "POST", "", head+`[{"role":"user","content":"go"}]}`)
			found := regexp.MustCompile(`"type":"reasoning","id":"rs_[^"]+","summary":\[\],"encrypted_content":"([^"]+)"`).FindStringSubmatch(body)
			if (found != nil) != (c.include != "") || strings.Contains(body, "a thought") {
				t.Fatalf("%s: the client reads %s", name, body)
			}
			content := ""
			if found != nil {
				content = found[1]
			}
			if c.change != nil {
				content = c.change(content)
			}
			// The ID of the call is another one: etui has kept nothing of it.
			_, body = s.as(c.user, "k", "POST", "", head+`[{"role":"user","content":"go"},{"type":"reasoning","summary":[],"encrypted_content":"`+content+
				`"},{"type":"function_call","call_id":"c","name":"read_file","arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"X"}]}`)
			if !strings.Contains(body, "Read.") {
				t.Fatalf("%s: %s", name, body)
			}
			got := s.model.Requests()[1].Messages[1]
			if (got.StateOf == "fake" && string(got.State) == string(step.State)) != c.want || got.State != nil && !c.want {
				t.Errorf("%s: the model gets %s of %q", name, got.State, got.StateOf)
			}
		}
	}
}
