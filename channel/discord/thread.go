package discord

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
)

// maxThreads is how many threads are remembered.
const maxThreads = 4096

// began reports whether the message that a thread belongs to mentions the bot: then what is written in
// the thread is for the bot. The thread has the ID of the message.
func (s *session) began(ctx context.Context, parent, thread string) bool {
	if is, known := s.begun.Get(thread); known {
		return is
	}
	self := s.self.Load()
	var m message
	err := s.call(ctx, "GET", "channels/{}/messages/{}", []string{parent, thread}, nil, &m)
	if err != nil && !errors.Is(err, channel.ErrGone) {
		s.log.DebugContext(ctx, "discord does not show how a thread began", "thread", thread, "error", err)
	}
	is := self != nil && slices.ContainsFunc(m.Mentions, func(u struct {
		user
		Member *member
	}) bool {
		return u.ID == self.User
	})
	s.begun.Put(thread, is)
	return is
}

// before returns what was said in a thread before a message, and after what the agent has read there.
func (s *session) before(ctx context.Context, a *arrival) (said []platform.Said) {
	after := s.upTo.After(a.channel, a.ID)
	read := after != ""
	var list []message // the newest first
	err := s.call(ctx, "GET", "channels/{}/messages?limit=100&before="+a.ID, []string{a.channel}, nil, &list)
	if err != nil {
		if !errors.Is(err, channel.ErrGone) {
			const hidden = "discord does not show a thread: the bot may need the permission Read Message History"
			s.log.WarnContext(ctx, hidden, "error", err)
		}
		return nil
	}
	s.upTo.Note(a.channel, a.ID)
	self := s.self.Load()
	for _, m := range slices.Backward(list) {
		own := self != nil && m.Author.ID == self.User
		if read && (own || !later(m.ID, after)) {
			continue
		}
		name := sender(m.Author, m.Member).Name
		if own {
			name = "you"
		}
		text := m.text("")
		if text == "" && m.Referenced != nil { // the message that the thread began with
			name, text = sender(m.Referenced.Author, nil).Name, m.Referenced.text("")
		}
		for _, f := range m.Files {
			text += " [file " + f.Filename + "]"
		}
		said = append(said, platform.Said{Name: name, Text: strings.TrimSpace(text)})
	}
	return said
}

// later reports whether one ID is newer than another.
func later(id, than string) bool {
	return len(id) > len(than) || len(id) == len(than) && id > than
}
