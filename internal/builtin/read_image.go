package builtin

import (
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/picture"
)

type imageInput struct {
	Path string `json:"path"`
}

// readImage shows you a picture of the workspace: PNG, JPEG, GIF or WebP.
//
//etui:tool risk=read
//etui:zh 查看工作区中的图片。
//etui:alias look at picture, view image, screenshot, 看图片, 查看截图
func (f *Files) readImage(in imageInput) (chat.Result, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return chat.Result{}, err
	}
	defer s.close()
	file, info, err := s.open()
	if err != nil {
		return chat.Result{}, err
	}
	defer file.Close()
	if info.Size() > picture.MaxBytes {
		return chat.Result{}, fmt.Errorf("%s has %d bytes; pictures up to 3 MiB are shown", s.shown, info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(file, picture.MaxBytes))
	if err != nil {
		return chat.Result{}, say(s.shown, err)
	}
	kind, width, height, err := picture.Inspect(raw)
	if err != nil {
		return chat.Result{}, fmt.Errorf("%s %w", s.shown, err)
	}
	return chat.Result{
		Text:   fmt.Sprintf("%s: %s, %d x %d pixels, %d bytes.", s.shown, strings.TrimPrefix(kind, "image/"), width, height, len(raw)),
		Images: []chat.File{{Name: path.Base(s.shown), MediaType: kind, Data: raw}},
	}, nil
}
