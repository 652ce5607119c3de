package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
)

// Load loads the session of a message.
func (g *Agents) Load(ctx context.Context, a *Agent, m message.Mail) (session.Session, error) {
	key := g.Key(a, m)
	if m.History != nil {
		return g.replay(ctx, a, m, key)
	}
	if err := CheckKey(key); err != nil {
		return session.Session{}, err
	}
	s, err := g.host.Store.Load(ctx, key, session.Sent)
	if err != nil {
		return s, fmt.Errorf("loading the session: %w: %w", store.ErrAway, err)
	}
	return s, nil
}

// maxKey is how long the key of a session may be, in bytes, as stores have it.
const maxKey = 512

// CheckKey refuses a key of a session that is too long.
func CheckKey(key session.Key) error {
	if len(key) > maxKey {
		return phrase.Errorf(
			"%w: the names of its agent, session, channel and user have %d bytes together, at most %d are accepted",
			message.ErrInvalid, len(key), maxKey,
		)
	}
	return nil
}

// OpenTurn returns the agent and the message of a session's open turn, without its text.
func (g *Agents) OpenTurn(s session.Session) (*Agent, message.Mail, error) {
	m, err := message.Read(s.Turn.Request)
	if err != nil {
		return nil, m, err
	}
	m.To = s.Key
	a, err := g.Get(m.Agent)
	if err == nil {
		err = message.CheckPrompt(m.Mode, m.Strategy)
	}
	return a, m, err
}

// Read returns the message of an item.
func (g *Agents) Read(i store.Item) (*Agent, message.Mail, error) {
	m, err := message.Read(i.Message)
	if err != nil {
		return nil, m, err
	}
	m.To = i.Session // the configuration may say something else of its sender by now
	a, err := g.Address(m)
	return a, m, err
}

// cleanSaid hides secrets in a message of a conversation that the client sends.
func (g *Agents) cleanSaid(m chat.Message) chat.Message {
	secrets := g.host.Turn.Secrets.Redactor()
	m.Text, m.Note = secrets.Text(m.Text), secrets.Text(m.Note)
	m.Files = chat.WithoutData(m.Files)
	m.Calls = slices.Clone(m.Calls)
	for i := range m.Calls {
		m.Calls[i].Arguments = secrets.JSON(m.Calls[i].Arguments)
	}
	if m.Result != nil {
		r := *m.Result
		r.Text = secrets.Text(r.Text)
		m.Result = &r
	}
	return m
}
