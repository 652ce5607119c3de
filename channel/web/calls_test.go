package web_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/web"
)

// TestCalls: the calls of a message come below it, also when the answer was first, in each window and again
// after it was away. One that waited ends where it began. What is no longer there gets none.
func TestCalls(t *testing.T) {
	both(t, func(t *testing.T, sse bool) {
		p, c, _ := serve(t, sse, nil)
		hello := `{"type": "hello", "token": "` + token(secret, hs256, map[string]any{"sub": "4711", "exp": in(time.Hour)}) + `"}`
		ann, _ := p.tab(hello, browser(""))
		ann.say("q1", "first")
		ann.next()
		unfold := func(message string, calls ...channel.Call) {
			t.Helper()
			if err := c.Unfold(t.Context(), channel.Address{Chat: "4711", Message: message}, calls); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: "4711", Message: "q1"}, Text: "answer"}); err != nil {
			t.Fatal(err)
		}
		ann.next()
		unfold("q1", channel.Call{ID: "a", Name: "read", Arguments: `{"x":1}`}, channel.Call{ID: "b", Name: "drop"}, channel.Call{ID: "a", Name: "read", Done: true, Result: "1"})
		ann.say("q2", "yes")
		unfold("q2", channel.Call{ID: "b", Name: "drop", Arguments: "{}"}, channel.Call{ID: "c", Name: "count"}, channel.Call{ID: "b", Done: true, Failed: true, Result: "no"})
		unfold("gone", channel.Call{ID: "d", Name: "lost"})
		var last string
		for seq := 0.0; !strings.Contains(last, `"no"`); {
			e := ann.next()
			if e["seq"].(float64) <= seq {
				t.Errorf("%v after %v", e, seq)
			}
			seq = e["seq"].(float64)
			text, _ := json.Marshal(e["calls"])
			last = string(text)
		}
		ann.leave()
		back, e := p.tab(hello, browser(""))
		defer back.leave()
		id, got := 0.0, []string{}
		all := map[float64]string{}
		for range int(e["missed"].(float64)) {
			e := back.next()
			_, _ = fmt.Sscan(e.str("id"), &id)
			says := e.str("text")
			if e.str("type") == "calls" {
				text, _ := json.Marshal(e["calls"])
				says = e.str("reply_to") + string(text)
			}
			all[id] = says
			got = append(got, says)
		}
		want := []string{
			"first",
			`q1[{"arguments":"{\"x\":1}","done":true,"id":"a","name":"read","result":"1"},{"done":true,"failed":true,"id":"b","name":"drop","result":"no"}]`,
			"answer", "yes", `q2[{"id":"c","name":"count"}]`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") || len(all) != len(want) {
			t.Errorf("the history is\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// TestWhoReadsCalls: guests, who may be anybody, read calls only where the channel says so, and where it says
// that nobody does, nobody does.
func TestWhoReadsCalls(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		calls         string
		guest, person bool
	}{{"", false, true}, {web.CallsPeople, false, true}, {web.CallsAll, true, true}, {web.CallsNone, false, false}} {
		p, c, _ := serve(t, false, func(c *web.Config) { c.Calls = test.calls })
		signed := token(secret, hs256, map[string]any{"sub": "4711", "exp": in(time.Hour)})
		ann, _ := p.tab(`{"type": "hello", "token": "`+signed+`"}`, browser(""))
		for chat, who := range map[string]client{"4711": ann, guestOf("bob"): p.guest("bob")} {
			who.say("q", "hello")
			who.next()
			if err := c.Unfold(t.Context(), channel.Address{Chat: chat, Message: "q"}, []channel.Call{{ID: "a", Name: "read"}}); err != nil {
				t.Fatal(err)
			}
			if _, err := c.Send(t.Context(), channel.Outgoing{To: channel.Address{Chat: chat}, Text: "answer"}); err != nil {
				t.Fatal(err)
			}
			want := map[bool]bool{true: test.person, false: test.guest}[chat == "4711"]
			if got := who.next().str("type") == "calls"; got != want {
				t.Errorf("calls: %q: %s reads them: %t", test.calls, chat, got)
			}
			who.leave()
		}
	}
	if _, err := web.New(web.Config{Secrets: []string{secret}, Calls: "some"}); err == nil {
		t.Error("calls: some is taken")
	}
}
