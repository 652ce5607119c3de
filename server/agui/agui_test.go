package agui_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ag-ui-protocol/ag-ui/sdks/community/go/pkg/core/events"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/tool"
)

// serve serves an agent whose tool delete waits for an approval.
func serve(tb testing.TB, cfg server.Config, steps ...fake.Step) *server.Server {
	tb.Helper()
	r := catalog.NewRegistry(nil)
	if err := r.Register(
		tool.Func(tool.Definition{Name: "delete", Risk: tool.Destructive}, func(context.Context, struct{}) (string, error) { return "gone", nil }),
		tool.Func(tool.Definition{Name: "look", Risk: tool.Read}, func(context.Context, struct{}) (string, error) { return "seen", nil }),
	); err != nil {
		tb.Fatal(err)
	}
	c := engine.Config{Registry: r, Agents: []engine.Agent{{Name: "main", Model: fake.New(steps...)}}}
	c.Turn.Approvals = true
	c.Turn.Decide = func(_ context.Context, a rules.Attempt) rules.Decision {
		if a.Entry != nil && a.Entry.Definition.Name == "delete" {
			return rules.Decision{Effect: rules.Ask}
		}
		return rules.Decision{Effect: rules.Allow}
	}
	e, err := engine.New(c)
	if err != nil {
		tb.Fatal(err)
	}
	return server.New(e, cfg)
}

func post(s http.Handler, body string) (int, string) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "http://localhost/agui/main", strings.NewReader(body)))
	return w.Code, w.Body.String()
}

// run returns the kinds of the events of a run, in order, and the events. They must follow each other
// as the protocol has it.
func run(t *testing.T, s http.Handler, id, rest string) (kinds []events.EventType, all []events.Event) {
	t.Helper()
	code, body := post(s, fmt.Sprintf(`{"threadId":"t","runId":%q,"state":{},"context":[],"forwardedProps":{},%s}`, id, rest))
	if code != http.StatusOK {
		t.Fatal(code, body)
	}
	for line := range strings.Lines(body) {
		data, ok := strings.CutPrefix(strings.TrimSpace(line), "data: ")
		if !ok {
			continue
		}
		e, err := events.EventFromJSON([]byte(data))
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		kinds, all = append(kinds, e.Type()), append(all, e)
	}
	if err := events.ValidateSequence(all); err != nil {
		t.Errorf("%v: %v", kinds, err)
	}
	return kinds, all
}

const tools = `"tools":[{"name":"paint","description":"paints the page","parameters":{"type":"object","properties":{"color":{"type":"string"}}}}]`

// TestRun: etui's calls are shown with their results, and those of the page's tools are handed to it.
func TestRun(t *testing.T) {
	knows := func(r model.Request) error {
		last := r.Messages[len(r.Messages)-1]
		if last.Result == nil || last.Result.Text != "it is red" {
			return fmt.Errorf("the last message is %+v", last)
		}
		return nil
	}
	s := serve(
		t, server.Config{AGUI: true},
		fake.Step{Text: "I look.", Calls: []chat.Call{fake.Call("1", "look", "{}")}},
		fake.Step{Text: "I paint.", Calls: []chat.Call{fake.Call("2", "paint", `{"color":"red"}`)}},
		fake.Step{Text: "Done.", Check: knows},
	)
	const user = `{"id":"1","role":"user","content":"paint it red"}`
	kinds, all := run(t, s, "r1", tools+`,"messages":[`+user+`]`)
	text := []events.EventType{events.EventTypeTextMessageStart, events.EventTypeTextMessageContent, events.EventTypeTextMessageEnd}
	call := []events.EventType{events.EventTypeToolCallStart, events.EventTypeToolCallArgs, events.EventTypeToolCallEnd}
	want := slices.Concat(
		[]events.EventType{events.EventTypeRunStarted}, text, call, []events.EventType{events.EventTypeToolCallResult}, text, call, []events.EventType{events.EventTypeRunFinished},
	)
	if !slices.Equal(kinds, want) {
		t.Fatalf("got %v", kinds)
	}
	handed, ok := all[len(all)-4].(*events.ToolCallStartEvent)
	if !ok || handed.ToolCallName != "paint" {
		t.Fatalf("got %+v", all[len(all)-4])
	}
	asked, _ := json.Marshal(map[string]any{"id": "2", "role": "assistant", "content": "I paint.", "toolCalls": []any{
		map[string]any{"id": handed.ToolCallID, "type": "function", "function": map[string]string{"name": "paint", "arguments": "{}"}},
	}})
	result, _ := json.Marshal(map[string]any{"id": "3", "role": "tool", "toolCallId": handed.ToolCallID, "content": "it is red"})
	kinds, all = run(t, s, "r2", tools+`,"messages":[`+user+`,`+string(asked)+`,`+string(result)+`]`)
	if said, ok := all[2].(*events.TextMessageContentEvent); !ok || said.Delta != "Done." || kinds[len(kinds)-1] != events.EventTypeRunFinished {
		t.Errorf("got %v", kinds)
	}
}

// TestApproval: a call that waits for a person interrupts the run.
func TestApproval(t *testing.T) {
	s := serve(t, server.Config{AGUI: true}, fake.Step{Calls: []chat.Call{fake.Call("1", "delete", "{}")}})
	_, all := run(t, s, "r1", `"tools":[],"messages":[{"id":"1","role":"user","content":"delete it"}]`)
	end, ok := all[len(all)-1].(*events.RunFinishedEvent)
	if raw, _ := json.Marshal(end); !ok || !strings.Contains(string(raw), `"reason":"approval"`) || !strings.Contains(string(raw), "delete") {
		t.Errorf("got %s", raw)
	}
}

func TestRefusals(t *testing.T) {
	if code, body := post(serve(t, server.Config{}), `{}`); code != http.StatusNotFound || !strings.Contains(body, "api.agui") {
		t.Errorf("off: %d %s", code, body)
	}
	web := httptest.NewServer(serve(t, server.Config{AGUI: true, Key: "secret"}))
	defer web.Close()
	res, err := http.Post(web.URL+"/agui/main", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a key: %s", res.Status)
	}
	s := serve(t, server.Config{AGUI: true})
	for body, want := range map[string]string{
		`{"threadId":"t"}`: "runId",
		`{"threadId":"t","runId":"r","messages":[{"role":"tool","toolCallId":"call_1","content":"x"}]}`:                                               "messages[0]",
		`{"threadId":"t","runId":"r","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url","value":"http://127.0.0.1/x"}}]}]}`: "fetches no address",
		`{"threadId":"t","runId":"r","messages":[{"role":"king","content":"x"}]}`:                                                                     "role",
		`{"threadId":"t","runId":"r","messages":[{"role":"user","content":"x"}],"tools":[{"name":"a b"}]}`:                                            "tools",
		`{"threadId":"t","runId":"r","messages":[]}`:                                                                                                  "no message",
		`[]`: "not the input of a run",
	} {
		if code, body := post(s, body); code != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", want, code, body)
		}
	}
}

// FuzzServe: no request makes it fail.
func FuzzServe(f *testing.F) {
	for _, body := range []string{
		`{"threadId":"t","runId":"r","messages":[{"id":"1","role":"user","content":[{"type":"text","text":"x"},{"type":"binary","mimeType":"text/plain","data":"eA=="}]}],"tools":[{"name":"a","parameters":{}}]}`,
		`{"thread_id":"t","run_id":"r","messages":[{"role":"assistant","tool_calls":[{"id":"1","function":{"name":"a"}}]},{"role":"tool","tool_call_id":"1","content":"x"}]}`, `null`, `{"messages":null}`,
	} {
		f.Add(body)
	}
	s := serve(f, server.Config{AGUI: true})
	f.Fuzz(func(t *testing.T, body string) {
		if code, out := post(s, body); code >= http.StatusInternalServerError && code != http.StatusBadGateway { // the model has no answers
			t.Errorf("%q: %d %s", body, code, out)
		}
	})
}
