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
	answering("text", Reply{Text: []string{"It is sunny."}}),
	answering("characters split across reads", Reply{Text: []string{"Zürich: 晴れ ☀️"}, Split: 1}),
	answering("nothing", Reply{}),
	answering("thinking is passed over",
		Reply{Thinking: "The user asks...", Text: []string{"Sunny."}, Calls: []chat.Call{call("time", `{"a":1}`)}}),
	answering("a call", Reply{Text: []string{"Let me see."},
		Calls: []chat.Call{call("time", `{"zone":"Europe/Zürich"}`)}}),
	answering("parallel calls", Reply{Calls: []chat.Call{call("time", `{"n":1}`), call("time", `{"n":2}`),
		call("nonesuch", `{"n":3}`)}}),
	answering("names that the provider does not allow",
		Reply{Calls: []chat.Call{call("weather_now", `{"place":"Zürich"}`)}},
		call("weather.now", `{"place":"Zürich"}`)),
	answering("broken arguments are passed on", Reply{Calls: []chat.Call{call("time", `{"zone": "Zürich',}`)}}),
	answering("the limit of tokens", Reply{Text: []string{"It is su"}, Stop: model.Length}),
	answering("a call that the limit cut off",
		Reply{Calls: []chat.Call{call("time", `{"n":1}`), call("time", `{"path":"/tmp/a`)}, Stop: model.Length},
		call("time", `{"n":1}`)),
	answering("a refusal", Reply{Text: []string{"I will not ", "do that."}, Stop: model.Refused}),
	{
		name:   "text in pieces",
		script: []Reply{{Text: []string{"It is ", "sunny ", "in Zürich."}}},
		test:   testPieces,
	},
	{
		name: "call, result, answer",
		script: []Reply{
			{Calls: []chat.Call{{ID: "one", Name: "time", Arguments: []byte(`{}`)},
				{ID: "two", Name: "time", Arguments: []byte(`{"broken`)}}},
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
}

// answering is a case in which the model says what the reply holds. If calls are given,
// the provider's protocol changes the reply's calls to them.
func answering(name string, reply Reply, calls ...chat.Call) testCase {
	return testCase{name, []Reply{reply}, calls != nil, func(t *testing.T, _ *Server, m model.Model) {
		said, _, stop := answer(t, m, question())
		if calls == nil {
			calls = reply.Calls
		}
		wantText(t, said, strings.Join(reply.Text, ""))
		wantCalls(t, said, calls...)
		wantStop(t, stop, reply.stop())
	}}
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
