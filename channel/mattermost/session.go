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
	"time"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
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
	if err = json.Unmarshal(data, &e); err == nil && e.Event == "posted" {
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
		case e.Event == "hello" && s.safe == nil:
			wait, err = ctx, s.catchUp(ctx, end) // later posts wait in the connection
		case e.Event == "posted" && s.safe != nil:
			err = s.start(ctx, end, e.post)
		}
	}
	return err
}

// place is a channel of Mattermost.
type place struct {
	ID, Type string
	Last     int64 `json:"last_post_at"`
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
	return s.Intake.Start(ctx, platform.Job{
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
