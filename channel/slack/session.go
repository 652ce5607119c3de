package slack

import (
	"cmp"
	"context"
	"net/url"
	"slices"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/internal/printable"
)

// session is what one call of Run works with.
type session struct {
	*Channel
	*platform.Intake
	self *account
}

// Run implements [channel.Channel].
func (c *Channel) Run(ctx context.Context, in channel.Receiver) error {
	self, err := c.ask(ctx)
	if err != nil {
		return err
	}
	if err := c.moves.Open(ctx, self.Team+" "+self.User); err != nil {
		return err
	}
	s := &session{c, platform.NewIntake("Slack", c.log, in, c.seen), self}
	return s.Intake.Run(ctx, func(ctx context.Context) error {
		if c.config.AppToken != "" {
			return platform.Renewing(ctx, s.socket)
		}
		c.open.Store(s)
		defer c.open.CompareAndSwap(s, nil)
		return s.Serve(ctx)
	})
}

// take completes a message and hands it over, unless that was done before.
func (s *session) take(ctx context.Context, a *arrival) error {
	if a.renamed {
		s.names.Forget()
		return nil
	}
	if a.moved != "" {
		s.moves.Move(ctx, a.moved, a.At.Chat)
		return nil
	}
	m := a.Incoming
	m.Former = s.moves.Former(m.At.Chat)
	if a.below && !m.Mentioned {
		hoped := m
		hoped.Mentioned = true
		m.Mentioned = s.Wants(ctx, hoped) && s.began(ctx, m.At)
	}
	wanted := s.Wants(ctx, m)
	if !wanted {
		m.Text = platform.Unread(m.Text, a.files, func(f file) string { return cmp.Or(f.Name, f.Title) })
		a.files = nil
	}
	return s.Hand(ctx, a.ID+a.edit, &m, len(a.files) > 0, func(ctx context.Context) error {
		s.people.Introduce(ctx, &m.From, s.meet)
		if wanted {
			s.complete(ctx, a, &m)
		}
		m.Files = s.load(ctx, a.files)
		return nil
	})
}

// meet asks Slack about a person.
func (s *session) meet(ctx context.Context, id string) (p channel.Sender, known bool) {
	var answer struct {
		User struct {
			ID           string
			Team         string `json:"team_id"`
			Name         string
			RealName     string `json:"real_name"`
			Deleted      bool
			Locale       string
			Bot          bool `json:"is_bot"`
			Owner        bool `json:"is_owner"`
			PrimaryOwner bool `json:"is_primary_owner"`
			Admin        bool `json:"is_admin"`
			Restricted   bool `json:"is_restricted"`
			Ultra        bool `json:"is_ultra_restricted"`
			Stranger     bool `json:"is_stranger"`
			Profile      struct {
				Display string `json:"display_name"`
				Real    string `json:"real_name"`
			}
			Enterprise struct{ Teams []string } `json:"enterprise_user"`
		}
	}
	if err := s.call(ctx, s.config.Token, "users.info", url.Values{"user": {id}, "include_locale": {"true"}},
		&answer); err != nil {
		s.log.WarnContext(ctx, "slack tells nothing about a sender, who has no name and no role",
			"user", platform.Word(id), "error", err)
		return p, false
	}
	u := answer.User
	name := cmp.Or(u.Profile.Display, u.Profile.Real, u.RealName)
	p = channel.Sender{Handle: printable.Text(u.Name), Name: printable.Text(name), Language: u.Locale, Bot: u.Bot}
	switch {
	case u.ID != id || u.Deleted:
	case u.Restricted, u.Ultra, u.Stranger, u.Team != s.self.Team && !slices.Contains(u.Enterprise.Teams, s.self.Team):
		p.Roles = []string{"guest"} // also an administrator of another workspace, who shares a channel
	case u.Owner, u.PrimaryOwner:
		p.Roles = []string{"owner", "administrator"}
	case u.Admin:
		p.Roles = []string{"administrator"}
	default:
		p.Roles = []string{"member"}
	}
	return p, true
}
