package openai_test

import (
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
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/wire"
)

// readFile is a tool of the client.
const readFile = `{"type":"function","function":{"name":"read_file","description":"Read","parameters":{"type":"object","properties":{"path":{"type":"string"}}}}}`

// callID finds the ID of a call in an answer.
var callID = regexp.MustCompile(`"id":"(call_[^"]+)"`)

// TestTools: etui runs its own calls and hands those of the client over; the client sends back what
// it saw, and the answer follows, streamed or not.
func TestTools(t *testing.T) {
	for _, stream := range []bool{false, true} {
		a, m := newAPI(t, fake.Step{Text: "Looking.", Calls: []chat.Call{
			fake.Call("1", "echo", `{"word":"a"}`), fake.Call("2", "read_file", `{"path":"x"}`), fake.Call("3", "read_file", `{"path":"y"}`),
		}}, fake.Step{Text: "Read."})
		ask := func(messages string) (int, string) {
			return complete(a, fmt.Sprintf(`{"model":"main","stream":%t,"tools":[%s],"messages":[{"role":"user","content":"read x and y"}%s]}`, stream, readFile, messages))
		}
		status, body := ask("")
		ids := callID.FindAllStringSubmatch(body, -1)
		if status != 200 || len(ids) != 2 || !strings.Contains(body, `"finish_reason":"tool_calls"`) {
			t.Fatalf("%d %s", status, body)
		}
		want := `"tool_calls":[{"id":"` + ids[0][1] + `","type":"function","function":{"name":"read_file","arguments":"{\"path\":\"x\"}"}}`
		if stream {
			want = `"tool_calls":[{"index":1,"function":{"arguments":"{\"path\":\"y\"}"}}]`
		}
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
		status, body = ask(fmt.Sprintf(`,{"role":"assistant","content":"Looking.","tool_calls":[{"id":%q,"type":"function","function":{"name":"read_file","arguments":"{"}},{"id":%q,"type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":%q,"content":[{"type":"text","text":"X"}]},{"role":"tool","tool_call_id":%q,"content":"Y"}`,
			ids[0][1], ids[1][1], ids[0][1], ids[1][1]))
		if status != 200 || !strings.Contains(body, "Read.") || !strings.Contains(body, `"finish_reason":"stop"`) {
			t.Fatalf("%d %s", status, body)
		}
		r := m.Requests()[1]
		var results []string
		for _, said := range r.Messages {
			if said.Result != nil {
				results = append(results, said.Result.Text)
			}
		}
		if got := strings.Join(results, ","); got != "a,X,Y" {
			t.Errorf("the model reads the results %s, want a,X,Y", got)
		}
	}
}

// TestToolChoice: what a client says about its tools reaches the model.
func TestToolChoice(t *testing.T) {
	for choice, want := range map[string]string{
		`"auto"`: "false  false 1", `"none"`: "false  false 0", `"required"`: "true  false 1",
		`{"type":"function","function":{"name":"read_file"}}`:                                                       "false read_file false 1",
		`{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[{"type":"function","name":"other"}]}}`: "false  false 0",
		`"auto","parallel_tool_calls":false`:                                                                        "false  true 1",
	} {
		a, m := newAPI(t, fake.Step{Text: "ok"})
		if status, body := complete(a, `{"model":"main","tools":[`+readFile+`],"tool_choice":`+choice+`,"messages":[{"role":"user","content":"x"}]}`); status != 200 {
			t.Errorf("%s: %d %s", choice, status, body)
			continue
		}
		r, n := m.Requests()[0], 0
		for _, d := range r.Tools {
			if d.Name == "read_file" {
				n++
			}
		}
		if got := fmt.Sprint(r.Required, " ", r.Only, " ", r.Serial, " ", n); got != want {
			t.Errorf("%s: %s, want %s", choice, got, want)
		}
	}
}

// TestLenient: what other libraries send works.
func TestLenient(t *testing.T) {
	user := `"messages":[{"role":"user","content":"x"}]`
	for name, body := range map[string]string{
		"a choice without tools":          `{"model":"main","tool_choice":"required",` + user + `}`,
		"n":                               `{"model":"main","n":1,"logprobs":true,"top_logprobs":3,` + user + `}`,
		"penalties":                       `{"model":"main","frequency_penalty":0.5,"logit_bias":{"5":1},"reasoning_effort":"low","verbosity":"low",` + user + `}`,
		"five stops":                      `{"model":"main","stop":["a","b","c","d","e"],` + user + `}`,
		"an alias":                        `{"model":"gpt-5",` + user + `}`,
		"a prefix":                        `{"model":"openai/main",` + user + `}`,
		"a prefix before an alias":        `{"model":"etui/gpt-5",` + user + `}`,
		"the beginning of an answer":      `{"model":"main","messages":[{"role":"user","content":"x"},{"role":"assistant","content":"It is"}]}`,
		"a refusal":                       `{"model":"main","messages":[{"role":"user","content":"x"},{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]},{"role":"user","content":"y"}]}`,
		"the older form of calls":         `{"model":"main","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}},{"role":"function","name":"f","content":"z"},{"role":"user","content":"y"}]}`,
		"a refusal in its field":          `{"model":"main","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"refusal":"no"},{"role":"user","content":"y"}]}`,
		"instructions at the end":         `{"model":"main","messages":[{"role":"user","content":"x"},{"role":"developer","content":"y"}]}`,
		"calls of another model's answer": `{"model":"main","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":""}}]},{"role":"tool","tool_call_id":"c","content":"z"},{"role":"user","content":"y"}]}`,
	} {
		a, m := newAPI(t, fake.Step{Text: "ok"})
		if status, answer := complete(a, body); status != 200 {
			t.Errorf("%s: %d %s", name, status, answer)
			continue
		}
		if r := m.Requests()[0]; name == "penalties" && len(r.Extra) != 4 {
			t.Errorf("the model gets %v", r.Extra)
		}
	}
}

// FuzzCompletions: no request makes the codec panic, and every refusal has OpenAI's form.
func FuzzCompletions(f *testing.F) {
	f.Add(`{"model":"main","tools":[` + readFile + `],"tool_choice":{"type":"function","function":{"name":"read_file"}},"messages":[{"role":"user","content":"x"}]}`)
	f.Add(`{"messages":[{"role":"user","content":[{"type":"text","text":"x"}]},{"role":"assistant","tool_calls":[{"id":"c","function":{"name":"f","arguments":"{"}}]},{"role":"tool","tool_call_id":"c","content":"z"}]}`)
	f.Add(`{"model":"a/","stream":true,"stop":[],"response_format":{"type":"json_schema"},"messages":[{"role":"system"},{"role":"assistant","content":"p"}]}`)
	e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: fake.New()}}})
	if err != nil {
		f.Fatal(err)
	}
	a := openai.New(e, wire.NewModels(e, nil))
	f.Fuzz(func(t *testing.T, body string) {
		w := httptest.NewRecorder()
		a.Completions(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		var p wire.Problem
		if w.Code >= 400 && (json.Unmarshal(w.Body.Bytes(), &p) != nil || p.Error.Message == "") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
	})
}

// BenchmarkTools measures what 200 tools of a client add to a request.
func BenchmarkTools(b *testing.B) {
	for _, n := range []int{0, 200} {
		b.Run(fmt.Sprint(n, " tools"), func(b *testing.B) {
			var tools []string
			for i := range n {
				tools = append(tools, strings.Replace(readFile, "read_file", fmt.Sprintf("read_file_%d", i), 1))
			}
			body := `{"model":"main","tools":[` + strings.Join(tools, ",") + `],"messages":[{"role":"user","content":"x"}]}`
			m := fake.New()
			e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}}})
			if err != nil {
				b.Fatal(err)
			}
			a := openai.New(e, wire.NewModels(e, nil))
			for b.Loop() {
				m.Add(fake.Step{Text: "ok"})
				if status, answer := complete(a, body); status != 200 {
					b.Fatal(status, answer)
				}
			}
		})
	}
}
