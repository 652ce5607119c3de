package app

import (
	"context"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inquiry"
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
		Translations: map[string]string{"zh": "向用户提问并等待回答。"},
		Aliases:      []string{"ask the user", "clarify", "询问用户"}, Groups: []string{"people"}, Risk: tool.Read,
		Source: "builtin",
	}, func(_ context.Context, q askInput) (string, error) {
		return "", &tool.Question{Text: q.Question, Choices: q.Choices}
	})
}

// places are those of the channels, which are opened after the engine.
type places struct{ host **channel.Host }

// Person implements [inquiry.Places].
func (p places) Person(ctx context.Context, u identity.User) []inquiry.Place {
	if *p.host == nil {
		return nil
	}
	return (*p.host).Person(ctx, u)
}

// Chat implements [inquiry.Places].
func (p places) Chat(ctx context.Context, name string) (inquiry.Place, error) {
	if *p.host == nil {
		return inquiry.Place{}, channel.ErrUnknown
	}
	return (*p.host).Chat(ctx, name)
}

// Language implements [inquiry.Places].
func (p places) Language(ctx context.Context, c identity.Caller, platform string) string {
	if *p.host == nil {
		return platform
	}
	return (*p.host).Language(ctx, c, platform)
}
