package discord

import (
	"context"
	"errors"
	"slices"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/names"
)

var _ channel.Finder = (*Channel)(nil)

const (
	// guildPage is how many servers are asked for at once, and maxListed how many are looked at: a channel of
	// another one is not found.
	guildPage, maxListed = 200, 200
)

// written are the kinds of channels in which people write: those for text, voice, announcements and stages.
var written = []int{0, 2, 5, 13}

// Names implements [channel.Finder].
func (c *Channel) Names() *names.Directory { return c.names }

// find finds channels in all servers of the bot. No event tells of a new name: the Gateway
// would send all that is known about each server with it.
func (c *Channel) find(ctx context.Context, wanted []string) (map[string][]names.Chat, error) {
	found, after := map[string][]names.Chat{}, "0"
	for seen := 0; seen < maxListed; {
		var guilds []struct{ ID, Name string }
		if err := c.call(ctx, "GET", "users/@me/guilds?limit=200&after="+after, nil, nil, &guilds); err != nil {
			return nil, err
		}
		for _, g := range guilds {
			var channels []struct {
				ID, Name string
				Type     int
			}
			if !snowflake(g.ID) {
				return nil, errors.New("discord: users/@me/guilds names a server without an ID")
			}
			after = g.ID
			err := c.call(ctx, "GET", "guilds/{}/channels", []string{g.ID}, nil, &channels)
			if errors.Is(err, channel.ErrGone) { // the bot was removed from it meanwhile
				continue
			}
			if err != nil {
				return nil, err
			}
			for _, one := range channels {
				for _, name := range wanted {
					if snowflake(one.ID) && slices.Contains(written, one.Type) && names.Same("#"+one.Name, name) {
						found[name] = append(found[name], names.Chat{ID: one.ID, Where: g.Name})
					}
				}
			}
		}
		if seen += len(guilds); len(guilds) < guildPage {
			break
		}
	}
	return found, nil
}
