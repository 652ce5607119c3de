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

// load returns the files of a message with their bytes. Those that are too large, that are
// not at Discord or that Discord does not give have no Data.
func (s *session) load(ctx context.Context, files []attachment) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		list = append(list, platform.Attachment{
			Name: cmp.Or(f.Filename, f.ID), MediaType: f.MediaType, Size: f.Size,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				u, err := url.Parse(f.URL) // of Discord's servers for files, which do not get the token
				if err != nil || !s.api.Trusts(u, "cdn.discordapp.com", "media.discordapp.net") {
					return nil, errors.New("the file is not at Discord")
				}
				return s.api.Fetch(ctx, platform.Request{Call: "loading a file", URL: u, Limit: limit})
			},
		})
	}
	return platform.Load(ctx, s.log, list, maxFiles)
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
