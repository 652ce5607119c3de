package modeltest

import (
	"slices"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// answers are the cases in which the model answers.
var answers = []testCase{
	{
		name:   "text",
		script: []Reply{{Text: []string{"It is sunny."}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantText(t, said, "It is sunny.")
			wantStop(t, stop, model.Done)
		},
	},
	{
		name:   "text in pieces",
		script: []Reply{{Text: []string{"It is ", "sunny ", "in Zürich."}}},
		test:   testPieces,
	},
	{
		name:   "characters split across reads",
		script: []Reply{{Text: []string{"Zürich: 晴れ ☀️"}, Split: 1}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantText(t, said, "Zürich: 晴れ ☀️")
		},
	},
	{
		name:   "nothing",
		script: []Reply{{}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantText(t, said, "")
			wantCalls(t, said)
			wantStop(t, stop, model.Done)
		},
	},
	{
		name:   "thinking is passed over",
		script: []Reply{{Thinking: "The user asks...", Text: []string{"Sunny."}, Calls: []chat.Call{call("time", `{"a":1}`)}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantText(t, said, "Sunny.")
			wantCalls(t, said, call("time", `{"a":1}`))
		},
	},
	{
		name:   "a call",
		script: []Reply{{Text: []string{"Let me see."}, Calls: []chat.Call{call("time", `{"zone":"Europe/Zürich"}`)}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantText(t, said, "Let me see.")
			wantCalls(t, said, call("time", `{"zone":"Europe/Zürich"}`))
			wantStop(t, stop, model.ToolCalls)
		},
	},
	{
		name:   "parallel calls",
		script: []Reply{{Calls: []chat.Call{call("time", `{"n":1}`), call("time", `{"n":2}`), call("nonesuch", `{"n":3}`)}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantCalls(t, said, call("time", `{"n":1}`), call("time", `{"n":2}`), call("nonesuch", `{"n":3}`))
			wantStop(t, stop, model.ToolCalls)
		},
	},
	{
		name:   "names that the provider does not allow",
		script: []Reply{{Calls: []chat.Call{call("weather_now", `{"place":"Zürich"}`)}}},
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantCalls(t, said, call("weather.now", `{"place":"Zürich"}`))
		},
	},
	{
		name:   "broken arguments are passed on",
		script: []Reply{{Calls: []chat.Call{call("time", `{"zone": "Zürich',}`)}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, _ := answer(t, m, question())
			wantCalls(t, said, call("time", `{"zone": "Zürich',}`))
		},
	},
	{
		name: "call, result, answer",
		script: []Reply{
			{Calls: []chat.Call{{ID: "one", Name: "time", Arguments: []byte(`{}`)}, {ID: "two", Name: "time", Arguments: []byte(`{"broken`)}}},
			{Text: []string{"It is noon."}},
		},
		test: func(t *testing.T, _ *Server, m model.Model) {
			req := question()
			said, _, _ := answer(t, m, req)
			req.Messages = append(req.Messages, results(said, "12:00", "The arguments are not JSON.")...)
			said, _, stop := answer(t, m, req)
			wantText(t, said, "It is noon.")
			wantStop(t, stop, model.Done)
		},
	},
	{
		name:   "usage",
		script: []Reply{{Text: []string{"Yes."}, Usage: model.Tokens{Input: 1200, Output: 34, CacheRead: 1000}}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			_, usage, _ := answer(t, m, question())
			if want := (model.Tokens{Input: 1200, Output: 34, CacheRead: 1000}); usage != want {
				t.Errorf("the usage is %+v, want %+v", usage, want)
			}
		},
	},
	{
		name:   "the limit of tokens",
		script: []Reply{{Text: []string{"It is su"}, Stop: model.Length}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantText(t, said, "It is su")
			wantStop(t, stop, model.Length)
		},
	},
	{
		name: "a call that the limit cut off",
		script: []Reply{{
			Calls: []chat.Call{call("time", `{"n":1}`), call("time", `{"path":"/tmp/a`)}, Stop: model.Length,
		}},
		wire: true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantCalls(t, said, call("time", `{"n":1}`))
			wantStop(t, stop, model.Length)
		},
	},
	{
		name:   "a refusal",
		script: []Reply{{Text: []string{"I will not ", "do that."}, Stop: model.Refused}},
		test: func(t *testing.T, _ *Server, m model.Model) {
			said, _, stop := answer(t, m, question())
			wantText(t, said, "I will not do that.")
			wantStop(t, stop, model.Refused)
		},
	},
}

func testPieces(t *testing.T, _ *Server, m model.Model) {
	var pieces []string
	var last model.Event
	for e, err := range m.Stream(t.Context(), question()) {
		if err != nil {
			t.Fatal(err)
		}
		if last.Stop != "" {
			t.Errorf("%+v comes after the last event", e)
		}
		if e.Text != "" {
			pieces = append(pieces, e.Text)
		}
		last = e
	}
	if want := []string{"It is ", "sunny ", "in Zürich."}; !slices.Equal(pieces, want) {
		t.Errorf("the pieces are %q, want %q", pieces, want)
	}
	if last.Stop != model.Done || strings.TrimSpace(last.Text) != "" || last.Call != nil {
		t.Errorf("the last event is %+v", last)
	}
}
