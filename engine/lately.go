package engine

import (
	"context"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/session"
)

// How much is read of the other conversations of a person.
const (
	latelySessions = 3
	latelyMessages = 60 // of each
)

// lately returns what a person asked in other conversations, oldest first, if words cannot say which
// tools a question needs: it may need those that were called there.
func (r *turnRun) lately(ctx context.Context, user, question string) (messages []chat.Message) {
	if user == "" || rank.Foreign(question) == "" {
		return nil
	}
	e := r.job.engine
	list, err := e.config.Store.List(ctx, session.Filter{Users: []string{user}, Limit: latelySessions + 1})
	if err != nil {
		return nil // the store says when it is away; the question is answered without
	}
	for _, s := range slices.Backward(list) {
		if s.Key == r.job.key {
			continue
		}
		loaded, err := e.config.Store.Load(ctx, s.Key, latelyMessages)
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
