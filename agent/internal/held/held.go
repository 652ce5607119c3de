// Package held keeps what a client does not see of a conversation that it sends with each request.
// When a turn hands calls to the client, the calls and results of etui's own tools before and beside
// them are kept, and what the provider wants back. The next request with these calls gets it again,
// in any process.
package held

import (
	"context"
	"fmt"
	"slices"

	"github.com/etui-run/etui/approval"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
	"github.com/etui-run/etui/turn"
)

// maxKept is how many messages of a conversation are looked through for what is kept.
const maxKept = 400

// Keep keeps what a turn has said, which ends with calls for the client, in a session of its own.
// Caller says whose it is.
func Keep(ctx context.Context, s session.Store, key session.Key, caller chat.Message, said []chat.Message) error {
	said = slices.DeleteFunc(slices.Clone(said), func(m chat.Message) bool { return m.Role == chat.User })
	own := slices.ContainsFunc(said, func(m chat.Message) bool {
		return len(m.State) > 0 || m.Result != nil ||
			slices.ContainsFunc(m.Calls, func(c chat.Call) bool { return !c.Client || len(c.State) > 0 })
	})
	if !own {
		return nil // the client has all of it
	}
	caller.Role, caller.Note = chat.User, "[calls of etui's tools in a conversation that the client keeps]"
	if err := s.Append(ctx, key, session.State{}, append([]chat.Message{caller}, said...)...); err != nil {
		return fmt.Errorf("keeping the calls of etui's tools: %w: %w", store.ErrAway, err)
	}
	return nil
}

// SetAside keeps a whole turn, which waits for a person, and the messages before it in a session of its own.
// The turn goes on there. All of it is what a user said, so that it can be forgotten.
func SetAside(
	ctx context.Context, s session.Store, key session.Key, user string, m message.Mail, all []chat.Message,
	step *turn.Step,
) error {
	step.Done.Reply = approval.Text(step.Done.Awaits)
	m.History = nil
	state := step.State.Clone()
	state.Turn.Request, state.Sent = m.Stored(), len(all)
	for i := range all {
		if all[i].Role == chat.User {
			all[i].User = user
		}
	}
	messages, _ := message.Storable(all)
	if err := s.Append(ctx, key, state, messages...); err != nil {
		return fmt.Errorf("keeping a turn that waits for a person: %w: %w", store.ErrAway, err)
	}
	return nil
}

// History is what is kept of a conversation.
type History []chat.Message

// Load returns what is kept of a conversation, if messages that the client sends have calls.
func Load(ctx context.Context, s session.Store, key session.Key, sent []chat.Message) (History, error) {
	if !slices.ContainsFunc(sent, func(m chat.Message) bool { return len(m.Calls) > 0 }) {
		return nil, nil
	}
	kept, err := s.Load(ctx, key, maxKept)
	if err != nil { // without their results, calls would be made twice
		return nil, fmt.Errorf("loading the calls of etui's tools: %w: %w", store.ErrAway, err)
	}
	return kept.Messages, nil
}

// InPlace returns what is kept in place of an answer that the client sends; nil if nothing is.
func (k History) InPlace(said chat.Message) []chat.Message {
	if len(said.Calls) == 0 {
		return nil
	}
	at := slices.IndexFunc(k, func(m chat.Message) bool {
		return slices.ContainsFunc(m.Calls, func(c chat.Call) bool { return c.Client && c.ID == said.Calls[0].ID })
	})
	if at < 0 {
		return nil
	}
	from, to := at, at+1
	for from > 0 && k[from-1].Role != chat.User {
		from--
	}
	for to < len(k) && k[to].Role == chat.Tool {
		to++
	}
	return k[from:to]
}
