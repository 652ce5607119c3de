package turn_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/turn"
)

// exchange is a question, a call that succeeded unless the tool is empty, and the reply.
func exchange(text, tool, reply string) []chat.Message {
	list := []chat.Message{{Role: chat.User, Text: text}}
	if tool != "" {
		raw, _ := json.Marshal(map[string]any{"name": tool, "arguments": map[string]any{}})
		list = append(list, chat.Message{Role: chat.Assistant, Calls: []chat.Call{{ID: "1", Name: "call_tool", Arguments: raw}}},
			chat.Message{Role: chat.Tool, Result: &chat.Result{CallID: "1", Name: "call_tool", Text: "done"}})
	}
	return append(list, chat.Message{Role: chat.Assistant, Text: reply})
}

func TestCorrects(t *testing.T) {
	mail := exchange("remind the team of the party", "send_mail", "Done.")
	asks := exchange("remind the team of the party", "send_mail", "Done. Shall I print it, too?")
	for _, c := range []struct {
		text   string
		before []chat.Message
		want   bool
	}{
		{"no, the calendar one", mail, true},
		{"No – put it into the calendar", mail, true},
		{"I meant the calendar", mail, true},
		{"That’s not what I asked for", mail, true},
		{"不是这个，日历那个", mail, true},
		{"不对，用日历", mail, true},
		{"no, thanks", mail, false},
		{"no problem, now book a room", mail, false},
		{"不，谢谢", mail, false},
		{"note it in the calendar", mail, false},
		{"and in the calendar", mail, false},
		{"no, use the calendar", asks, false},
		{"no, I meant the calendar", asks, true},
		{"no, the calendar one", exchange("hello", "", "Hello."), false},
		{"no, the calendar one", nil, false},
		{"no, " + "I have thought about it for a long while and now we have to write a report for the board on the last year", mail, false},
		{"no, the other one", slices.Concat(mail, exchange("no, the calendar one", "add_event", "Done.")), true},
		{"no, the calendar one", slices.Concat(mail, exchange("thanks", "", "You are welcome.")), false},
	} {
		request, called, ok := turn.Corrects(c.text, c.before)
		if ok != c.want || ok && (request != "remind the team of the party" || len(called) != 1) {
			t.Errorf("%q after %d messages: %q, %q, %v; want %v", c.text, len(c.before), request, called, ok, c.want)
		}
	}
	if _, called, _ := turn.Corrects("no, the other one", slices.Concat(mail, exchange("no, the calendar one", "add_event", "Done."))); !slices.Equal(called, []string{"add_event"}) {
		t.Errorf("the second correction is about %q", called)
	}
}
