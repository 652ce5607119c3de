package builtin

import (
	"fmt"
	"io"
	"path"

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
	raw, err := s.large()
	if err != nil {
		return chat.Result{}, err
	}
	p, err := picture.Inspect(raw)
	if err != nil {
		return chat.Result{}, fmt.Errorf("%s %w", s.shown, err)
	}
	text := fmt.Sprintf("%s: %s", s.shown, p)
	if !p.Fits() {
		f.scaling.Lock() // one at a time, to limit memory
		p, err = p.Smaller()
		f.scaling.Unlock()
		if err != nil {
			return chat.Result{}, fmt.Errorf("%s; %w", text, err)
		}
		text += fmt.Sprintf("; shown with %d x %d", p.Width, p.Height)
	}
	return chat.Result{Text: text + ".",
		Images: []chat.File{{Name: path.Base(s.shown), MediaType: p.MediaType, Data: p.Data}}}, nil
}

// maxLarge is the maximum size of a picture in bytes.
const maxLarge = 20 << 20

// large reads a file of at most maxLarge bytes.
func (s spot) large() ([]byte, error) {
	file, info, err := s.open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if info.Size() > maxLarge {
		return nil, fmt.Errorf("%s has %d bytes; at most 20 MiB are possible", s.shown, info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxLarge))
	return raw, say(s.shown, err)
}
