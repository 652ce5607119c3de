package web

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
)

// Who is shown the calls of tools. A guest may be anybody.
const (
	CallsPeople = "people" // those with a token
	CallsAll    = "all"
	CallsNone   = "none"
)

// maxCalls is how many calls are shown of a message; those before are forgotten.
const maxCalls = 40

// call is one of a tool.
type call struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments,omitempty"`
	Done      bool   `json:"done,omitempty"`
	Failed    bool   `json:"failed,omitempty"`
	Result    string `json:"result,omitempty"`
}

// Unfold implements [channel.Unfolder]. A call that waited for an answer ends where it began, although
// the turn goes on with another message.
func (c *Channel) Unfold(ctx context.Context, to channel.Address, calls []channel.Call) error {
	if c.config.Calls == CallsNone || c.config.Calls == CallsPeople && strings.HasPrefix(to.Chat, guestPrefix) {
		return nil
	}
	t := c.open(to.Chat)
	defer c.close(t)
	select {
	case t.taking <- struct{}{}: // the message is in the history then
		defer func() { <-t.taking }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for _, made := range calls {
		err := t.change(ctx, func(r *record) (*message, error) {
			m := r.callsOf(to.Message, made.ID)
			if m == nil {
				return nil, nil
			}
			m.put(made)
			m.Seq = t.next()
			said := *m
			return &said, nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// callsOf returns where a call is shown: where it began, or below the message for which it is made; nil
// if that is not in the history any more.
func (r *record) callsOf(client, id string) *message {
	for i := range r.Messages {
		m := &r.Messages[i]
		if slices.ContainsFunc(m.Calls, func(c call) bool { return c.ID == id && !c.Done }) {
			return m
		}
	}
	at := slices.IndexFunc(r.Messages, func(m message) bool { return m.Mine && m.Client == client })
	if at < 0 {
		return nil
	}
	asked := r.Messages[at]
	if at++; at == len(r.Messages) || r.Messages[at].ID != asked.ID+1 {
		r.Messages = slices.Insert(r.Messages, at, message{ID: asked.ID + 1, ReplyTo: client, Time: time.Now().UTC()})
	}
	return &r.Messages[at]
}

// put adds a call, or its end.
func (m *message) put(c channel.Call) {
	m.Calls = slices.Clone(m.Calls) // windows send those that were
	i := slices.IndexFunc(m.Calls, func(old call) bool { return old.ID == c.ID && !old.Done })
	if i < 0 {
		if len(m.Calls) == maxCalls {
			m.Calls = slices.Delete(m.Calls, 0, 1)
		}
		i = len(m.Calls)
		m.Calls = append(m.Calls, call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	if c.Done {
		m.Calls[i].Done, m.Calls[i].Failed, m.Calls[i].Result = true, c.Failed, c.Result
	}
}
