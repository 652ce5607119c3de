package agent

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"slices"

	"github.com/etui-run/etui/agent/internal/held"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/recent"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/turn"
)

const (
	// maxReplayed is how many messages of a conversation that the client sends are read.
	// Beyond that, half of them become an extract, see [turn.Runner.Extract].
	maxReplayed = 400
	// maxReplays is how many bytes of such conversations are kept in memory; those that
	// were continued longest ago are forgotten, and made again when they continue.
	maxReplays = 16 << 20
)

// replays are conversations that clients sent, with the state and the notes that they
// got, by the hash of what was sent.
type replays = recent.Cache[[sha256.Size]byte, session.Session]

func newReplays() *replays {
	return recent.NewSized[[sha256.Size]byte](maxReplays, func(s session.Session) int {
		const perMessage = 256 // of its own, without texts
		return prompt.Size(s.Messages...) + perMessage*len(s.Messages)
	})
}

// replay makes the session of a conversation that the client sends: the same
// selections for the same earlier questions, so that every request begins with the same
// bytes. The beginning that an earlier request has sent is not made again.
func (g *Agents) replay(ctx context.Context, a *Agent, m message.Mail, key session.Key) (session.Session, error) {
	secrets := g.host.Turn.Secrets.Redactor()
	from := a.Runner.Begin(m.History, prompt.Size(chat.Message{Text: m.Text, Files: m.Files}), maxReplayed)
	s := session.Session{Key: key}
	s.Summary = secrets.Text(a.Runner.Extract(m.History[:from]))
	history := m.History[from:]
	sums := held.Sums(m.Message, key, s.Summary, history)
	at := len(history)
	for ; at > 0; at-- {
		if known, ok := g.replays.Get(sums[at]); ok {
			s = known
			break
		}
	}
	kept, err := held.Load(ctx, g.host.Store, g.heldKey(a, m, clientPrefix+m.Offer.Token), history[at:])
	if err != nil {
		return s, err
	}
	for _, said := range history[at:] {
		if own := kept.InPlace(said); own != nil {
			s.Messages = append(s.Messages[:len(s.Messages):len(s.Messages)], own...)
			continue
		}
		said = g.cleanSaid(said)
		if said.Role == chat.User {
			earlier := m
			earlier.Text, earlier.Files = said.Text, said.Files
			in := g.Input(a, earlier, s)
			in.Again = true
			said, s.State = a.Runner.Replay(ctx, in)
		}
		s.Messages = append(s.Messages[:len(s.Messages):len(s.Messages)], said)
	}
	g.replays.Put(sums[len(history)], s)
	if m.GoesOn() {
		s.Turn = session.Turn{ID: rand.Text()}
	}
	return s, nil
}

// clientPrefix and the token in the IDs of calls name what the client does not see of its conversation.
const clientPrefix = "client-"

// heldKey is where the agent holds something under a name that nobody can guess. Only the sender has it:
// guests differ in nothing but the name.
func (g *Agents) heldKey(a *Agent, m message.Mail, name string) session.Key {
	c := m.Caller()
	c.Guest = ""
	return g.host.People.Key(a.Name, c, name)
}

// Hold keeps a turn in a conversation of the client's if its step says that it waits: what it has said if
// it hands calls over, and all of it, after the messages before, if a person has to approve a call.
func (g *Agents) Hold(ctx context.Context, a *Agent, m message.Mail, before, said []chat.Message,
	step *turn.Step) error {
	user := g.host.People.Sender(m.Caller()).Record()
	switch {
	case step.Done == nil:
	case len(step.Done.Awaits) > 0:
		return held.SetAside(ctx, g.host.Store, g.heldKey(a, m, m.Aside), user, m, slices.Concat(before, said), step)
	case len(step.Done.Handed) > 0:
		caller := chat.Message{User: user, Channel: m.Channel, Time: g.host.Now()}
		return held.Keep(ctx, g.host.Store, g.heldKey(a, m, clientPrefix+m.Offer.Token), caller, said)
	}
	return nil
}
