package mattermost

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/names"
)

var _ channel.Finder = (*Channel)(nil)

// maxTeams is how many teams are looked at for a channel that the bot is not in.
const maxTeams = 20

// renames are the events after which channels may have other names, or the bot may be in others.
var renames = []string{
	"channel_created", "channel_updated", "channel_deleted", "channel_restored", "channel_converted", "user_added",
	"user_removed",
}

// Names implements [channel.Finder].
func (c *Channel) Names() *names.Directory { return c.names }

// find finds channels. A channel is found by the name in its address, or else by the one that
// people see. The name in its address is unique in a team.
func (c *Channel) find(ctx context.Context, wanted []string) (map[string][]names.Chat, error) {
	var teams []struct {
		ID   string
		Name string `json:"display_name"`
	}
	if err := c.call(ctx, "GET", "users/me/teams", nil, nil, &teams); err != nil {
		return nil, err
	}
	var mine []place
	if err := c.call(ctx, "GET", "users/me/channels", nil, nil, &mine); err != nil {
		return nil, err
	}
	mine = slices.DeleteFunc(mine, func(p place) bool {
		return !isID(p.ID) || p.Deleted > 0 ||
			p.Type != "O" && p.Type != "P"
	})
	team := func(id string) string {
		for _, t := range teams {
			if t.ID == id {
				return t.Name
			}
		}
		return id
	}
	found := map[string][]names.Chat{}
	for _, name := range wanted {
		plain := strings.TrimPrefix(name, "#")
		called := func(by func(p place) string) {
			for _, p := range mine {
				if names.Same(by(p), plain) {
					found[name] = append(found[name], names.Chat{ID: p.ID, Where: team(p.Team)})
				}
			}
		}
		called(func(p place) string { return p.Name })
		for _, t := range teams[:min(len(teams), maxTeams)] {
			if len(found[name]) > 0 {
				break
			}
			var p place
			err := c.call(ctx, "GET", "teams/{}/channels/name/{}", []string{t.ID, strings.ToLower(plain)}, nil, &p)
			if err != nil && !errors.Is(err, channel.ErrGone) && !errors.Is(err, channel.ErrRejected) {
				return nil, err
			}
			if err == nil && isID(p.ID) {
				in := slices.ContainsFunc(mine, func(m place) bool { return m.ID == p.ID })
				found[name] = append(found[name], names.Chat{ID: p.ID, Where: t.Name, Outside: !in})
			}
		}
		if len(found[name]) == 0 { // anybody may have their channel shown under the name of another one
			called(func(p place) string { return p.Shown })
		}
	}
	return found, nil
}
