// Package repeat notices a model that makes the same call again and again in a turn.
//
// A call counts as the same by the tool that it reaches and its arguments. It may be made three
// times; a call that only reads, and whose results differ, may be made ten times, as one who waits for
// something does. The calls of one answer are made together, before their results are known. A message of a person, or another call that is new in the turn and changes something, begins
// the count anew: a file that was edited may be read again.
package repeat

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/selection/meta"
)

const (
	most         = 3  // calls with the same arguments
	mostChanging = 10 // calls that read and give something else each time
	mostRefused  = 3  // refusals, after which a turn has come to no end
)

// refusal begins the result of a call that is not made again.
const refusal = "This call was not made again: "

// pastCall is a call of the turn.
type pastCall struct {
	key, name string
	result    *chat.Result // nil until it is known
}

// Refuse says why a call is not made; empty means that it is. Own are the messages of the turn, and
// reads says whether a tool only reads.
func Refuse(own []chat.Message, call chat.Call, reads func(tool string) bool) string {
	name, key := identify(call)
	count, results := 0, []string{}
	seen := map[string]bool{}
	for _, m := range calls(own, call) {
		switch {
		case m.key == "":
			count, results = 0, nil
		case m.result != nil && m.result.Failed && strings.HasPrefix(m.result.Text, refusal):
			continue
		case m.key == key:
			count++
			if m.result != nil {
				results = append(results, m.result.Text)
			}
		case !seen[m.key] && !reads(m.name) && m.result != nil && !m.result.Failed:
			count, results = 0, nil
		}
		seen[m.key] = true
	}
	limit := most
	if n := len(results); reads(name) && n >= most && (results[n-1] != results[n-2] || results[n-2] != results[n-3]) {
		limit = mostChanging
	}
	if count < limit {
		return ""
	}
	return fmt.Sprintf("%s%s was called %d times with the same arguments in this turn, and its results are above. "+
		"Use them, call it with other arguments or another tool, or tell the user what is missing.", refusal, name, count)
}

// calls lists the calls of a turn before the answer with a call, in their order. A message of a
// person is an entry without a key.
func calls(own []chat.Message, before chat.Call) (list []pastCall) {
	at := map[string]int{}
	for _, m := range own {
		if slices.ContainsFunc(m.Calls, func(c chat.Call) bool { return c.ID == before.ID }) {
			break
		}
		if m.Role == chat.User {
			list = append(list, pastCall{})
		}
		if m.Result != nil {
			if i, ok := at[m.Result.CallID]; ok {
				list[i].result = m.Result
			}
		}
		for _, c := range m.Calls {
			name, key := identify(c)
			at[c.ID] = len(list)
			list = append(list, pastCall{key, name, nil})
		}
	}
	return list
}

// identify returns the tool that a call reaches, and what is the same for calls that do the same.
func identify(c chat.Call) (name, key string) {
	name, args := c.Name, c.Arguments
	if name == selection.CallTool {
		if inner, innerArgs, err := meta.Target(args); err == nil {
			name, args = inner, innerArgs
		}
	}
	var value any
	if json.Unmarshal(args, &value) == nil {
		args, _ = json.Marshal(value) // a decoded value always marshals
	}
	return name, name + " " + string(args)
}

// Stuck reports whether so many calls of a turn were refused that the turn ends.
func Stuck(own []chat.Message) bool {
	n := 0
	for _, m := range own {
		if m.Result != nil && m.Result.Failed && strings.HasPrefix(m.Result.Text, refusal) {
			n++
		}
	}
	return n >= mostRefused
}

// Reply is the answer to the user of a turn that ends by [Stuck].
func Reply(chinese bool) string {
	if chinese {
		return "我停下了：我一再用同样的参数调用同一个工具，没有进展。"
	}
	return "I stopped: I called the same tool with the same arguments again and again, without getting further."
}
