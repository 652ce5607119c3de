package builtin

import (
	"bytes"
	"fmt"
	"image"
	_ "image/gif"  // so that its size is known
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
)

// What models take.
const (
	maxImage = 3 << 20 // bytes
	maxSide  = 8000    // pixels
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
	if info.Size() > maxImage {
		return chat.Result{}, fmt.Errorf("%s has %d bytes; pictures up to 3 MiB are shown", s.shown, info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxImage))
	if err != nil {
		return chat.Result{}, say(s.shown, err)
	}
	kind := http.DetectContentType(raw)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return chat.Result{}, fmt.Errorf("%s is no PNG, JPEG, GIF or WebP picture", s.shown)
	}
	size := ""
	if c, _, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
		if max(c.Width, c.Height) > maxSide {
			return chat.Result{}, fmt.Errorf("%s has %d x %d pixels; pictures up to %d on a side are shown", s.shown, c.Width, c.Height, maxSide)
		}
		size = fmt.Sprintf(", %d x %d pixels", c.Width, c.Height)
	}
	return chat.Result{
		Text:   fmt.Sprintf("%s: %s%s, %d bytes.", s.shown, strings.TrimPrefix(kind, "image/"), size, len(raw)),
		Images: []chat.File{{Name: path.Base(s.shown), MediaType: kind, Data: raw}},
	}, nil
}
