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

// person is what Slack knows about somebody.
type person struct {
	handle, name string
	bot          bool
	roles        []string
}

// introduce adds what Slack knows about a sender. Somebody of whom it tells nothing has no
// role.
func (s *session) introduce(ctx context.Context, from *channel.Sender) {
	p := s.people.Get(ctx, from.ID, func() (person, bool) { return s.meet(ctx, from.ID) })
	from.Handle, from.Name = cmp.Or(p.handle, from.Handle), p.name
	from.Bot = from.Bot || p.bot
	from.Roles = slices.Clone(p.roles)
}

// meet asks Slack about a person.
func (s *session) meet(ctx context.Context, id string) (p person, known bool) {
	var answer struct {
		User struct {
			ID           string
			Team         string `json:"team_id"`
			Name         string
			RealName     string `json:"real_name"`
			Deleted      bool
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
	if err := s.call(ctx, s.config.Token, "users.info", url.Values{"user": {id}}, &answer); err != nil {
		s.log.WarnContext(ctx, "slack tells nothing about a sender, who has no name and no role", "user", platform.Word(id), "error", err)
		return person{}, false
	}
	u := answer.User
	p = person{
		handle: printable.Text(u.Name),
		name:   printable.Text(cmp.Or(u.Profile.Display, u.Profile.Real, u.RealName)),
		bot:    u.Bot,
	}
	switch {
	case u.ID != id || u.Deleted:
	case u.Restricted, u.Ultra, u.Stranger, u.Team != s.self.Team && !slices.Contains(u.Enterprise.Teams, s.self.Team):
		p.roles = []string{"guest"} // also an administrator of another workspace, who shares a channel
	case u.Owner, u.PrimaryOwner:
		p.roles = []string{"owner", "administrator"}
	case u.Admin:
		p.roles = []string{"administrator"}
	default:
		p.roles = []string{"member"}
	}
	return p, true
}
