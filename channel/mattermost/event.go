package mattermost

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// post is a message.
type post struct {
	ID       string
	Created  int64  `json:"create_at"` // in milliseconds
	Deleted  int64  `json:"delete_at"`
	User     string `json:"user_id"`
	Chat     string `json:"channel_id"`
	Root     string `json:"root_id"` // the post that begins its thread
	Message  string
	Type     string
	Props    map[string]any
	Metadata struct{ Files []file }

	alone bool // in a direct chat
}

// file is a file of a post.
type file struct {
	ID, Name  string
	MediaType string `json:"mime_type"`
	Size      int64
}

// counts reports whether a post is a message of somebody else.
func (s *session) counts(p post) bool {
	return isID(p.ID) && isID(p.Chat) && isID(p.User) && p.User != s.self.ID && p.Deleted == 0 &&
		(p.Type == "" || p.Type == "me") && // others are about joins, headers and the like
		(p.Root == "" || isID(p.Root)) && (p.Message != "" || len(p.Metadata.Files) > 0)
}

// take completes a post and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, p post) error {
	m := channel.Incoming{
		ID:    p.ID,
		From:  channel.Sender{ID: p.User, Bot: p.Props["from_bot"] == "true" || p.Props["from_webhook"] == "true"},
		At:    channel.Address{Chat: p.Chat, Thread: p.Root, Message: p.ID},
		Group: !p.alone,
		Text:  printable.Text(p.Message),
		Time:  time.UnixMilli(p.Created),
	}
	return s.Hand(ctx, p.ID, &m, len(p.Metadata.Files) > 0, func(ctx context.Context) error {
		if m.Group {
			author, err := s.author(ctx, p.Root)
			if err != nil {
				return err
			}
			m.Mentioned = author == s.self.ID || s.self.mention.MatchString(m.Text) // it answers or names the bot
			m.Text = strings.TrimSpace(s.self.mention.ReplaceAllString(m.Text, "$1$2"))
			m.At.Thread = cmp.Or(p.Root, p.ID) // the reply begins a thread, and what is written there belongs to it
		}
		if s.Wants(ctx, m) {
			s.people.Introduce(ctx, &m.From, s.meet)
			m.Files = s.load(ctx, p.Metadata.Files)
		}
		return nil
	})
}

// author returns who began a thread; nobody if there is none, or its post is gone.
func (s *session) author(ctx context.Context, root string) (string, error) {
	if author, ok := s.authors.Get(root); ok || root == "" {
		return author, nil
	}
	var p post
	if err := s.call(ctx, "GET", "posts/{}", []string{root}, nil, &p); err != nil && !errors.Is(err, channel.ErrGone) {
		return "", err
	}
	s.authors.Put(root, p.User)
	return p.User, nil
}

// load returns the files of a post with their bytes. Those that are too large or that the
// server does not give have no Data.
func (s *session) load(ctx context.Context, files []file) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		list = append(list, platform.Attachment{Name: f.Name, MediaType: f.MediaType, Size: f.Size, Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
			return s.api.Fetch(ctx, platform.Request{Path: platform.Route("api/v4/files/{}", f.ID), Limit: limit})
		}})
	}
	return platform.Load(ctx, s.log, list, maxFiles)
}

// meet asks about a person. Administrators are those of the server.
func (s *session) meet(ctx context.Context, id string) (p channel.Sender, known bool) {
	var user struct {
		ID, Username, Nickname, Roles string
		First                         string `json:"first_name"`
		Last                          string `json:"last_name"`
		Bot                           bool   `json:"is_bot"`
	}
	if err := s.call(ctx, "GET", "users/{}", []string{id}, nil, &user); err != nil || user.ID != id {
		s.log.WarnContext(ctx, "mattermost tells nothing about a sender", "user", id, "error", err)
		return p, false
	}
	name := cmp.Or(user.Nickname, strings.TrimSpace(user.First+" "+user.Last))
	p = channel.Sender{Handle: printable.Line(user.Username, 100), Name: printable.Line(name, 100), Bot: user.Bot, Roles: []string{"member"}}
	switch roles := strings.Fields(user.Roles); {
	case slices.Contains(roles, "system_guest"):
		p.Roles = []string{"guest"}
	case slices.Contains(roles, "system_admin"):
		p.Roles = []string{"administrator", "member"}
	}
	return p, true
}
