package mattermost

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
)

func gone(err error) bool { return errors.Is(err, channel.ErrGone) }

// Send implements [channel.Channel]. A message with more files than a post takes becomes
// several posts; its ID is that of the first one.
func (c *Channel) Send(ctx context.Context, m channel.Outgoing) (string, error) {
	if m.Text == "" && len(m.Files) == 0 {
		return "", errors.New("mattermost: the message is empty")
	}
	if !isID(m.To.Chat) {
		return "", fmt.Errorf("mattermost: %q is not the ID of a channel: %w", platform.Word(m.To.Chat), channel.ErrGone)
	}
	first, text, files := "", c.dialect.Render(m.Text), m.Files
	for i := 0; i == 0 || len(files) > 0; i++ {
		n := min(len(files), perPost)
		key := m.Key
		if key != "" {
			key += "/" + strconv.Itoa(i)
		}
		id, err := c.post(ctx, m.To, key, text, files[:n])
		if err != nil {
			return "", err
		}
		first, text, files = cmp.Or(first, id), "", files[n:]
	}
	return first, nil
}

// post writes a post, unless that was done before.
func (c *Channel) post(ctx context.Context, to channel.Address, key, text string, files []chat.File) (string, error) {
	body := map[string]any{"channel_id": to.Chat, "message": text}
	if isID(to.Thread) {
		body["root_id"] = to.Thread
	}
	pending := ""
	if key != "" {
		sum := sha256.Sum256([]byte(to.Chat + "\x00" + to.Thread + "\x00" + key))
		pending = hex.EncodeToString(sum[:16])
		if id, ok := c.posted.Get(pending); ok {
			return id, nil
		}
		body["pending_post_id"] = pending
	}
	var uploaded []string
	for _, f := range files { // first, as they fail more often than a text
		id, err := c.upload(ctx, to.Chat, f)
		if err != nil {
			return "", err
		}
		uploaded = append(uploaded, id)
	}
	if len(uploaded) > 0 {
		body["file_ids"] = uploaded
	}
	var answer struct{ ID string }
	if err := c.call(ctx, "POST", "posts", nil, body, &answer); err != nil {
		return "", err
	}
	if !isID(answer.ID) {
		return "", errors.New("mattermost: POST posts names no post")
	}
	if pending != "" {
		c.posted.Put(pending, answer.ID)
	}
	return answer.ID, nil
}

// upload gives the server a file, which nobody sees yet.
func (c *Channel) upload(ctx context.Context, to string, f chat.File) (string, error) {
	var form platform.Form
	form.File("files", f.Name, f.MediaType, f.Data)
	var answer struct {
		Files []struct{ ID string } `json:"file_infos"`
	}
	r := platform.Request{Call: "POST files", Path: "api/v4/files", Query: url.Values{"channel_id": {to}}, Body: &form}
	if err := c.api.Call(ctx, r, &answer); err != nil {
		return "", err
	}
	if len(answer.Files) != 1 || !isID(answer.Files[0].ID) {
		return "", errors.New("mattermost: POST files names no file")
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
	self, err := c.who(ctx)
	if err != nil {
		return err
	}
	return c.reactions.Replace(to.Message, name, func(old string) error {
		err := c.call(ctx, "DELETE", "users/me/posts/{}/reactions/{}", []string{to.Message, old}, nil, nil)
		if gone(err) {
			return nil
		}
		return err
	}, func() (string, error) {
		body := map[string]string{"user_id": self.ID, "post_id": to.Message, "emoji_name": name}
		return name, c.call(ctx, "POST", "reactions", nil, body, nil)
	})
}
