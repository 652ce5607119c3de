package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// TestRepeatedCalls: a call that was made three times with the same arguments is not made again,
// until something changed. A turn that goes on like that ends.
func TestRepeatedCalls(t *testing.T) {
	t.Parallel()
	const again = "This call was not made again: "
	for name, tt := range map[string]struct {
		rounds string // calls by their letters; a blank begins a round
		want   string // the calls that ran
		reply  string
	}{
		"three may be":                  {"a a a", "aaa", "done"},
		"the fourth is refused":         {"a a a a", "aaa", "done"},
		"other arguments":               {"a b a b a b", "ababab", "done"},
		"two in turns":                  {"a b a b a b a b", "ababab", "done"},
		"the turn ends":                 {"a a a a a a a a a", "aaa", "I stopped: I called the same tool"},
		"the order of keys":             {"m n m n", "mnm", "done"},
		"through call_tool":             {"a c a c", "aca", "done"},
		"one answer":                    {"aaaa", "aaaa", "done"},
		"a new change between":          {"a a a x a a a a", "aaaxaaa", "done"},
		"a change that repeats":         {"x a x a x a x a", "xaxaxa", "done"},
		"a failed change":               {"a a a f a", "aaaf", "done"},
		"failures":                      {"f f f f", "fff", "done"},
		"changes with other results":    {"w w w w", "www", "done"},
		"reads with other results":      {"r r r r r r r r r r r", "rrrrrrrrrr", "done"},
		"a tool that does not exist":    {"u u u u u u u", "", "I stopped: I called the same tool"},
		"a search":                      {"s s s s s s", "", "I stopped: I called the same tool"},
		"in the language of a question": {"a a a a a a", "aaa", "我停下了"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ran, n := "", 0
			add := func(name string, risk tool.Risk, run func(letter string) chat.Result) tool.Tool {
				return tool.New(tool.Definition{Name: name, Risk: risk, Description: name, Parameters: json.RawMessage(`{"type":"object"}`)}, func(_ context.Context, args json.RawMessage) (chat.Result, error) {
					var in struct{ L string }
					if err := json.Unmarshal(args, &in); err != nil {
						return chat.Result{}, err
					}
					ran += in.L
					n++
					return run(in.L), nil
				})
			}
			tools := []tool.Tool{
				add("look", tool.Read, func(string) chat.Result { return tool.Text("the same") }),
				add("poll", tool.Read, func(string) chat.Result { return tool.Text(fmt.Sprint(n, " %")) }),
				add("change", tool.Write, func(string) chat.Result { return tool.Text(fmt.Sprint("number ", n)) }),
				add("fail", tool.Write, func(string) chat.Result { return tool.Failure("no") }),
			}
			calls := map[rune][2]string{
				'a': {"look", `{"L":"a"}`}, 'b': {"look", `{"L":"b"}`}, 'c': {"call_tool", `{"name":"look","arguments":{"L":"a"}}`},
				'm': {"look", `{"L":"m","k":[1, 2]}`}, 'n': {"look", `{"k":[1,2],"L":"m"}`},
				'x': {"change", `{"L":"x"}`}, 'w': {"change", `{"L":"w"}`}, 'f': {"fail", `{"L":"f"}`}, 'r': {"poll", `{"L":"r"}`},
				'u': {"unknown", `{}`}, 's': {"find_tools", `{"queries":["x"]}`},
			}
			var script []fake.Step
			for i, round := range strings.Fields(tt.rounds) {
				var step fake.Step
				for j, letter := range round {
					step.Calls = append(step.Calls, fake.Call(fmt.Sprint(i, ".", j), calls[letter][0], calls[letter][1]))
				}
				script = append(script, step)
			}
			b := newBench(t, turn.Config{MaxSteps: 40, Parallel: 1}, selection.Config{}, tools, append(script, fake.Step{Text: "done"})...)
			question := "go"
			if strings.HasPrefix(tt.reply, "我") {
				question = "开始"
			}
			o := run(b, t.Context(), turn.Input{Text: question})
			if o.err != nil {
				t.Fatal(o.err)
			}
			want := strings.NewReplacer("n", "m", "c", "a").Replace(tt.want)
			if ran != want || !strings.HasPrefix(o.done.Reply, tt.reply) {
				t.Errorf("ran %s, want %s; %s", ran, want, o.done.Reply)
			}
			for _, r := range o.results() {
				if strings.HasPrefix(r.Text, again) != (r.Failed && strings.Contains(r.Text, "with the same arguments")) {
					t.Errorf("a result says %q", r.Text)
				}
			}
		})
	}
}
