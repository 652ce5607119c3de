package matrix

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/etui-run/etui/channel/platform"
)

// before returns what was said in a thread before a message that names the account, and after what the
// agent has read there: the first message, and the newest ones.
func (r *run) before(ctx context.Context, a *arrival) (said []platform.Said, err error) {
	room, thread := a.At.Chat, a.At.Thread
	var list struct {
		Chunk []json.RawMessage // newest first
	}
	query := url.Values{"dir": {"b"}, "limit": {strconv.Itoa(platform.MaxThread)}}
	err = r.call(ctx, "GET", "v1/rooms/{}/relations/{}/m.thread", []string{room, thread}, query, nil, &list)
	if failed(err) {
		r.log.DebugContext(ctx, "the homeserver does not show a thread", "room", room, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	last := r.upTo.After(room+" "+thread, a.ID)
	add := func(c cited) error {
		name := "you"
		if c.sender != r.me.ID {
			if name, err = r.name(ctx, room, c.sender); err != nil {
				return err
			}
		} else if last != "" {
			return nil // the conversation has it
		}
		for _, f := range c.files {
			c.text += " [file " + f.name + "]"
		}
		said = append(said, platform.Said{Name: name, Text: c.text})
		return nil
	}
	events := []event{}
	for _, raw := range list.Chunk {
		e, err := parse(raw)
		if err == nil && e.ID == last {
			break
		}
		if err == nil && e.ID != a.ID && (a.Time.IsZero() || !e.time().After(a.Time)) {
			events = append(events, e)
		}
	}
	if last == "" {
		root, err := r.written(ctx, room, thread)
		if err != nil {
			return nil, err
		}
		if err := add(root); err != nil {
			return nil, err
		}
	}
	for _, e := range slices.Backward(events) {
		if err := add(citation(e)); err != nil {
			return nil, err
		}
	}
	r.upTo.Note(room+" "+thread, a.ID)
	return said, nil
}
