package anthropic_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	claude "github.com/etui-run/etui/model/anthropic"
	"github.com/etui-run/etui/model/modeltest"
	"github.com/etui-run/etui/server/anthropic"
	"github.com/etui-run/etui/server/wire"
)

// thinks is an answer of a provider with thoughts, and with a call if its name is not empty.
func thinks(call string) modeltest.Reply {
	events := []string{
		`{"type":"message_start","message":{"usage":{"input_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"I need "}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"it."}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"eHl6"}}`,
		`{"type":"content_block_stop","index":1}`,
		`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"So."}}`,
	}
	if call != "" {
		events = append(events, `{"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"a","name":"`+call+`","input":{}}}`,
			`{"type":"content_block_stop","index":3}`)
	}
	events = append(events, `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}`, `{"type":"message_stop"}`)
	return modeltest.Reply{Raw: "data: " + strings.Join(events, "\n\ndata: ") + "\n\n"}
}

// TestThinking: a client that asks for thoughts gets them as the provider signed them, streamed or not, and
// a model of the API gets those back that the client brings.
func TestThinking(t *testing.T) {
	s := modeltest.Anthropic(thinks(""), thinks(""), thinks(""), thinks("read_file"), thinks(""), thinks(""))
	defer s.Close()
	m, err := claude.New(claude.Config{Model: "claude-test", BaseURL: s.URL, APIKey: modeltest.Key, Retries: -1, Transport: s.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Config{Registry: catalog.NewRegistry(nil), Agents: []engine.Agent{{Name: "main", Model: m}}})
	if err != nil {
		t.Fatal(err)
	}
	a := anthropic.New(e, wire.NewModels(e, nil))
	ask := func(rest, messages string) string {
		status, body := post(a.Messages, `{"model":"main","max_tokens":2000,"tools":[`+readFile+`]`+rest+`,"messages":[{"role":"user","content":"go"}`+messages+`]}`)
		if status != http.StatusOK {
			t.Fatalf("%d %s", status, body)
		}
		return body
	}
	const wants = `,"thinking":{"type":"enabled","budget_tokens":1024}`
	const thoughts = `{"type":"thinking","thinking":"I need it.","signature":"c2ln"},{"type":"redacted_thinking","data":"eHl6"}`
	if body := ask("", ""); strings.Contains(body, "thinking") {
		t.Errorf("a client that does not ask for thoughts reads %s", body)
	}
	if body := ask(wants, ""); !strings.Contains(body, `"content":[`+thoughts+`,{"type":"text","text":"So."}]`) {
		t.Errorf("the answer is %s", body)
	}
	body := ask(wants+`,"stream":true`, "")
	var order []string
	for _, event := range strings.Split(strings.TrimSpace(body), "\n\n") {
		var f struct {
			Type  string `json:"type"`
			Index int    `json:"index"`
			Delta struct {
				Type string `json:"type"`
			} `json:"delta"`
		}
		if _, data, _ := strings.Cut(event, "data: "); json.Unmarshal([]byte(data), &f) != nil {
			t.Errorf("the event is %s", event)
		}
		if strings.HasPrefix(f.Type, "content_") {
			order = append(order, fmt.Sprint(f.Index, strings.TrimPrefix(f.Type, "content_block_"), f.Delta.Type))
		}
	}
	want := "0start 0deltathinking_delta 0deltathinking_delta 0deltasignature_delta 0stop 1start 1stop 2start 2deltatext_delta 2stop"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("the events are\n%s\nwant\n%s", got, want)
	}
	ask(wants, "") // it has a call; nothing of it goes back
	for said, back := range map[string]bool{
		thoughts: true, `{"type":"thinking","thinking":"I need it.","signature":""}`: false,
	} {
		ask(wants, `,{"role":"assistant","content":[`+said+`,{"type":"tool_use","id":"t1","name":"read_file","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"X"}]}`)
		sent := string(s.Requests()[len(s.Requests())-1].Body)
		if strings.Contains(sent, `"content":[`+thoughts+`,{"id":"t1"`) != back || !strings.Contains(sent, wants[1:]) {
			t.Errorf("%s: the provider gets %s", said, sent)
		}
	}
	for _, problem := range s.Problems() {
		t.Error(problem)
	}
}
