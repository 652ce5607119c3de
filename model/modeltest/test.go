package modeltest

import (
	"slices"
	"testing"

	"go.uber.org/goleak"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

// Test runs the conformance suite: the promises of package model, and what an adapter
// must make of its provider's answers. Each case starts a server with the protocol and
// opens a model that talks to it with [Key] and, over HTTP, through
// [Server.Transport]. The cases run sequentially, because each one checks for leaked
// goroutines.
func Test(t *testing.T, protocol Protocol, open func(t *testing.T, s *Server) model.Model) {
	for _, c := range slices.Concat(answers, failures, endings, requests) {
		t.Run(c.name, func(t *testing.T) {
			before := goleak.IgnoreCurrent()
			s := protocol(c.script...)
			if c.wire && s.URL == "" {
				t.Skip("speaks no HTTP")
			}
			defer goleak.VerifyNone(t, before)
			defer s.Close()
			c.test(t, s, open(t, s))
			for _, problem := range s.Problems() {
				t.Error(problem)
			}
			if left := s.Script(); s.URL != "" && len(left) > 0 {
				t.Errorf("%d replies of the script were not asked for", len(left))
			}
		})
	}
}

// testCase is one requirement on every model.
type testCase struct {
	name   string
	script []Reply
	// wire marks a case about HTTP.
	wire bool
	test func(*testing.T, *Server, model.Model)
}

// tools are the tools that the suite offers.
func tools() []tool.Definition {
	return []tool.Definition{
		{
			Name: "weather.now", Description: "Tells the weather of a place now: <temperature> & wind.",
			Parameters: []byte(`{"type":"object","properties":{"place":{"type":"string","description":"<city> & \u003cland\u003e"},"a":{"type":"number","maximum":1e3,"minimum":1.0}},"required":["place"]}`),
		},
		{Name: "time", Description: "Tells the time – 时间."},
	}
}

// question asks about one city.
func question() model.Request {
	return model.Request{
		System:   "You are helpful.",
		Messages: []chat.Message{{Role: chat.User, Note: "It is Monday.", Text: "How is the weather in Zürich?"}},
		Tools:    tools(),
	}
}

// answer asks m and fails the test unless it answers.
func answer(t *testing.T, m model.Model, req model.Request) (chat.Message, model.Tokens, model.Stop) {
	t.Helper()
	said, usage, stop, err := model.Answer(m.Stream(t.Context(), req))
	if err != nil {
		t.Fatal(err)
	}
	return said, usage, stop
}

func wantText(t *testing.T, said chat.Message, want string) {
	t.Helper()
	if said.Text != want {
		t.Errorf("the text is %q, want %q", said.Text, want)
	}
}

func wantStop(t *testing.T, stop, want model.Stop) {
	t.Helper()
	if stop != want {
		t.Errorf("the answer ended with %q, want %q", stop, want)
	}
}

// wantCalls compares calls without their IDs, which must be there and differ.
func wantCalls(t *testing.T, said chat.Message, want ...chat.Call) {
	t.Helper()
	if len(said.Calls) != len(want) {
		t.Fatalf("%d calls, want %d: %v", len(said.Calls), len(want), said.Calls)
	}
	seen := map[string]bool{}
	for i, c := range said.Calls {
		if c.Name != want[i].Name || string(c.Arguments) != string(want[i].Arguments) {
			t.Errorf("call %d is %s(%s), want %s(%s)", i, c.Name, c.Arguments, want[i].Name, want[i].Arguments)
		}
		if c.ID == "" || seen[c.ID] {
			t.Errorf("call %d has the ID %q", i, c.ID)
		}
		seen[c.ID] = true
	}
}

// call is a call as a script or a test writes it.
func call(name, arguments string) chat.Call {
	return chat.Call{Name: name, Arguments: []byte(arguments)}
}

// results answers the calls of an assistant's message, the last one with a failure.
func results(said chat.Message, texts ...string) []chat.Message {
	out := []chat.Message{said}
	for i, c := range said.Calls {
		out = append(out, chat.Message{Role: chat.Tool, Result: &chat.Result{
			CallID: c.ID, Name: c.Name, Text: texts[i], Failed: i > 0 && i == len(said.Calls)-1,
		}})
	}
	return out
}
