package app

import (
	"context"
	"strings"

	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/tool"
)

// approvers says who may answer what waits for an approval, by the rules in effect.
func approvers(ctx context.Context, a rules.Attempt) rules.Decision {
	return bookOf(a.Now).approvers.Decide(ctx, a)
}

// ofApprovers reports whether something can supply a fact that a rule for approvals
// reads: the engine itself says who asked.
func ofApprovers(supplied func(string) bool) func(string) bool {
	return func(fact string) bool {
		return strings.HasPrefix(fact+".", "attrs.asker.") || fact == "attrs" || supplied(fact)
	}
}

type askInput struct {
	// The question, complete and short
	Question string `json:"question"`
	// Answers to choose from, if there are only a few
	Choices []string `json:"choices,omitempty"`
}

// askUser is the tool with which a model asks the user and waits for the answer.
func askUser() tool.Tool {
	return tool.Func(tool.Definition{
		Name: "ask_user", Description: "Ask the user a question and wait for the answer, however long that takes. Use it when the task cannot go on without a decision or a fact that only the user knows.",
		Translations: map[string]string{"zh": "向用户提问并等待回答。"}, Aliases: []string{"ask the user", "clarify", "询问用户"}, Groups: []string{"people"}, Risk: tool.Read, Source: "builtin",
	}, func(_ context.Context, q askInput) (string, error) {
		return "", &tool.Question{Text: q.Question, Choices: q.Choices}
	})
}
