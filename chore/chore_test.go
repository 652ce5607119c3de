package chore_test

import (
	"strings"
	"testing"

	"github.com/etui-run/etui/chore"
)

// TestMatch: the chores of clients are recognised, and what people ask is not, also when their client puts
// documents or an instruction before it.
func TestMatch(t *testing.T) {
	patterns, err := chore.New([]string{"you name chats", `summari[sz]e this chat`})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text, instructions string
		want               bool
	}{
		{"### Task:\nGenerate a concise, 3-5 word title with an emoji summarizing the chat history.\n### Guidelines:", "", true},
		{"### Task:\nGenerate 1-3 broad tags categorizing the main themes of the chat history", "", true},
		{"### Task:\nSuggest 3-5 relevant follow-up questions or prompts that the user might naturally ask next", "", true},
		{"### Task:\nAnalyze the chat history to determine the necessity of generating search queries, in the given language.", "", true},
		{"### Task:\nYou are an autocompletion system. Continue the text in `<text>`", "", true},
		{"Provide a concise, 5-word-or-less title for the conversation, using title case conventions.", "", true},
		{"Analyze this conversation and provide:\n1. The detected language of the conversation\n2. A concise title in the detected language", "", true},
		{" Summarise this chat, please", "", true},
		{"hello", "You name chats. Answer with the name alone.", true},
		{"### Task:\nRespond to the user query using the provided context, incorporating inline citations", "", false},
		{"### Task:\nWrite the quarterly report", "", false},
		{"Why does Open WebUI send \"### Task:\nGenerate a concise, 3-5 word title\"?", "", false},
		{"What is a good title?", "You are a helpful assistant.", false},
		{"", "", false},
	} {
		if got := patterns.Match(c.text, c.instructions); got != c.want {
			t.Errorf("%q, %q: %v", c.text, c.instructions, got)
		}
	}
}

// TestPatterns: a pattern that is none, or that would make every message slow, is refused.
func TestPatterns(t *testing.T) {
	for _, bad := range [][]string{{"("}, {strings.Repeat("(.?.?.?){900}", 20)}, make([]string, 101)} {
		if _, err := chore.New(bad); err == nil {
			t.Errorf("%.40q is accepted", bad)
		}
	}
}
