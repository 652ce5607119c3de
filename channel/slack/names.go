package slack

import (
	"context"
	"net/url"
	"strconv"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/names"
)

var _ channel.Finder = (*Channel)(nil)

const (
	// listed is how many channels are asked for at once, of at most 999, and maxLists how often: those that
	// come after are not found.
	listed, maxLists = 500, 40
)

// Names implements [channel.Finder].
func (c *Channel) Names() *names.Directory { return c.names }

// find finds channels. In a workspace each name belongs to one channel
// (reference/methods/conversations.list); a private one is listed if the bot is in it.
func (c *Channel) find(ctx context.Context, wanted []string) (map[string][]names.Chat, error) {
	found, cursor := map[string][]names.Chat{}, ""
	for range maxLists {
		args := url.Values{
			"types": {"public_channel,private_channel"}, "exclude_archived": {"true"}, "limit": {strconv.Itoa(listed)},
		}
		if cursor != "" {
			args.Set("cursor", cursor)
		}
		var answer struct {
			Channels []struct {
				ID, Name string
				Archived bool `json:"is_archived"`
				Member   bool `json:"is_member"`
			}
			More struct {
				Cursor string `json:"next_cursor"`
			} `json:"response_metadata"`
		}
		if err := c.call(ctx, c.config.Token, "conversations.list", args, &answer); err != nil {
			return nil, err
		}
		for _, one := range answer.Channels {
			for _, name := range wanted {
				if one.ID != "" && !one.Archived && names.Same("#"+one.Name, name) {
					found[name] = append(found[name], names.Chat{ID: one.ID, Outside: !one.Member})
				}
			}
		}
		if cursor = answer.More.Cursor; cursor == "" || len(found) == len(wanted) {
			break
		}
	}
	return found, nil
}
