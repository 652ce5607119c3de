package conversation

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/turn"
)

// late shows what was said since a call began to wait: other people answer it, and its conversation
// goes on without this terminal. Outcomes that cannot be looked up now are shown later.
func (c *Conversation) late(ctx context.Context) {
	if !c.waits || c.JSON {
		return
	}
	found, err := c.look(ctx, fmt.Sprint("skip=", c.seen))
	if err != nil {
		return
	}
	for _, m := range found.Said {
		if m.Role == chat.Assistant && m.Text != "" {
			r := &reply{Console: c.Console}
			r.text = r.answer()
			_, _ = r.text.Write([]byte(m.Text))
			r.end()
		}
	}
	c.seen = found.Skip + len(found.Said)
	if c.waits = found.Phase != turn.Finished; !c.waits {
		c.waiting = nil
	}
}

// look returns the conversation, by the part of a query that says which of its messages.
func (c *Conversation) look(ctx context.Context, part string) (found inspect.Conversation, err error) {
	var who struct {
		Session string `json:"session"`
	}
	if err := c.client.Do(ctx, http.MethodPost, "/api/whoami", c.who, &who); err != nil {
		return found, err
	}
	path := "/admin/sessions/" + url.PathEscape(who.Session) + "?" + part
	if user := cmp.Or(c.who.As, c.who.User); user != "" {
		path = "/api/sessions/" + url.PathEscape(who.Session) + "?" + part + "&user=" + url.QueryEscape(user)
	}
	return found, c.client.Do(ctx, http.MethodGet, path, nil, &found)
}
