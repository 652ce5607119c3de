package discord

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
	"sync"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
	beats sync.WaitGroup
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	s := &session{Channel: c, Intake: platform.NewIntake("Discord", c.log, in, c.seen)}
	return s.Intake.Run(ctx, func(ctx context.Context) error { return platform.Renewing(ctx, s.connect) })
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	return s.Hand(ctx, a.channel+":"+a.ID+a.edit, &a.Incoming, len(a.files) > 0, func(ctx context.Context) error {
		return s.complete(ctx, a)
	})
}

// place is what is known about a channel: the one that a thread belongs to, which never
// changes.
type place struct {
	parent string // empty if it is no thread
	direct bool
}

// guild is what is known about a server: a guild, as the API says.
type guild struct {
	owner string
	own   string           // the bot's own role
	roles map[string]int64 // by ID: the permissions
}

// Permissions of roles.
const (
	administers = 1 << 3
	manages     = 1 << 5
)

// complete asks for what an event does not say. An error means that it should arrive again.
func (s *session) complete(ctx context.Context, a *arrival) error {
	p, err := s.place(ctx, a)
	if err != nil {
		return err
	}
	if p.parent != "" {
		a.At.Chat, a.At.Thread = p.parent, a.channel
	}
	if a.Group {
		hoped := a.Incoming
		hoped.Mentioned = a.Mentioned || len(a.mentions) > 0 || p.parent != ""
		if !s.Wants(ctx, hoped) {
			a.Added = a.Mentioned && a.answer == nil && p.parent == "" // no event tells of a channel that has the bot
			return nil
		}
		g := s.guilds.Get(ctx, a.guild, func() (guild, bool) { return s.guild(ctx, a.guild) })
		a.From.Roles = g.standing(a.guild, a.From.ID, a.roles)
		if g.own != "" {
			a.Mentioned = a.Mentioned || slices.Contains(a.mentions, g.own)
			a.Text = strings.TrimSpace(strings.ReplaceAll(a.Text, "<@&"+g.own+">", ""))
		}
	}
	if a.Group && p.parent != "" && a.answer == nil {
		a.Mentioned = a.Mentioned || s.began(ctx, p.parent, a.channel)
		if a.Mentioned && !strings.HasPrefix(a.Text, "/") {
			a.Text = platform.Thread(s.before(ctx, a), a.Text)
		}
	}
	if s.Wants(ctx, a.Incoming) {
		a.Files = s.load(ctx, a.files)
	} else {
		a.Text = platform.Unread(a.Text, a.files, func(f attachment) string { return f.Filename })
	}
	return nil
}

// place returns the place of an event.
func (s *session) place(ctx context.Context, a *arrival) (place, error) {
	if p, ok := s.places.Get(a.channel); ok {
		return p, nil
	}
	p := place{direct: a.guild == ""}
	switch {
	case p.direct, a.kind >= 0 && !threadKind(a.kind): // no thread
	case threadKind(a.kind) && snowflake(a.parent):
		p.parent = a.parent
	default:
		var answer struct {
			Type   int
			Parent string `json:"parent_id"`
		}
		err := s.call(ctx, "GET", "channels/{}", []string{a.channel}, nil, &answer)
		if errors.Is(err, channel.ErrGone) {
			return p, nil // it has just been deleted
		}
		if err != nil {
			return p, fmt.Errorf("discord: whose thread %s is: %w", a.channel, err)
		}
		if threadKind(answer.Type) {
			p.parent = answer.Parent
		}
	}
	s.places.Put(a.channel, p)
	return p, nil
}

// guild asks Discord about a server.
func (c *Channel) guild(ctx context.Context, id string) (g guild, known bool) {
	var answer struct {
		ID    string
		Owner string `json:"owner_id"`
		Roles []struct {
			ID, Permissions string
			Tags            struct {
				Bot string `json:"bot_id"`
			}
		}
	}
	err := c.call(ctx, "GET", "guilds/{}", []string{id}, nil, &answer)
	if err != nil || answer.ID != id {
		c.log.WarnContext(ctx, "discord tells nothing about a server, whose people have no roles", "guild", id, "error",
			err)
		return guild{}, false
	}
	g = guild{owner: answer.Owner, roles: map[string]int64{}}
	self := c.self.Load()
	for _, r := range answer.Roles[:min(len(answer.Roles), 1000)] { // Discord allows 250
		if n, err := strconv.ParseInt(r.Permissions, 10, 64); err == nil {
			g.roles[r.ID] = n
		}
		if self != nil && r.Tags.Bot == self.User {
			g.own = r.ID
		}
	}
	return g, true
}

// standing returns a person's roles in a server: what the person may do in words of this
// package, and the server's roles as role:ID. Names are left out: whoever manages roles can
// give them any. Nothing is known if Discord does not say, so that rules see less than there
// may be and never more.
func (g guild) standing(id, person string, has []string) (roles []string) {
	if g.roles == nil {
		return nil
	}
	may := g.roles[id] // everybody's role has the ID of the server
	for _, r := range has {
		may |= g.roles[r]
	}
	owner := g.owner == person
	if owner {
		roles = append(roles, "owner")
	}
	if owner || may&administers != 0 {
		roles = append(roles, "administrator")
	}
	if owner || may&(administers|manages) != 0 {
		roles = append(roles, "moderator")
	}
	roles = append(roles, "member")
	for _, r := range has {
		if _, ok := g.roles[r]; ok {
			roles = append(roles, "role:"+r)
		}
	}
	return roles
}

// load returns the files of a message with their bytes. Those that are too large, that are
// not at Discord or that Discord does not give have no Data.
func (s *session) load(ctx context.Context, files []attachment) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		list = append(list, platform.Attachment{
			Name: cmp.Or(f.Filename, f.ID), MediaType: f.MediaType, Size: f.Size,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				u, err := url.Parse(f.URL) // of Discord's servers for files, which do not get the token
				if err != nil || !s.api.Trusts(u, "cdn.discordapp.com", "media.discordapp.net") {
					return nil, errors.New("the file is not at Discord")
				}
				return s.api.Fetch(ctx, platform.Request{Call: "loading a file", URL: u, Limit: limit})
			},
		})
	}
	return platform.Load(ctx, s.log, list, maxFiles)
}

// form returns a message with files.
func form(message map[string]any, files []chat.File) (*platform.Form, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	var f platform.Form
	f.Field("payload_json", string(text))
	for i, file := range files {
		f.File("files["+strconv.Itoa(i)+"]", file.Name, "", file.Data) // Discord looks at the name and the bytes
	}
	return &f, nil
}
