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
)

const (
	helloTime = 30 * time.Second   // until a new connection says hello
	oldest    = 7 * 24 * time.Hour // how far back posts are answered
	overlap   = 10 * time.Second   // before the position in which posts are asked for again: servers of a cluster differ a little
	perPage   = 200                // posts; the API gives no more
	maxPages  = 10                 // of one chat; earlier posts are left out
)

// session is what one call of Run works with.
type session struct {
	*Channel
	in     channel.Receiver
	self   *account
	intake *platform.Intake
	safe   *platform.Progress // the times of posts, in milliseconds
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	s := &session{Channel: c, in: in, self: self, intake: platform.NewIntake("Mattermost", c.log)}
	ctx, end := context.WithCancelCause(ctx)
	defer s.intake.Wait()
	defer end(nil) // posts that were not handed over are asked for again
	if err := s.receive(ctx, end); ctx.Err() == nil {
		return err
	}
	return context.Cause(ctx)
}

// record is what is kept of an account.
type record struct {
	// Since is the time up to which all posts are safe, in milliseconds.
	Since int64 `json:"since"`
}

// keep moves the position of the account forward, and returns it.
func (s *session) keep(ctx context.Context, to int64) (at int64, err error) {
	err = s.config.Records.Change(ctx, Platform, s.self.ID+" "+s.api.Base().String(), func(value json.RawMessage) (json.RawMessage, error) {
		var r record
		if value != nil {
			if err := json.Unmarshal(value, &r); err != nil {
				return nil, fmt.Errorf("mattermost: the record of the position: %w", err)
			}
		}
		r.Since = max(r.Since, to)
		at = r.Since
		return json.Marshal(r)
	})
	return at, err
}

// event is a message of the WebSocket: an event, or the answer to a request.
type event struct {
	Event  string
	Status string
	Error  *struct{ ID, Message string }
	Data   struct {
		Post string // JSON
		Type string `json:"channel_type"`
		Name string `json:"sender_name"`
	}
}

// receive receives through one connection, until ctx ends or the connection does.
func (s *session) receive(ctx context.Context, end context.CancelCauseFunc) error {
	u := s.api.Base().JoinPath("api/v4/websocket")
	u.Scheme = strings.Replace(u.Scheme, "http", "ws", 1)
	conn, _, err := s.api.Dial(ctx, u.String())
	if err != nil {
		return err
	}
	defer conn.Watch(ctx, s.log)()
	err = conn.Write(ctx, map[string]any{"seq": 1, "action": "authentication_challenge", "data": map[string]string{"token": s.config.Token}})
	if err != nil {
		return err
	}
	greeting, cancel := context.WithTimeout(ctx, helloTime)
	defer cancel()
	for wait := greeting; ; {
		data, _, err := conn.Read(wait)
		if err != nil {
			return err
		}
		var e event
		if err := json.Unmarshal(data, &e); err != nil {
			s.log.WarnContext(ctx, "mattermost sent an event that etui cannot read", "bytes", len(data), "error", err)
			continue
		}
		switch {
		case e.Error != nil:
			return fmt.Errorf("mattermost: the WebSocket refuses the account: %s %s", platform.Word(e.Error.ID), platform.Word(e.Error.Message))
		case e.Event == "hello" && s.safe == nil:
			wait = ctx
			s.log.DebugContext(ctx, "mattermost connection is open")
			err = s.catchUp(ctx, end) // later posts wait in the connection
		case e.Event == "posted" && s.safe != nil:
			var p post
			if err := json.Unmarshal([]byte(e.Data.Post), &p); err != nil {
				s.log.WarnContext(ctx, "mattermost sent a post that etui cannot read", "error", err)
				continue
			}
			p.handle = strings.TrimPrefix(e.Data.Name, "@")
			err = s.start(ctx, end, p, e.Data.Type == direct)
		}
		if err != nil {
			return err
		}
	}
}

// place is a channel of Mattermost.
type place struct {
	ID   string
	Type string
	Last int64 `json:"last_post_at"`
}

// direct is the type of a chat of two people.
const direct = "D"

// catchUp hands over what was written since the position. Without a position it begins with
// what is written from now on.
func (s *session) catchUp(ctx context.Context, end context.CancelCauseFunc) error {
	var chats []place
	if err := s.call(ctx, "GET", "users/me/channels", nil, nil, &chats); err != nil {
		return err
	}
	since, err := s.keep(ctx, 0)
	if err != nil {
		return err
	}
	if since == 0 {
		since = 1
		for _, c := range chats {
			since = max(since, c.Last) // by the server's clock
		}
		s.safe = platform.NewProgress(since)
		_, err := s.keep(ctx, since)
		return err
	}
	s.safe = platform.NewProgress(since)
	since = max(since-overlap.Milliseconds(), time.Now().Add(-oldest).UnixMilli())
	for _, c := range chats {
		if c.Last <= since || !isID(c.ID) {
			continue
		}
		posts, err := s.history(ctx, c.ID, since)
		if errors.Is(err, channel.ErrGone) {
			continue // the bot was removed meanwhile
		}
		if err != nil {
			return err
		}
		for _, p := range posts {
			if err := s.start(ctx, end, p, c.Type == direct); err != nil {
				return err
			}
		}
	}
	return nil
}

// history returns the posts of a chat after a time, oldest first.
func (s *session) history(ctx context.Context, chat string, since int64) (posts []post, err error) {
	for page := range maxPages {
		var list struct {
			Order []string
			Posts map[string]post
		}
		query := url.Values{"page": {strconv.Itoa(page)}, "per_page": {strconv.Itoa(perPage)}}
		const path = "channels/{}/posts"
		r := platform.Request{Call: "GET " + path, Path: "api/v4/" + platform.Route(path, chat), Query: query}
		if err := s.api.Call(ctx, r, &list); err != nil {
			return nil, err
		}
		older := len(list.Order) < perPage
		for _, id := range list.Order { // newest first
			if p := list.Posts[id]; p.Created > since {
				posts = append(posts, p)
			} else {
				older = true
			}
		}
		if older {
			break
		}
		if page == maxPages-1 {
			s.log.WarnContext(ctx, "a mattermost chat has more new posts than etui reads; the earliest are left out", "chat", chat, "read", len(posts))
		}
	}
	slices.SortStableFunc(posts, func(a, b post) int { return cmp.Compare(a.Created, b.Created) })
	return posts, nil
}

// start hands a post over, and moves the position when all earlier ones are safe. If it fails,
// the connection ends, and the next one asks for the post again.
func (s *session) start(ctx context.Context, end context.CancelCauseFunc, p post, alone bool) error {
	if !s.counts(p) {
		return nil
	}
	done := s.safe.Begin(p.Created)
	return s.intake.Start(ctx, platform.Job{
		Chat: p.Chat,
		Take: func(ctx context.Context) error { return s.take(ctx, p, alone) },
		Done: func(err error) {
			if err == nil {
				done()
				_, err = s.keep(context.WithoutCancel(ctx), s.safe.Safe())
			}
			if err != nil {
				end(fmt.Errorf("mattermost: a post was not taken and is asked for again: %w", err))
			}
		},
	})
}
