package slack

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"strconv"
	"strings"

	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
)

// file is a file of a message.
type file struct {
	ID, Name, Title string
	MediaType       string `json:"mimetype"`
	Size            int64
	URL             string `json:"url_private"`
	Download        string `json:"url_private_download"`
	Access          string `json:"file_access"`
}

// load returns the files of a message with their bytes. Those that are too large, that are
// not at Slack or that Slack does not give have no Data.
func (s *session) load(ctx context.Context, files []file) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		if f.Access == "check_file_info" { // a file of another workspace comes without anything but its ID
			var answer struct{ File file }
			if err := s.call(ctx, s.config.Token, "files.info", url.Values{"file": {f.ID}}, &answer); err == nil {
				f = answer.File
			}
		}
		list = append(list, platform.Attachment{
			Name: cmp.Or(f.Name, f.Title, f.ID), MediaType: f.MediaType, Size: f.Size,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				return s.fetch(ctx, cmp.Or(f.Download, f.URL), limit)
			},
		})
	}
	return platform.Load(ctx, s.log, list, maxFiles)
}

// fetch loads a file with the bot's token, which only Slack gets.
func (c *Channel) fetch(ctx context.Context, address string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || !c.trusted(u) {
		return nil, errors.New("the file is not at Slack")
	}
	// A redirect fails, too: it leads to a page to sign in.
	return c.api.Fetch(ctx, platform.Request{Call: "loading a file", URL: u, Header: platform.Bearer(c.config.Token),
		Limit: limit})
}

// file sends a file and returns its ID. Nobody sees the bytes before they are shared.
func (c *Channel) file(ctx context.Context, to channel.Address, f chat.File) (string, error) {
	name := cmp.Or(f.Name, "file")
	var place struct {
		URL string `json:"upload_url"`
		ID  string `json:"file_id"`
	}
	args := url.Values{"filename": {name}, "length": {strconv.Itoa(len(f.Data))}}
	if err := c.call(ctx, c.config.Token, "files.getUploadURLExternal", args, &place); err != nil {
		return "", err
	}
	u, err := url.Parse(place.URL)
	if err != nil || !c.trusted(u) {
		return "", errors.New("slack: files.getUploadURLExternal leads to a server that is not Slack")
	}
	bytes := platform.Request{Call: "uploading " + platform.Word(name), URL: u, Body: f.Data, Raw: true}
	if _, err := c.api.Do(ctx, bytes); err != nil {
		return "", err
	}
	uploaded, err := json.Marshal([]map[string]string{{"id": place.ID, "title": name}})
	if err != nil {
		return "", err
	}
	args = url.Values{"files": {string(uploaded)}, "channel_id": {to.Chat}}
	if strings.HasPrefix(to.Chat, "U") || strings.HasPrefix(to.Chat, "W") {
		args = url.Values{"files": args["files"], "channels": {to.Chat}} // takes people, too
	}
	if to.Thread != "" {
		args.Set("thread_ts", to.Thread)
	}
	return place.ID, c.call(ctx, c.config.Token, "files.completeUploadExternal", args, nil)
}
