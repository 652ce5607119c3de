package matrix

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/picture"
	"github.com/etui-run/etui/internal/printable"
)

// load returns the files of a message with their bytes. Those that are too large or encrypted,
// or that the homeserver does not give, have no Data.
func (r *run) load(ctx context.Context, files []file) []chat.File {
	var list []platform.Attachment
	for _, f := range files {
		list = append(list, platform.Attachment{
			Name: f.name, MediaType: f.mediaType, Size: f.size,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				return r.download(ctx, f.url, limit)
			},
		})
	}
	return platform.Load(ctx, r.log, list, maxFiles)
}

// download loads a file from the homeserver: from where it asks who wants it, or on one that is
// older than version 1.11 of the specification, from where it does not.
func (c *Channel) download(ctx context.Context, address string, most int64) ([]byte, error) {
	server, media, ok := mxc(address)
	if !ok {
		return nil, errors.New("it is encrypted, or at no homeserver")
	}
	get := func(path string) ([]byte, error) {
		r := route("GET", path, server, media)
		r.Limit, r.Time = most, platform.FileTime
		answer, err := c.api.Do(ctx, r)
		if err != nil {
			return nil, err
		}
		return answer.Body, nil
	}
	data, err := get("v1/media/download/{}/{}")
	var f *platform.Failure
	if errors.As(err, &f) && (f.Code == unrecognized || f.Code == "") {
		return get("/media/v3/download/{}/{}")
	}
	return data, err
}

// mxc takes the address of a file apart.
func mxc(address string) (server, media string, ok bool) {
	rest, ok := strings.CutPrefix(address, "mxc://")
	server, media, both := strings.Cut(rest, "/")
	ok = ok && both && server != "" && len(address) <= 2*maxID &&
		strings.Trim(media, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-") == "" && media != "" &&
		!strings.ContainsFunc(server, func(r rune) bool {
			return r <= ' ' || r > '~' ||
				strings.ContainsRune("/?#%\\", r)
		}) && strings.Trim(server, ".") != ""
	return server, media, ok
}

// upload brings a file to the homeserver, and returns the message with it.
func (c *Channel) upload(ctx context.Context, f chat.File) (object, error) {
	name := cmp.Or(printable.Line(f.Name, 255), "file")
	mediaType, _, err := mime.ParseMediaType(f.MediaType)
	if err != nil {
		mediaType = "application/octet-stream"
	}
	info := object{"size": len(f.Data)}
	kind, _, _ := strings.Cut(mediaType, "/")
	switch p, err := picture.Inspect(f.Data); {
	case err == nil:
		kind, mediaType, info["w"], info["h"] = "image", p.MediaType, p.Width, p.Height
	case kind != "audio" && kind != "video":
		kind = "file" // also a picture of a kind that not every client shows
	}
	info["mimetype"] = mediaType
	var answer struct {
		URI string `json:"content_uri"`
	}
	r := route("POST", "/media/v3/upload")
	r.Query, r.Header, r.Body = url.Values{"filename": {name}}, http.Header{"Content-Type": {mediaType}}, f.Data
	if err := c.request(ctx, r, &answer); err != nil {
		return nil, err
	}
	if _, _, ok := mxc(answer.URI); !ok {
		return nil, fmt.Errorf("matrix: the homeserver does not say where the file %s is", name)
	}
	return object{"msgtype": "m." + kind, "body": name, "filename": name, "url": answer.URI, "info": info,
		"m.mentions": object{}, agentKey: true}, nil
}
