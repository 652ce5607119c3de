package client

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

// SessionName is a key without what most keys begin with, as commands show and take it.
func SessionName(key session.Key) string { return strings.TrimPrefix(string(key), "agent:") }

// SessionPath is where operators find a session.
func SessionPath(key session.Key) string { return "/admin/sessions/" + url.PathEscape(string(key)) }

// Sessions yields the sessions at a path that a query chooses, newest first, at most limit
// of them; 0 means all.
func (c *Client) Sessions(ctx context.Context, path string, q url.Values, limit int) iter.Seq2[session.Summary, error] {
	return func(yield func(session.Summary, error) bool) {
		for n := 0; ; {
			q.Set("limit", strconv.Itoa(cmp.Or(limit, 200)))
			var page api.SessionPage
			if err := c.Do(ctx, http.MethodGet, path+"?"+q.Encode(), nil, &page); err != nil {
				yield(session.Summary{}, err)
				return
			}
			for _, s := range page.Sessions {
				if !yield(s, nil) {
					return
				}
				if n++; n == limit {
					return
				}
			}
			if page.Next == "" {
				return
			}
			q.Set("after", page.Next)
		}
	}
}

// FindSessions returns the sessions that a name may mean, a few at most: the one with that
// key or [SessionName], else those that have it in their keys.
func (c *Client) FindSessions(ctx context.Context, name string) (found []session.Summary, err error) {
	for _, q := range []url.Values{{"key": {name}}, {"key": {"agent:" + name}}, {"part": {name}}} {
		for s, err := range c.Sessions(ctx, "/admin/sessions", q, 5) {
			if err != nil {
				return nil, err
			}
			found = append(found, s)
		}
		if len(found) == 1 {
			break
		}
	}
	return found, nil
}

// Messages yields the messages of a session, oldest first, with the content of their files.
func (c *Client) Messages(ctx context.Context, key session.Key) iter.Seq2[chat.Message, error] {
	return func(yield func(chat.Message, error) bool) {
		const most = 500
		for skip := 0; ; {
			var page inspect.Conversation
			err := c.Do(ctx, http.MethodGet, fmt.Sprintf("%s?skip=%d&limit=%d", SessionPath(key), skip, most), nil,
				&page)
			if err != nil {
				yield(chat.Message{}, err)
				return
			}
			for _, m := range page.Said {
				err := c.fill(ctx, m.Files)
				if !yield(m, err) || err != nil {
					return
				}
			}
			if len(page.Said) == 0 {
				return
			}
			skip += len(page.Said)
		}
	}
}

// fill reads the content of files.
func (c *Client) fill(ctx context.Context, files []chat.File) error {
	for i, f := range files {
		if err := c.Do(ctx, http.MethodGet, "/admin/files/"+url.PathEscape(f.SHA256), nil, &f); err != nil {
			return err
		}
		files[i].Data = f.Data
	}
	return nil
}
