package turn

import (
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/turn/internal/correction"
)

// Corrects returns the request that a message corrects, and the tools that answered it
// by mistake: "no, the calendar one" after a turn that sent a mail. Before is the
// conversation before the message, oldest first. It returns false for a message that
// does not read like a correction, in English or Chinese, or that follows a turn without
// a successful call. Whether the message did lead to another tool is known only after
// its turn.
func Corrects(text string, before []chat.Message) (request string, called []string, ok bool) {
	end := len(before)
	for i, m := range slices.Backward(before) {
		if m.Role != chat.User || m.Text == "" {
			continue
		}
		if end == len(before) { // the turn just before
			if called = succeeded(before[i:]); len(called) == 0 || !correction.Reads(text, asked(before[i:])) {
				return "", nil, false
			}
		}
		if end = i; !correction.Reads(m.Text, false) {
			return m.Text, called, true
		}
	}
	return "", nil, false
}

// succeeded returns the tools whose calls succeeded in a turn.
func succeeded(turn []chat.Message) []string {
	var names []string
	for _, u := range uses(turn) {
		if !selection.Meta(u.Tool) && !slices.Contains(names, u.Tool) {
			names = append(names, u.Tool)
		}
	}
	return names
}

// asked reports whether a turn ended with a question of the model.
func asked(turn []chat.Message) bool {
	last := turn[len(turn)-1]
	return last.Role == chat.Assistant && strings.ContainsAny(last.Text[max(0, len(last.Text)-200):], "?？")
}
