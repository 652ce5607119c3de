package responses_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/responses"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/tool"
)

// newAPI returns the API of an engine with the tool echo, and its model.
func newAPI(tb testing.TB, steps ...fake.Step) (*responses.API, *fake.Model) {
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
	return responses.New(e, wire.NewModels(e, nil)), m
}

func post(a *responses.API, body string) (int, string) {
	w := httptest.NewRecorder()
	a.Create(w, httptest.NewRequest(http.MethodPost, "/v1/responses", strings.NewReader(body)))
	return w.Code, w.Body.String()
}

const tools = `{"type":"function","name":"read_file","parameters":{"type":"object"},"strict":false},{"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark","definition":"start: x"}},{"type":"namespace","name":"mcp","tools":[{"type":"function","name":"look","parameters":{"type":"object"}}]},{"type":"web_search"}`

// calls are of tools of etui, and of each kind that a client brings.
func calls() fake.Step {
	return fake.Step{Text: "Looking.", Usage: model.Tokens{Input: 5, Output: 2}, Calls: []chat.Call{
		fake.Call("1", "echo", `{"word":"a"}`), fake.Call("2", "read_file", `{"path":"x"}`), fake.Call("3", "apply_patch", `{"input":"*** Begin"}`), fake.Call("4", "mcp__look", `{}`),
	}}
}

var callID = regexp.MustCompile(`"call_id":"(call_[^"]+)"`)

// results writes outputs for the calls of an answer, with the calls before them if the client keeps
// the conversation.
func results(body string, keeps bool) string {
	var ids []string
	for _, m := range callID.FindAllStringSubmatch(body, -1) {
		if !slices.Contains(ids, m[1]) {
			ids = append(ids, m[1])
		}
	}
	text := ""
	if keeps {
		text = fmt.Sprintf(`{"type":"message","role":"user","content":"go"},{"type":"reasoning","id":"r","summary":[]},{"type":"message","role":"assistant","content":[{"type":"output_text","text":"Looking."}]},{"type":"function_call","call_id":%q,"name":"read_file","arguments":"{}"},{"type":"custom_tool_call","call_id":%q,"name":"apply_patch","input":"*** Begin"},{"type":"function_call","call_id":%q,"namespace":"mcp","name":"look","arguments":""},`, ids[0], ids[1], ids[2])
	}
	return text + fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"X"},{"type":"custom_tool_call_output","call_id":%q,"output":[{"type":"input_text","text":"Y"}]},{"type":"function_call_output","call_id":%q,"output":"Z"}`, ids[0], ids[1], ids[2])
}

// TestTools: a turn goes on with the outputs of the client's tools, whoever keeps the conversation.
func TestTools(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		for _, stream := range []bool{false, true} {
			a, m := newAPI(t, calls(), fake.Step{Text: "Read."})
			head := fmt.Sprintf(`{"model":"main","stream":%t,"store":%t,"tools":[%s],"instructions":"Be kind."`, stream, !keeps, tools)
			status, body := post(a, head+`,"input":"go"}`)
			if status != 200 {
				t.Fatalf("%d %s", status, body)
			}
			for _, part := range []string{
				`"type":"custom_tool_call","id":"ctc_call_`, `"input":"*** Begin"`, `"name":"look","namespace":"mcp"`, `"arguments":"{\"path\":\"x\"}"`, `"status":"completed"`, `"total_tokens":7`,
			} {
				if !strings.Contains(body, part) {
					t.Errorf("no %s in %s", part, body)
				}
			}
			if stream {
				checkStream(t, body)
			}
			previous := ""
			if !keeps {
				previous = `,"previous_response_id":` + fmt.Sprintf("%q", regexp.MustCompile(`"id":"(resp_[^"]+)"`).FindStringSubmatch(body)[1])
			}
			status, body = post(a, head+previous+`,"input":[`+results(body, keeps)+`]}`)
			if status != 200 || !strings.Contains(body, "Read.") {
				t.Fatalf("keeps %t stream %t: %d %s", keeps, stream, status, body)
			}
			var got []string
			for _, said := range m.Requests()[1].Messages {
				if said.Result != nil {
					got = append(got, said.Result.Text)
				}
			}
			if strings.Join(got, ",") != "a,X,Y,Z" {
				t.Errorf("the model reads the results %q", got)
			}
		}
	}
}

// checkStream: events are numbered, each item begins and ends, and the last event has the response.
func checkStream(t *testing.T, body string) {
	t.Helper()
	var order []string
	for i, event := range strings.Split(strings.TrimSpace(body), "\n\n") {
		name, data, _ := strings.Cut(event, "\ndata: ")
		var f struct {
			Type     string `json:"type"`
			Sequence int    `json:"sequence_number"`
		}
		if err := json.Unmarshal([]byte(data), &f); err != nil || f.Sequence != i || name != "event: "+f.Type {
			t.Errorf("event %d: %s", i, event)
		}
		order = append(order, strings.TrimPrefix(f.Type, "response."))
	}
	item := func(kind string) string {
		return "output_item.added " + kind + ".delta " + kind + ".done output_item.done "
	}
	want := "created in_progress output_item.added content_part.added output_text.delta output_text.done content_part.done output_item.done " +
		item("function_call_arguments") + item("custom_tool_call_input") + item("function_call_arguments") + "completed"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("the events are\n%s\nwant\n%s", got, want)
	}
}

// TestKept: etui keeps a conversation that begins with one message, and goes on with it for its sender
// alone.
func TestKept(t *testing.T) {
	a, m := newAPI(t, fake.Step{Text: "first"}, fake.Step{Text: "second"}, fake.Step{Text: "third"}, fake.Step{Text: "fourth"})
	_, body := post(a, `{"model":"main","input":"one","text":{"format":{"type":"json_schema","name":"n","schema":{}}}}`)
	id := regexp.MustCompile(`"id":"(resp_[^"]+)"`).FindStringSubmatch(body)[1]
	if got := string(m.Requests()[0].Format); !strings.Contains(got, `"json_schema":{"name":"n"`) {
		t.Errorf("the format is %s", got)
	}
	if _, body := post(a, `{"model":"main","input":"two","previous_response_id":"`+id+`"}`); !strings.Contains(body, "second") || len(m.Requests()[1].Messages) != 3 {
		t.Errorf("%s: %d messages", body, len(m.Requests()[1].Messages))
	}
	for _, body := range []string{
		`{"model":"main","input":"two","user":"eve","previous_response_id":"` + id + `"}`,
		`{"model":"main","input":"two","previous_response_id":"resp_1"}`,
		`{"model":"main","input":"two","previous_response_id":"resp_AAAAAAAAAAAAAAAAAAAAAAAA"}`,
	} {
		if status, answer := post(a, body); status != 400 || !strings.Contains(answer, `"code":"previous_response_not_found"`) {
			t.Errorf("%s: %d %s", body, status, answer)
		}
	}
	for range 2 {
		post(a, `{"model":"main","input":"hi","conversation":{"id":"c"}}`)
	}
	if n := len(m.Requests()[3].Messages); n != 3 {
		t.Errorf("the conversation has %d messages, want 3", n)
	}
}

func TestRefusals(t *testing.T) {
	for body, want := range map[string]string{
		`{"model":"mian","input":"x"}`:                                                                         `404 {"error":{"message":"agent`,
		`{"model":"main","input":"x","background":true,"store":false}`:                                         `"param":"background"`,
		`{"model":"main","input":[]}`:                                                                          `400`,
		`{"model":"main","input":[{"type":"function_call_output","call_id":"c","output":"x"}]}`:                `"param":"input[0]"`,
		`{"model":"main","input":[{"role":"robot","content":"x"}]}`:                                            `"param":"input[0]"`,
		`{"model":"main","input":"x","tools":[1]}`:                                                             `"param":"tools[0]"`,
		`{"model":"main","input":"x","tools":[` + tools + `],"tool_choice":"some"}`:                            `"param":"tool_choice"`,
		`{"model":"main","input":"` + strings.Repeat("x", 2000) + `"}`:                                         `"code":"context_length_exceeded"`,
		`{"model":"main","input":[{"role":"user","content":[{"type":"input_image","image_url":"http://a"}]}]}`: `"code":"invalid_image_url"`,
	} {
		a, _ := newAPI(t)
		status, answer := post(a, body)
		if got := fmt.Sprint(status, " ", answer); !strings.Contains(got, want) {
			t.Errorf("%.80s: %s, want %s", body, got, want)
		}
	}
}

// FuzzResponses: no request makes the codec panic, and every refusal has OpenAI's form.
func FuzzResponses(f *testing.F) {
	f.Add(`{"model":"main","input":"x","tools":[` + tools + `],"tool_choice":{"type":"custom","name":"apply_patch"}}`)
	f.Add(`{"stream":true,"store":false,"conversation":"c","input":[{"role":"user","content":[{"type":"input_file","filename":"a","file_data":"data:text/plain;base64,eA=="}]},{"type":"custom_tool_call","call_id":"c","name":"f","input":"{"},{"type":"custom_tool_call_output","call_id":"c","output":{"a":1}}]}`)
	a, _ := newAPI(f)
	f.Fuzz(func(t *testing.T, body string) {
		status, answer := post(a, body)
		var p wire.Problem
		if status >= 400 && (json.Unmarshal([]byte(answer), &p) != nil || p.Error.Message == "") {
			t.Errorf("%d %s", status, answer)
		}
	})
}
