package app

import (
	"context"

	"github.com/etui-run/etui/tool"
)

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
