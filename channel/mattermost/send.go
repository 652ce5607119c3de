package mattermost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// Send implements [channel.Channel]. A message with more files than a post takes becomes
// several posts; its ID is that of the first one.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	if m.Text == "" && len(m.Files) == 0 {
		return "", errors.New("mattermost: the message is empty")
	}
	if !isID(m.To.Chat) {
		return "", fmt.Errorf("mattermost: %q is not the ID of a chat: %w", platform.Word(m.To.Chat), channel.ErrGone)
	}
	first, text := "", c.dialect.Render(m.Text)
	for i := 0; i == 0 || i < len(m.Files); i += perPost {
		id, err := c.post(ctx, m, i, text, m.Files[i:min(i+perPost, len(m.Files))])
		if err != nil {
			return "", err
		}
		first, text = cmp.Or(first, id), ""
	}
	return first, nil
}

// post writes a post of a message, unless that was done before.
func (c *Channel) post(ctx context.Context, m channel.Outgoing, n int, text string, files []chat.File) (string, error) {
	body := map[string]any{"channel_id": m.To.Chat, "message": text}
	if isID(m.To.Thread) {
		body["root_id"] = m.To.Thread
	}
	key := ""
	if m.Key != "" {
		sum := sha256.Sum256(fmt.Append(nil, m.To.Chat, "\x00", m.To.Thread, "\x00", m.Key, "\x00", n))
		key = hex.EncodeToString(sum[:16])
		body["pending_post_id"] = key
	}
	return c.posted.Once(key, func() (string, error) {
		uploaded, err := c.upload(ctx, m.To.Chat, files) // first, as it fails more often than a text
		if err != nil {
			return "", err
		}
		body["file_ids"] = uploaded
		var answer struct{ ID string }
		if err = c.call(ctx, "POST", "posts", nil, body, &answer); err == nil && !isID(answer.ID) {
			err = errors.New("mattermost: POST posts names no post")
		}
		return answer.ID, err
	})
}

// upload gives the server files, which nobody sees yet, and returns their IDs. A request may
// not be much larger than one file.
func (c *Channel) upload(ctx context.Context, to string, files []chat.File) (ids []string, err error) {
	for _, f := range files {
		query := url.Values{"channel_id": {to}, "filename": {cmp.Or(printable.Line(f.Name, 255), "file")}}
		var answer struct {
			Files []struct{ ID string } `json:"file_infos"`
		}
		err := c.api.Call(ctx, platform.Request{Path: "api/v4/files", Query: query, Body: f.Data}, &answer)
		if err != nil || len(answer.Files) != 1 {
			return nil, cmp.Or(err, errors.New("mattermost: POST files names no file"))
		}
		ids = append(ids, answer.Files[0].ID)
	}
	return ids, nil
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

// React implements [channel.Reactor]. The bot has one emoji on a message; another one
// replaces it. Which one it is the channel knows until it ends.
func (c *Channel) React(ctx context.Context, to channel.Address, emoji string) error {
	name := platform.EmojiName(emoji)
	switch {
	case !isID(to.Message):
		return errors.New("mattermost: no message is named to react to")
	case emoji != "" && name == "":
		return fmt.Errorf("mattermost: no name is known for the emoji %q", platform.Word(emoji))
	}
	self := c.self.Load()
	if self == nil {
		return errors.New("mattermost: the channel does not run yet")
	}
	return c.reactions.Replace(to.Message, name, func(old string) error {
		err := c.call(ctx, "DELETE", "users/me/posts/{}/reactions/{}", []string{to.Message, old}, nil, nil)
		if errors.Is(err, channel.ErrGone) {
			return nil
		}
		return err
	}, func() (string, error) {
		body := map[string]string{"user_id": self.ID, "post_id": to.Message, "emoji_name": name}
		return name, c.call(ctx, "POST", "reactions", nil, body, nil)
	})
}
