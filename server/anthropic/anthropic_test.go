package anthropic_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/tool"
)

// newAPI returns the API of an engine with the tool echo, and its model.
func newAPI(tb testing.TB, steps ...fake.Step) (*anthropic.API, *fake.Model) {
	tb.Helper()
	r := catalog.NewRegistry(nil)
	type word struct {
		Word string `json:"word"`
	}
	if err := r.Register(tool.Func(tool.Definition{Name: "echo", Risk: tool.Read}, func(_ context.Context, w word) (string, error) { return w.Word, nil })); err != nil {
		tb.Fatal(err)
	}
	m := fake.New(steps...)
	e, err := engine.New(engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: m}}, MaxMessage: 1000})
	if err != nil {
		tb.Fatal(err)
	}
	return anthropic.New(e, wire.NewModels(e, map[string]string{"claude-sonnet-5": "main"})), m
}

func post(handle http.HandlerFunc, body string) (int, string) {
	w := httptest.NewRecorder()
	handle(w, httptest.NewRequest(http.MethodPost, "/v1/messages", strings.NewReader(body)))
	return w.Code, w.Body.String()
}

const readFile = `{"name":"read_file","description":"Read","input_schema":{"type":"object","properties":{"path":{"type":"string"}}}}`

var callID = regexp.MustCompile(`"id":"(call_[^"]+)"`)

// TestTools: etui runs its own calls and hands those of the client over; the client sends back what it
// saw, with a reminder beside the result, and the answer follows.
func TestTools(t *testing.T) {
	for _, stream := range []bool{false, true} {
		a, m := newAPI(t, fake.Step{Text: "Looking.", Calls: []chat.Call{
			fake.Call("1", "echo", `{"word":"a"}`), fake.Call("2", "read_file", `{"path":"x"}`),
		}, Usage: model.Tokens{Input: 10, CacheRead: 4, Output: 3}}, fake.Step{Text: "Read."})
		ask := func(messages string) (int, string) {
			return post(a.Messages, fmt.Sprintf(`{"model":"claude-sonnet-5","max_tokens":100,"stream":%t,"tools":[%s,{"type":"web_search_20250305","name":"web_search"}],
				"system":[{"type":"text","text":"x-anthropic-billing-header: cc"},{"type":"text","text":"Be kind."}],"messages":[{"role":"user","content":"read x"}%s]}`, stream, readFile, messages))
		}
		status, body := ask("")
		ids := callID.FindAllStringSubmatch(body, -1)
		if status != 200 || len(ids) != 1 {
			t.Fatalf("%d %s", status, body)
		}
		want := []string{`"stop_reason":"tool_use"`, `"usage":{"input_tokens":6,"cache_creation_input_tokens":0,"cache_read_input_tokens":4,"output_tokens":3}`, `"input":{"path":"x"}`}
		if stream {
			want = []string{
				"event: message_start\n", "event: content_block_start\ndata: " + `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
				`"delta":{"type":"text_delta","text":"Looking."}`, `{"type":"content_block_stop","index":0}`, `"index":1,"content_block":{"type":"tool_use"`,
				`"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"x\"}"}`, `"delta":{"stop_reason":"tool_use"`, "event: message_stop\n",
			}
		}
		for _, part := range want {
			if !strings.Contains(body, part) {
				t.Errorf("no %s in %s", part, body)
			}
		}
		status, body = ask(fmt.Sprintf(`,{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"text","text":"Looking."},{"type":"tool_use","id":%q,"name":"read_file","input":{}}]},
			{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":[{"type":"text","text":"X"}]},{"type":"text","text":"<system-reminder>be quick</system-reminder>"}]}`, ids[0][1], ids[0][1]))
		if status != 200 || !strings.Contains(body, "Read.") || !strings.Contains(body, `"stop_reason":"end_turn"`) {
			t.Fatalf("%d %s", status, body)
		}
		r := m.Requests()[1]
		var results []string
		for _, said := range r.Messages {
			if said.Result != nil {
				results = append(results, said.Result.Text)
			}
		}
		if got := strings.Join(results, ","); got != "a,X\n\n<system-reminder>be quick</system-reminder>" {
			t.Errorf("the model reads the results %q", got)
		}
		if !strings.HasSuffix(r.System, "Be kind.") || strings.Contains(r.System, "billing") {
			t.Errorf("the instructions are %q", r.System)
		}
	}
}

// TestRefusals: what cannot be done is refused in the form of Anthropic's API.
func TestRefusals(t *testing.T) {
	user := `"max_tokens":5,"messages":[{"role":"user","content":"x"}]`
	for body, want := range map[string]string{
		`{`:                              `400 {"type":"error","error":{"type":"invalid_request_error"`,
		`{"model":"other",` + user + `}`: `404 {"type":"error","error":{"type":"not_found_error"`,
		`{"model":"main","messages":[]}`: `400 {"type":"error","error":{"type":"invalid_request_error"`,
		`{"model":"main","messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"c"}]}]}`:                  `has the call \"c\"`,
		`{"model":"main","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","url":"http://a"}}]}]}`: `there is no web_fetch`,
		`{"model":"main","messages":[{"role":"user","content":"` + strings.Repeat("x", 2000) + `"}]}`:                         `400 {"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long`,
		`{"model":"main","tools":[` + readFile + `],"tool_choice":{"type":"tool","name":"b"},` + user + `}`:                   `not among its tools`,
		`{"model":"main","temperature":7,` + user + `}`:                                                                       `temperature`,
		`{"model":"main",` + user + `}`: `502 {"type":"error","error":{"type":"api_error"`,
	} {
		a, _ := newAPI(t, fake.Step{Err: &model.Error{Kind: model.ErrUnavailable}})
		status, answer := post(a.Messages, body)
		if got := fmt.Sprint(status, " ", answer); !strings.Contains(got, want) {
			t.Errorf("%.80s: %s, want %s", body, got, want)
		}
	}
}

func TestCountTokens(t *testing.T) {
	a, _ := newAPI(t)
	body := `{"model":"main","system":"Be kind.","messages":[{"role":"user","content":"` + strings.Repeat("word ", 100) + `"}],"tools":[` + readFile + `]}`
	status, answer := post(a.CountTokens, body)
	var n struct {
		Tokens int `json:"input_tokens"`
	}
	if err := json.Unmarshal([]byte(answer), &n); err != nil || status != 200 || n.Tokens < 100 || n.Tokens > 300 {
		t.Errorf("%d %s", status, answer)
	}
}

// FuzzMessages: no request makes the codec panic, and every refusal has Anthropic's form.
func FuzzMessages(f *testing.F) {
	f.Add(`{"model":"main","max_tokens":1,"tools":[` + readFile + `],"tool_choice":{"type":"any"},"messages":[{"role":"user","content":"x"}]}`)
	f.Add(`{"stream":true,"system":"s","messages":[{"role":"user","content":[{"type":"document","source":{"type":"text","data":"x"}}]},{"role":"assistant","content":[{"type":"tool_use","id":"c","name":"f","input":1}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c","content":"z"}]}]}`)
	a, _ := newAPI(f)
	f.Fuzz(func(t *testing.T, body string) {
		status, answer := post(a.Messages, body)
		var p struct {
			Error struct{ Type, Message string } `json:"error"`
		}
		if status >= 400 && (json.Unmarshal([]byte(answer), &p) != nil || p.Error.Type == "" || p.Error.Message == "") {
			t.Errorf("%d %s", status, answer)
		}
	})
}

// TestNested: the time of a request grows with its length, not with the depth of contents in contents,
// which nobody reads. It would take minutes.
func TestNested(t *testing.T) {
	const depth = 4500
	a, _ := newAPI(t, fake.Step{Text: "ok"})
	content := strings.Repeat(`{"type":"x","content":[`, depth) + `"` + strings.Repeat("x", 1<<20) + `"` + strings.Repeat(`]}`, depth)
	if status, body := post(a.Messages, `{"model":"main","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"},`+content+`]}]}`); status != http.StatusOK {
		t.Errorf("%d %s", status, body)
	}
}
