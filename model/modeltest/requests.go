package modeltest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/tool"
)

// requests are the cases about what a provider receives.
var requests = []testCase{
	{
		name:   "the same request has the same bytes",
		script: slices.Repeat([]Reply{{}}, 3),
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			for range 3 {
				answer(t, m, question())
			}
			all := s.Requests()
			if !bytes.Equal(all[0].Body, all[1].Body) || !bytes.Equal(all[1].Body, all[2].Body) {
				t.Error("the bytes differ")
			}
		},
	},
	{
		name:   "definitions are sent as they are, the note before the text",
		script: []Reply{{}},
		wire:   true,
		test: func(t *testing.T, s *Server, m model.Model) {
			answer(t, m, question())
			body := s.Requests()[0].Body
			for _, d := range tools() {
				if !bytes.Contains(escaped(body), escaped(d.Schema())) {
					t.Errorf("the schema of %s was sent otherwise:\n%s\n%s", d.Name, d.Schema(), body)
				}
			}
			if !bytes.Contains(body, []byte(`"It is Monday.\n\nHow is the weather in Zürich?"`)) {
				t.Errorf("the note does not precede the text:\n%s", body)
			}
		},
	},
	{
		name:   "odd conversations",
		script: slices.Repeat([]Reply{{}}, 4),
		wire:   true,
		test: func(t *testing.T, _ *Server, m model.Model) {
			answered := results(chat.Message{Role: chat.Assistant, Calls: []chat.Call{
				{ID: "functions.time:0", Name: "time"},
				{ID: "functions.time:1", Name: "no such tool!", Arguments: []byte(`[1]`)},
			}}, "", "failed")
			for _, messages := range [][]chat.Message{
				{{Role: chat.Assistant, Text: "Hello, I am here."}, {Role: chat.User, Text: "Hi."}},
				{{Role: chat.User, Text: "One."}, {Role: chat.User, Text: "Two."}, {Role: chat.Assistant},
					{Role: chat.Assistant, Text: " \n"}, {Role: chat.User, Text: " "}},
				append([]chat.Message{{Role: chat.User, Text: "Time?"}}, answered...),
				slices.Concat([]chat.Message{{Role: chat.User}}, answered,
					[]chat.Message{{Role: chat.User, Note: "It is late."}}),
			} {
				answer(t, m, model.Request{Messages: messages})
			}
		},
	},
	{
		name:   "the cache is kept",
		script: slices.Repeat([]Reply{{Calls: []chat.Call{call("time", `{}`)}}, {Text: []string{"It is noon."}}}, 6),
		wire:   true,
		test:   testCacheKept,
	},
	{
		name:   "at the same time",
		script: slices.Repeat([]Reply{{Text: []string{"It is ", "sunny."}, Calls: []chat.Call{call("time", `{}`)}}}, 8),
		test: func(t *testing.T, _ *Server, m model.Model) {
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					said, _, _, err := model.Answer(m.Stream(t.Context(), question()))
					if err != nil || said.Text != "It is sunny." || len(said.Calls) != 1 {
						t.Errorf("%v, %v", said, err)
					}
				})
			}
			group.Wait()
		},
	},
}

// escaped makes JSON comparable when an encoder escapes '<', '>' and '&', as Go's does
// by default.
func escaped(raw []byte) []byte {
	var b bytes.Buffer
	json.HTMLEscape(&b, raw)
	return b.Bytes()
}

// testCacheKept runs some turns with calls that only append messages.
func testCacheKept(t *testing.T, s *Server, m model.Model) {
	req := question()
	req.System = strings.Repeat("Answer in short sentences and name your sources. ", 60)
	for i := range 40 {
		req.Tools = append(req.Tools, tool.Definition{
			Name: fmt.Sprintf("desk.tool_%d", i), Description: strings.Repeat("Does something useful. ", 5),
			Parameters: []byte(`{"type":"object","properties":{"text":{"type":"string"}}}`),
		})
	}
	for turn := range 6 {
		if turn > 0 {
			req.Messages = append(req.Messages,
				chat.Message{Role: chat.User, Note: fmt.Sprintf("Turn %d.", turn), Text: "And now?"})
		}
		said, _, _ := answer(t, m, req)
		said.Calls[0].ID = fmt.Sprintf("call-%d", turn)
		req.Messages = append(req.Messages, results(said, "12:00")...)
		said, _, _ = answer(t, m, req)
		req.Messages = append(req.Messages, said)
	}
	if kept := s.Kept(); kept < 0.97 {
		t.Errorf("only %.1f %% of a request is the beginning of the next one", 100*kept)
	}
}
