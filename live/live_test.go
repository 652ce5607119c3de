package live_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/live"
	"github.com/etui-run/etui/turn"
)

// TestCalls: the latest calls of each tool are kept, with how long they took, also those through call_tool, and
// those that run are not.
func TestCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var table live.Table
		run := table.Begin(live.Turn{})
		began := time.Now()
		call := func(id, name, args string) {
			run.See(turn.Event{Call: &chat.Call{ID: id, Name: name, Arguments: []byte(args)}})
		}
		call("a", "read", "{}")
		call("b", "call_tool", `{"name":"write","arguments":{}}`)
		call("c", "read", "{}") // it runs on
		time.Sleep(20 * time.Millisecond)
		run.See(turn.Event{Result: &chat.Result{CallID: "b", Failed: true}})
		time.Sleep(10 * time.Millisecond)
		run.See(turn.Event{Result: &chat.Result{CallID: "a"}})
		run.See(turn.Event{Result: &chat.Result{CallID: "unknown"}})
		run.End()
		for _, want := range []live.Call{{Tool: "read", Time: began, Took: 30}, {Tool: "write", Time: began, Took: 20, Failed: true}} {
			if got := table.Calls(want.Tool); len(got) != 1 || got[0] != want {
				t.Errorf("%s: %+v, want %+v", want.Tool, got, want)
			}
		}
		run = table.Begin(live.Turn{})
		for i := range 5000 {
			id := fmt.Sprint(i)
			call(id, "many", "{}")
			time.Sleep(time.Millisecond)
			run.See(turn.Event{Result: &chat.Result{CallID: id}})
		}
		many := table.Calls("many")
		if len(many) != 4096 || len(table.Calls("read")) != 0 {
			t.Errorf("%d calls are kept", len(many))
		}
		for i := 1; i < len(many); i++ {
			if !many[i].Time.After(many[i-1].Time) {
				t.Fatalf("call %d is before the one before", i)
			}
		}
	})
}
