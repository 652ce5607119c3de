package matrix

import (
	"context"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/names"
	"github.com/etui-run/etui/channel/platform"
)

var _ channel.Finder = (*Channel)(nil)

// typeAlias is the event that says by which address people shall know a room.
const typeAlias = "m.room.canonical_alias"

// Names implements [channel.Finder] for the addresses of rooms, #ops:example.org.
func (c *Channel) Names() *names.Directory { return c.aliases }

// find finds rooms ("Room aliases"). An address without a server is one of the account's.
func (c *Channel) find(ctx context.Context, wanted []string) (map[string][]names.Chat, error) {
	me, err := c.who(ctx)
	if err != nil {
		return nil, err
	}
	found := map[string][]names.Chat{}
	for _, name := range wanted {
		address := name
		if !strings.Contains(name, ":") {
			_, server, _ := strings.Cut(me.ID, ":")
			address += ":" + server
		}
		var room struct {
			ID string `json:"room_id"`
		}
		err := c.call(ctx, "GET", "v3/directory/room/{}", []string{address}, nil, nil, &room)
		if platform.Fails(err, notFound, badParameter, "M_INVALID_ROOM_ALIAS") || err == nil && !roomID(room.ID) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var m member
		err = c.call(ctx, "GET", "v3/rooms/{}/state/{}/{}", []string{room.ID, typeMember, me.ID}, nil, nil, &m)
		if err != nil && !failed(err) {
			return nil, err
		}
		found[name] = []names.Chat{{ID: room.ID, Outside: err != nil || m.Membership != "join"}}
	}
	return found, nil
}

// configured reports whether the configuration names a room, or the one that it replaces.
func (c *Channel) configured(ctx context.Context, room string) bool {
	return len(c.aliases.Match(ctx, c.config.Groups, room, c.moves.Former(room))) > 0
}
