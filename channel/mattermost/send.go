package mattermost

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/markup"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// Send implements [channel.Channel].
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	if !isID(m.To.Chat) {
		return "", fmt.Errorf("mattermost: %q is not the ID of a chat: %w", platform.Word(m.To.Chat), channel.ErrGone)
	}
	return c.sent.Parts(m, func(part channel.Outgoing) (string, error) {
		body := map[string]any{"channel_id": m.To.Chat, "message": c.dialect.Render(part.Text)}
		if part.Plain {
			body["message"] = escape(part.Text)
		}
		if isID(m.To.Thread) {
			body["root_id"] = m.To.Thread
		}
		if part.Key != "" {
			body["pending_post_id"] = platform.Digest(32, m.To.Chat, m.To.Thread, part.Key)
		}
		for _, f := range part.Files {
			id, err := c.upload(ctx, m.To.Chat, f)
			if err != nil {
				return "", err
			}
			body["file_ids"] = []string{id}
		}
		var answer struct{ ID string }
		err := c.call(ctx, "POST", "posts", nil, body, &answer)
		if err == nil && !isID(answer.ID) {
			err = errors.New("mattermost: POST posts names no post")
		}
		return answer.ID, err
	})
}

// upload gives the server a file, which nobody sees yet, and returns its ID.
func (c *Channel) upload(ctx context.Context, to string, f chat.File) (string, error) {
	query := url.Values{"channel_id": {to}, "filename": {cmp.Or(printable.Line(f.Name, 255), "file")}}
	var answer struct {
		Files []struct{ ID string } `json:"file_infos"`
	}
	err := c.api.Call(ctx, platform.Request{Path: "api/v4/files", Query: query, Body: f.Data}, &answer)
	if err != nil || len(answer.Files) != 1 {
		return "", cmp.Or(err, errors.New("mattermost: POST files names no file"))
	}
	return answer.Files[0].ID, nil
}

// Edit implements [channel.Editor].
func (c *Channel) Edit(ctx context.Context, _ channel.Address, id, text string) error {
	return c.call(ctx, "PUT", "posts/{}/patch", []string{id}, map[string]string{"message": c.dialect.Render(text)}, nil)
}

// Typing implements [channel.Typer].
func (c *Channel) Typing(ctx context.Context, to channel.Address) error {
	body := map[string]string{"channel_id": to.Chat}
	if isID(to.Thread) {
		body["parent_id"] = to.Thread
	}
	return c.call(ctx, "POST", "users/me/typing", nil, body, nil)
}

// dialect is Mattermost's kind of Markdown. It is GitHub's, but a picture is written as a
// link, which no reader's program loads, and nothing mentions anybody.
func dialect() markup.Dialect {
	d := markup.Markdown(escape)
	d.Link, d.Rule = link, "---"
	d.Gap = func(b markup.Block) bool { return !b.Text && !b.Item && (b.Blank || !b.Tight) } // a table ends a list
	return d
}

// length is how Mattermost counts a text of the agent: as it is sent, in characters.
func (c *Channel) length(markdown string) int {
	return utf8.RuneCountInString(c.dialect.Sent(markdown, maxText))
}

// at is where a mention may begin: @channel would notify everybody.
var at = regexp.MustCompile(`(^|[^\pL\pN_])@`)

// escape writes text without meaning. Behind a space without width nobody is mentioned.
func escape(s string) string { return at.ReplaceAllString(markup.EscapeMarkdown(s), "$1@\u200b") }

// link writes a link. Only addresses of the web and of mailboxes become one.
func link(l markup.Link) string {
	target, ok := markup.Address(l.Target)
	switch {
	case !ok:
		return escape(l.Plain())
	case l.Bare && !l.Web():
		return escape(l.Label)
	}
	target = strings.ReplaceAll(markup.InLink(target), "@", "%40") // it mentions nobody either
	if l.Bare || l.Label == "" || l.Label == l.Target {
		return target
	}
	return "[" + strings.ReplaceAll(escape(l.Label), "]", `\]`) + "](" + target + ")"
}
