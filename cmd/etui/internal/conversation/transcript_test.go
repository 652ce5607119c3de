package conversation_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

// TestConversationMarks: what happened to each call is said, above all when nobody knows.
func TestConversationMarks(t *testing.T) {
	call := func(ids ...string) (m chat.Message) {
		m.Role = chat.Assistant
		for _, id := range ids {
			m.Calls = append(m.Calls, chat.Call{ID: id, Name: "tool" + id, Arguments: []byte(`{"x":1}`)})
		}
		return m
	}
	answer := func(r chat.Result) chat.Message { return chat.Message{Role: chat.Tool, Result: &r} }
	c := inspect.Conversation{
		Summary: session.Summary{Key: "agent:main:main", Messages: 12, Users: []string{"ann"}},
		Phase:   turn.Calling, Summarised: "they greeted", Sent: 9, Skip: 2,
		Said: []chat.Message{
			{Role: chat.User, User: "ann", Text: "do\x1b[2J it"}, call("1", "2", "3", "4"),
			answer(chat.Result{CallID: "1", Name: "tool1", Text: "fine"}),
			answer(chat.Result{CallID: "2", Name: "tool2", Text: "no", Failed: true}),
			answer(chat.Result{CallID: "3", Name: "tool3", Failed: true, Unknown: true, View: &chat.View{Error: "It is unknown whether tool3 did its work."}}),
			answer(chat.Result{CallID: "4", Name: "tool4", Text: "goes on", Pending: true}),
			{Role: chat.User, Note: "[tool4, which was still running, has finished]"},
			{Role: chat.Assistant, Text: "too long", Refused: true},
			{Role: chat.User, User: "bob", Text: "again"}, call("5"),
		},
	}
	got := conversation.Transcript("", c, 80)
	at := 0
	for _, want := range []string{
		"agent:main:main\n", "a turn is open (calling)", "2 earlier messages are not shown",
		"\nann\n  do it\n", "a summary of what was said before\n  they greeted\n", "\nassistant\n  · tool1 {\"x\":1}\n", "  ✓ tool1: fine\n", "  ✗ tool2: no\n",
		"  ? outcome unknown: It is unknown whether tool3 did its work.\n", "  … tool4: goes on\n",
		"a call ended after its turn\n  [tool4, which was still running, has finished]\n", "  ✗ the provider refused this turn",
		"\nbob\n", "  · tool5", "  ? tool5 has no result yet: whether it did its work is unknown.\n",
	} {
		i := strings.Index(got[at:], want)
		if i < 0 {
			t.Fatalf("%q is missing after %q in\n%s", want, got[:at], got)
		}
		at += i
	}
	if strings.Contains(got, "\x1b") {
		t.Error("a message controls the terminal")
	}
}
