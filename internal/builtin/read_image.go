package builtin

import (
	"fmt"
	"io"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
)

// What models take, and what is made smaller for them.
const (
	maxImage  = 3 << 20    // bytes
	maxSide   = 8000       // pixels
	maxLarge  = 20 << 20   // bytes of a picture that is made smaller
	maxPixels = 30_000_000 // of it
	maxScaled = 2000       // pixels on a side, afterwards; models look at less
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
	raw, err := s.large()
	if err != nil {
		return chat.Result{}, err
	}
	kind := http.DetectContentType(raw)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind) {
		return chat.Result{}, fmt.Errorf("%s is no PNG, JPEG, GIF or WebP picture", s.shown)
	}
	width, height, err := sizeOf(kind, raw)
	if err != nil { // a model's provider would refuse the whole question
		return chat.Result{}, fmt.Errorf("%s is a damaged picture: %w", s.shown, err)
	}
	text := fmt.Sprintf("%s: %s, %d x %d pixels, %d bytes", s.shown, strings.TrimPrefix(kind, "image/"), width, height, len(raw))
	if len(raw) > maxImage || max(width, height) > maxSide {
		if kind == "image/webp" || width*height > maxPixels {
			return chat.Result{}, fmt.Errorf("%s; pictures up to 3 MiB and %d pixels on a side are shown", text, maxSide)
		}
		f.scaling.Lock() // one at a time: it takes memory
		raw, width, height, err = smaller(raw)
		f.scaling.Unlock()
		if err != nil {
			return chat.Result{}, fmt.Errorf("%s is a damaged picture: %w", s.shown, err)
		}
		kind, text = "image/jpeg", fmt.Sprintf("%s; shown with %d x %d", text, width, height)
	}
	return chat.Result{Text: text + ".", Images: []chat.File{{Name: path.Base(s.shown), MediaType: kind, Data: raw}}}, nil
}

// large returns a file of at most maxLarge bytes.
func (s spot) large() ([]byte, error) {
	file, info, err := s.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxLarge {
		return nil, fmt.Errorf("%s has %d bytes; pictures up to 20 MiB are shown", s.shown, info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxLarge))
	return raw, say(s.shown, err)
}
