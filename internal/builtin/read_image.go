package builtin

import (
	"bytes"
	"encoding/binary"
	"errors"
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
	width, height, err := sizeOf(kind, raw)
	switch {
	case err != nil: // a model's provider would refuse the whole question
		return chat.Result{}, fmt.Errorf("%s is a damaged picture: %w", s.shown, err)
	case max(width, height) > maxSide:
		return chat.Result{}, fmt.Errorf("%s has %d x %d pixels; pictures up to %d on a side are shown", s.shown, width, height, maxSide)
	}
	return chat.Result{
		Text:   fmt.Sprintf("%s: %s, %d x %d pixels, %d bytes.", s.shown, strings.TrimPrefix(kind, "image/"), width, height, len(raw)),
		Images: []chat.File{{Name: path.Base(s.shown), MediaType: kind, Data: raw}},
	}, nil
}

// sizeOf is how many pixels a picture has.
func sizeOf(kind string, raw []byte) (width, height int, err error) {
	if kind == "image/webp" {
		return sizeOfWebP(raw)
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(raw))
	return c.Width, c.Height, err
}

// sizeOfWebP reads the size from the first part of a WebP picture, which is of one
// of three kinds.
func sizeOfWebP(raw []byte) (width, height int, err error) {
	if len(raw) < 30 {
		return 0, 0, io.ErrUnexpectedEOF
	}
	b, size := raw[20:], binary.LittleEndian
	switch string(raw[12:16]) {
	case "VP8 ":
		return int(size.Uint16(b[6:]) & 0x3fff), int(size.Uint16(b[8:]) & 0x3fff), nil
	case "VP8L":
		bits := size.Uint32(b[1:])
		return int(bits&0x3fff) + 1, int(bits>>14&0x3fff) + 1, nil
	case "VP8X":
		return int(size.Uint32(b[4:])&0xffffff) + 1, int(size.Uint32(b[6:])>>8) + 1, nil
	}
	return 0, 0, errors.New("it begins with an unknown part")
}
