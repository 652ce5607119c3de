// Package consult lets a running tool ask the model of the agent that called it. The model reads the
// tool's question and nothing of the conversation; whoever runs the call sets the bounds.
package consult

import (
	"context"
	"errors"
)

// Question is a question to the agent's model.
type Question struct {
	// System says how the answer is to be; it may be empty.
	System string
	// Messages are a conversation of the tool's own, oldest first, which ends with a question.
	Messages []Message
	// MaxTokens bounds the answer; 0 leaves it to the host.
	MaxTokens int
}

// Message is one side's words.
type Message struct {
	// Assistant says that they are the model's.
	Assistant bool
	Text      string
}

// Answer is the model's answer.
type Answer struct {
	Text string
	// Model is what answered.
	Model string
	// Cut says that the answer reached its bound.
	Cut bool
}

// Func asks the model.
type Func func(ctx context.Context, q Question) (Answer, error)

type key struct{}

// With returns a context whose calls can ask the model.
func With(ctx context.Context, ask Func) context.Context { return context.WithValue(ctx, key{}, ask) }

// ErrNobody is the error where no model can be asked.
var ErrNobody = errors.New("no model can be asked here")

// Ask asks the model of the call that a context belongs to.
func Ask(ctx context.Context, q Question) (Answer, error) {
	ask, _ := ctx.Value(key{}).(Func)
	if ask == nil {
		return Answer{}, ErrNobody
	}
	return ask(ctx, q)
}
