package feishu

import (
	"cmp"
	"context"
	"errors"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/channel/platform"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// The sizes of uploads (上传图片, im-v1/image/create; 上传文件, im-v1/file/create).
const (
	maxFile  = 30 << 20
	maxImage = 10 << 20
)

// load returns the files of a message with their bytes. Those that are too large or that
// the platform does not give have no Data.
func (s *session) load(ctx context.Context, a *arrival) []chat.File {
	var list []platform.Attachment
	for _, f := range a.files {
		list = append(list, platform.Attachment{
			Name: f.name, MediaType: f.mediaType,
			Fetch: func(ctx context.Context, limit int64) ([]byte, error) {
				return s.fetch(ctx, cmp.Or(f.message, a.ID), f, limit)
			},
		})
	}
	return platform.Load(ctx, s.log, list, maxFiles)
}

// fetch loads a file of a message (获取消息中的资源文件, im-v1/message-resource/get).
func (c *Channel) fetch(ctx context.Context, message string, f file, limit int64) ([]byte, error) {
	const name = "im/v1/messages/{message_id}/resources/{file_key}"
	if !isID(f.key, "") {
		return nil, errors.New("feishu: " + name + ": the key is not one of a file")
	}
	return c.request(ctx, platform.Request{
		Path: "im/v1/messages/" + message + "/resources/" + f.key, Query: url.Values{"type": {f.kind}},
		Limit: limit, Time: platform.FileTime,
	}, nil)
}

// kind is a type of message.
type kind string

// The types that are sent.
const (
	kindCard  kind = "interactive"
	kindPost  kind = "post"
	kindImage kind = "image"
	kindFile  kind = "file"
)

// pictures are the types of pictures that the platform shows.
var pictures = []string{"image/jpeg", "image/png", "image/webp", "image/gif", "image/bmp", "image/tiff"}

// documents are the types of files that it knows, by their ending; others are a stream.
var documents = map[string]string{".pdf": "pdf", ".doc": "doc", ".docx": "doc", ".xls": "xls", ".xlsx": "xls",
	".ppt": "ppt", ".pptx": "ppt"}

// upload hands a file to the platform, and returns what a message with it consists of.
func (c *Channel) upload(ctx context.Context, f chat.File) (kind, any, error) {
	mediaType, _, _ := mime.ParseMediaType(f.MediaType)
	name := cmp.Or(printable.OneLine(f.Name), "file")
	if slices.Contains(pictures, mediaType) && len(f.Data) <= maxImage {
		var answer struct {
			Key string `json:"image_key"`
		}
		err := c.post(ctx, "im/v1/images", map[string]string{"image_type": "message"}, "image", name, f.Data, &answer)
		return kindImage, map[string]string{"image_key": answer.Key}, err
	}
	var answer struct {
		Key string `json:"file_key"`
	}
	form := map[string]string{"file_type": cmp.Or(documents[strings.ToLower(path.Ext(name))], "stream"),
		"file_name": name}
	err := c.post(ctx, "im/v1/files", form, "file", name, f.Data, &answer)
	return kindFile, map[string]string{"file_key": answer.Key}, err
}

// post posts a form with a file.
func (c *Channel) post(ctx context.Context, path string, fields map[string]string, field, name string, content []byte,
	out any) error {
	var form platform.Form
	for k, v := range fields {
		form.Field(k, v)
	}
	form.File(field, name, "", content)
	return c.call(ctx, http.MethodPost, path, nil, &form, out)
}
