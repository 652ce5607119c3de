package mattermost

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

const (
	direct    = "D"                // the type of a chat of two people
	helloTime = 30 * time.Second   // until a new connection says hello
	oldest    = 7 * 24 * time.Hour // how far back posts are answered
	overlap   = 10 * time.Second   // before the position, as the clocks of a cluster differ
	perPage   = 200                // posts; the API gives no more
	maxPage   = 32 << 20           // bytes of so many
	maxPages  = 10                 // of one chat; earlier posts are left out
)

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
	self *account
	safe *platform.Position // the times of posts, in milliseconds; nil until the connection is open
}

// Run implements [channel.Channel]. Posts that were not handed over are asked for again.
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	s := &session{Channel: c, Intake: platform.NewIntake("Mattermost", c.log, in, c.seen), self: self}
	return s.Intake.Run(ctx, func(ctx context.Context) error {
		ctx, end := context.WithCancelCause(ctx)
		defer end(nil)
		if err := s.receive(ctx, end); ctx.Err() == nil {
			return err
		}
		return context.Cause(ctx)
	})
}

// event is a message of the WebSocket: an event, or the answer to a request.
type event struct {
	Event string
	Error *struct{ ID, Message string }
	Data  struct {
		Post string // JSON
		Type string `json:"channel_type"`
	}
	post post
}

// read returns the next event.
func (s *session) read(ctx context.Context, conn *platform.Socket) (e event, err error) {
	data, _, err := conn.Read(ctx)
	if err != nil {
		return e, err
	}
	if err = json.Unmarshal(data, &e); err == nil && (e.Event == "posted" || e.Event == "post_edited") {
		err = json.Unmarshal([]byte(e.Data.Post), &e.post)
		e.post.alone = e.Data.Type == direct
	}
	if err != nil {
		s.log.WarnContext(ctx, "mattermost sent an event that etui cannot read", "bytes", len(data), "error", err)
		return event{}, nil
	}
	return e, nil
}

// receive receives through one connection, until ctx ends or the connection does.
func (s *session) receive(ctx context.Context, end context.CancelCauseFunc) error {
	conn, _, err := s.api.Dial(ctx, s.api.Base().JoinPath("api/v4/websocket").String())
	if err != nil {
		return err
	}
	defer conn.Watch(ctx, s.log)()
	token := map[string]string{"token": s.config.Token}
	err = conn.Write(ctx, map[string]any{"seq": 1, "action": "authentication_challenge", "data": token})
	greeting, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for wait := greeting; err == nil; {
		var e event
		switch e, err = s.read(wait, conn); {
		case err != nil:
		case e.Error != nil:
			err = fmt.Errorf("mattermost: the WebSocket says: %s", platform.Word(e.Error.ID+" "+e.Error.Message))
		case slices.Contains(renames, e.Event):
			s.names.Forget()
		case e.Event == "hello" && s.safe == nil:
			wait, err = ctx, s.catchUp(ctx, end) // later posts wait in the connection
		case e.Event == "posted" && s.safe != nil:
			s.kinds.Put(e.post.Chat, e.post.alone)
			err = s.start(ctx, end, e.post)
		case e.Event == "post_edited" && s.safe != nil:
			err = s.edited(ctx, e.post)
		}
	}
	return err
}

// place is a channel of Mattermost.
type place struct {
	ID, Type string
	Name     string // in its address
	Shown    string `json:"display_name"`
	Team     string `json:"team_id"`
	Last     int64  `json:"last_post_at"`
	Deleted  int64  `json:"delete_at"`
}

// catchUp hands over what was written since the position. Without a position it begins with
// what is written from now on.
func (s *session) catchUp(ctx context.Context, end context.CancelCauseFunc) error {
	var places []place
	if err := s.call(ctx, "GET", "users/me/channels", nil, nil, &places); err != nil {
		return err
	}
	safe, err := platform.OpenPosition(ctx, s.config.Records, Platform, s.self.ID+" "+s.api.Base().String())
	if err != nil {
		return err
	}
	if s.safe = safe; safe.Safe() == 0 {
		for _, in := range places { // by the server's clock
			safe.Begin(max(in.Last, 1))()
		}
		return safe.Keep(ctx)
	}
	since := max(safe.Safe()-overlap.Milliseconds(), time.Now().Add(-oldest).UnixMilli())
	var posts []post
	for _, in := range places {
		if in.Last > since && isID(in.ID) {
			if posts, err = s.history(ctx, in, since, posts); err != nil {
				return err
			}
		}
	}
	// In the order of all chats, so that the position never passes one that has not begun.
	slices.SortStableFunc(posts, func(a, b post) int { return cmp.Compare(a.Created, b.Created) })
	for _, p := range posts {
		if err := s.start(ctx, end, p); err != nil {
			return err
		}
	}
	return nil
}

// history adds the posts of a chat after a time. It asks for pages: of those after a time, the
// API gives any thousand.
func (s *session) history(ctx context.Context, in place, since int64, posts []post) ([]post, error) {
	for page := range maxPages {
		var list struct {
			Order []string // newest first
			Posts map[string]post
		}
		r := platform.Request{Path: platform.Route("api/v4/channels/{}/posts", in.ID), Limit: maxPage}
		r.Query = url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(perPage)}}
		switch err := s.api.Call(ctx, r, &list); {
		case errors.Is(err, channel.ErrGone): // the bot was removed meanwhile
			return posts, nil
		case err != nil:
			return nil, err
		}
		for _, id := range list.Order {
			p := list.Posts[id]
			if p.Created <= since {
				return posts, nil
			}
			p.alone = in.Type == direct
			posts = append(posts, p)
		}
		if len(list.Order) < perPage {
			return posts, nil
		}
	}
	s.log.WarnContext(ctx, "a mattermost chat has too many new posts; the earliest are left out", "chat", in.ID)
	return posts, nil
}

// start hands a post over, and moves the position when all earlier ones are safe. If it fails,
// the connection ends, and the next one asks for the post again.
func (s *session) start(ctx context.Context, end context.CancelCauseFunc, p post) error {
	if !s.counts(p) {
		return nil
	}
	done := s.safe.Begin(p.Created)
	return s.Start(ctx, platform.Job{
		Chat: p.Chat,
		Take: func(ctx context.Context) error { return s.take(ctx, p) },
		Done: func(err error) {
			if err == nil {
				done()
				err = s.safe.Keep(context.WithoutCancel(ctx))
			}
			if err != nil {
				end(fmt.Errorf("mattermost: a post was not taken and is asked for again: %w", err))
			}
		},
	})
}

// edited hands over a post that has another text now. The event does not say which kind of chat it is in, so
// it counts in those in which something was written since the start.
func (s *session) edited(ctx context.Context, p post) error {
	alone, known := s.kinds.Get(p.Chat)
	if !known || p.Edited == 0 || !s.counts(p) {
		return nil // others are pinned, or have a reaction
	}
	p.alone, p.edit = alone, true
	return s.Start(ctx, platform.Job{
		Chat: p.Chat, Done: func(error) {},
		Take: func(ctx context.Context) error { return s.take(ctx, p) },
	})
}

// post is a message.
type post struct {
	ID       string
	Created  int64  `json:"create_at"` // in milliseconds
	Edited   int64  `json:"edit_at"`
	Deleted  int64  `json:"delete_at"`
	User     string `json:"user_id"`
	Chat     string `json:"channel_id"`
	Root     string `json:"root_id"` // the post that begins its thread
	Message  string
	Type     string
	Props    map[string]any
	Metadata struct {
		Files  []file
		Embeds []struct {
			Type string
			Data json.RawMessage
		}
	}

	alone bool // in a direct chat
	edit  bool // it was there before
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
		(!strings.HasPrefix(p.Type, "system_") || s.added(p)) && // others are about joins, headers and the like
		(p.Root == "" || isID(p.Root)) &&
		(p.Message != "" || len(p.Metadata.Files) > 0 || p.Type != "" || p.Props["attachments"] != nil)
}

// text is what a post says: also the message that it passes on, and what it is if that is nothing to read.
func (p post) text() string {
	text := p.Message
	for _, e := range p.Metadata.Embeds[:min(len(p.Metadata.Embeds), maxPassed)] {
		var passed struct{ Post struct{ Message string } }
		if e.Type != "permalink" || json.Unmarshal(e.Data, &passed) != nil || passed.Post.Message == "" {
			continue
		}
		text += "\n\nForwarded:\n" + platform.Quote(passed.Post.Message, platform.MaxCited)
	}
	if text = printable.Text(strings.TrimSpace(text)); text == "" && len(p.Metadata.Files) == 0 {
		text = "(a message of the type " + platform.Word(cmp.Or(p.Type, "attachment")) + ", which cannot be read)"
	}
	return text
}

const maxPassed = 5 // messages that a post passes on

// added reports whether a post says that somebody has added the bot to a channel.
func (s *session) added(p post) bool {
	return p.Type == "system_add_to_channel" && p.Props["addedUserId"] == s.self.ID && !p.alone
}

// take completes a post and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, p post) error {
	m := channel.Incoming{
		ID:    p.ID,
		From:  channel.Sender{ID: p.User, Bot: p.Props["from_bot"] == "true" || p.Props["from_webhook"] == "true"},
		At:    channel.Address{Chat: p.Chat, Thread: p.Root, Message: p.ID},
		Group: !p.alone,
		Text:  p.text(),
		Time:  time.UnixMilli(p.Created),
		Added: s.added(p),
	}
	key := p.ID
	if p.Edited != 0 {
		m.Edited, key = p.edit || s.seen.Has(p.ID), fmt.Sprintf("%s %d", p.ID, p.Edited)
	}
	err := s.Hand(ctx, key, &m, len(p.Metadata.Files) > 0, func(ctx context.Context) error {
		if m.Added {
			return nil
		}
		if m.Group {
			author, err := s.author(ctx, p.Root)
			if err != nil {
				return err
			}
			m.Mentioned = author == s.self.ID || s.self.mention.MatchString(m.Text) // it answers or names the bot
			m.Text = strings.TrimSpace(s.self.mention.ReplaceAllString(m.Text, "$1$2"))
			m.At.Thread = cmp.Or(p.Root, p.ID) // the reply begins a thread, and what is written there belongs to it
			if p.Root == "" && m.Mentioned {
				s.upTo.Note(p.ID, strconv.FormatInt(p.Created, 10)) // the conversation has it
			}
		}
		hoped := m
		hoped.Mentioned = m.Group
		if s.Wants(ctx, hoped) { // it may be overheard
			s.people.Introduce(ctx, &m.From, s.meet)
		}
		if s.Wants(ctx, m) {
			m.Files = s.load(ctx, p.Metadata.Files)
			// What the bot has written by itself is in the conversation of the channel.
			unread := m.Mentioned && s.upTo.After(p.Root, strconv.FormatInt(p.Created, 10)) == ""
			if p.Root != "" && (unread || s.self.mention.MatchString(p.Message)) && !strings.HasPrefix(m.Text, "/") {
				m.Text = platform.Thread(s.before(ctx, p), m.Text)
			}
		} else {
			m.Text = platform.Unread(m.Text, p.Metadata.Files, func(f file) string { return f.Name })
		}
		return nil
	})
	if err == nil && !p.edit {
		s.seen.Add(p.ID)
	}
	return err
}

// author returns who began a thread; the bot, if it began with a mention; nobody if there is none, or
// its post is gone.
func (s *session) author(ctx context.Context, root string) (string, error) {
	if author, ok := s.authors.Get(root); ok || root == "" {
		return author, nil
	}
	var p post
	if err := s.call(ctx, "GET", "posts/{}", []string{root}, nil, &p); err != nil && !errors.Is(err, channel.ErrGone) {
		return "", err
	}
	if s.self.mention.MatchString(p.Message) {
		p.User = s.self.ID // a thread that began with a mention is the bot's
	}
	s.authors.Put(root, p.User)
	return p.User, nil
}

// load returns the files of a post with their bytes. Those that are too large or that the
// server does not give have no Data.
func (s *session) load(ctx context.Context, files []file) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		list = append(list, platform.Attachment{
			Name: f.Name, MediaType: f.MediaType, Size: f.Size,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				return s.api.Fetch(ctx, platform.Request{Path: platform.Route("api/v4/files/{}", f.ID), Limit: limit})
			},
		})
	}
	return platform.Load(ctx, s.log, list, maxFiles)
}

// meet asks about a person. Administrators are those of the server.
func (s *session) meet(ctx context.Context, id string) (p channel.Sender, known bool) {
	var user struct {
		ID, Username, Nickname, Roles, Locale string
		First                                 string `json:"first_name"`
		Last                                  string `json:"last_name"`
		Bot                                   bool   `json:"is_bot"`
	}
	if err := s.call(ctx, "GET", "users/{}", []string{id}, nil, &user); err != nil || user.ID != id {
		s.log.WarnContext(ctx, "mattermost tells nothing about a sender", "user", id, "error", err)
		return p, false
	}
	name := cmp.Or(user.Nickname, strings.TrimSpace(user.First+" "+user.Last))
	p = channel.Sender{Handle: printable.Line(user.Username, 100), Name: printable.Line(name, 100),
		Language: user.Locale, Bot: user.Bot}
	p.Roles = []string{"member"}
	switch roles := strings.Fields(user.Roles); {
	case slices.Contains(roles, "system_guest"):
		p.Roles = []string{"guest"}
	case slices.Contains(roles, "system_admin"):
		p.Roles = []string{"administrator", "member"}
	}
	return p, true
}
