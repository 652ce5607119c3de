package discord

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
)

// maxListed is how many files of a message are taken; Discord's own limit is ten.
const maxListed = 20

// load returns the files of a message with their bytes. Those that are too large, that are
// not at Discord or that Discord does not give have no Data.
func (s *session) load(ctx context.Context, files []attachment) []chat.File {
	files = files[:min(len(files), maxListed)]
	loaded := make([]chat.File, len(files))
	for i, f := range files {
		loaded[i] = platform.File(cmp.Or(f.Filename, f.ID), f.MediaType, f.Size)
	}
	platform.Load(ctx, s.log, loaded, maxFiles, func(i int, limit int64) ([]byte, error) {
		return s.fetch(ctx, files[i].URL, limit)
	})
	return loaded
}

// fetch loads a file from Discord's servers for files, which do not get the token.
func (c *Channel) fetch(ctx context.Context, address string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || !c.api.Trusts(u, "cdn.discordapp.com", "media.discordapp.net") {
		return nil, errors.New("the file is not at Discord")
	}
	return c.api.Fetch(ctx, platform.Request{Call: "loading a file", URL: u, Limit: limit})
}

// form returns a message with files.
func form(message map[string]any, files []chat.File) (*platform.Form, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	var f platform.Form
	f.Field("payload_json", string(text))
	for i, file := range files {
		f.File("files["+strconv.Itoa(i)+"]", file.Name, "", file.Data) // Discord looks at the name and the bytes
	}
	return &f, nil
}
