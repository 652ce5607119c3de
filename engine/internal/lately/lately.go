// Package lately finds what a person asked in other conversations.
package lately

import (
	"context"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// How much is read of the other conversations of a person.
const (
	maxSessions = 3
	maxMessages = 60 // of each
)

// Questions returns what a person asked in conversations other than here, oldest first, if words cannot
// say which tools a question needs: it may need those that were called there.
func Questions(ctx context.Context, from store.Store, here session.Key, user,
	question string) (messages []chat.Message) {
	if user == "" || rank.Foreign(question) == "" {
		return nil
	}
	list, err := from.List(ctx, session.Filter{Users: []string{user}, Limit: maxSessions + 1})
	if err != nil {
		return nil // the store says when it is away; the question is answered without
	}
	for _, s := range slices.Backward(list) {
		if s.Key == here {
			continue
		}
		loaded, err := from.Load(ctx, s.Key, maxMessages)
		if err != nil {
			continue
		}
		own := false
		for _, m := range loaded.Messages {
			if own = m.Role == chat.User && m.User == user || m.Role != chat.User && own; own {
				messages = append(messages, m)
			}
		}
	}
	return messages
}
