// Package picture recognizes pictures that models accept, and sound, and scales large pictures down.
package picture

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"image/color"
	_ "image/gif" // registers the decoder
	"image/jpeg"
	_ "image/png" // the same
	"io"
	"net/http"
	"slices"
	"strings"
)

// The limits of models for one picture, and of pictures to scale.
const (
	maxBytes  = 3 << 20
	maxSide   = 8000 // pixels
	maxPixels = 30_000_000
	smallSide = 2000 // pixels of a scaled picture; models see less
)

// Picture is a PNG, JPEG, GIF or WebP picture.
type Picture struct {
	MediaType     string
	Width, Height int // pixels
	Data          []byte
}

// Inspect identifies a picture by its bytes alone. The error completes a sentence
// about the file, as in "is a damaged picture".
func Inspect(data []byte) (Picture, error) {
	p := Picture{MediaType: http.DetectContentType(data), Data: data}
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, p.MediaType) {
		return Picture{}, errors.New("is not a PNG, JPEG, GIF or WebP picture")
	}
	if err := p.measure(); err != nil {
		return Picture{}, fmt.Errorf("is a damaged picture: %w", err)
	}
	return p, nil
}

// Sound returns the media type of sound by its bytes, audio/wav or audio/mpeg; empty if it is none.
func Sound(data []byte) string {
	switch http.DetectContentType(data) {
	case "audio/wave":
		return "audio/wav"
	case "audio/mpeg":
		return "audio/mpeg"
	}
	if len(data) > 1 && data[0] == 0xFF && data[1]&0xE6 == 0xE2 { // a frame of MP3 without a tag
		return "audio/mpeg"
	}
	return ""
}

// String describes the picture in one line.
func (p Picture) String() string {
	return fmt.Sprintf("%s, %d x %d pixels, %d bytes", strings.TrimPrefix(p.MediaType, "image/"), p.Width, p.Height,
		len(p.Data))
}

// Fits reports whether models accept the picture as it is. A provider would reject the
// whole request because of a picture that does not fit.
func (p Picture) Fits() bool { return len(p.Data) <= maxBytes && max(p.Width, p.Height) <= maxSide }

// ErrTooLarge reports a picture that does not fit and cannot be scaled down.
var ErrTooLarge = fmt.Errorf("pictures up to 3 MiB and %d pixels on a side are shown", maxSide)

// Smaller returns the picture as JPEG with at most 2000 pixels on a side. Decoding
// takes memory: usually 4 bytes per pixel, up to 20 for a progressive JPEG. The error
// wraps ErrTooLarge for WebP, for more than 30 million pixels, and for results that
// are still too large, such as noise.
func (p Picture) Smaller() (Picture, error) {
	if p.MediaType == "image/webp" || p.Width*p.Height > maxPixels {
		return Picture{}, ErrTooLarge
	}
	from, _, err := image.Decode(bytes.NewReader(p.Data))
	if err != nil {
		return Picture{}, fmt.Errorf("it is damaged: %w", err)
	}
	to := scaled(from)
	var b bytes.Buffer
	err = jpeg.Encode(&b, to, &jpeg.Options{Quality: 85})
	small := Picture{MediaType: "image/jpeg", Width: to.Rect.Dx(), Height: to.Rect.Dy(), Data: b.Bytes()}
	if err == nil && !small.Fits() {
		err = ErrTooLarge
	}
	return small, err
}

// scaled returns a picture with at most smallSide pixels on a side. Each pixel is the
// mean of the pixels that it replaces.
func scaled(from image.Image) *image.RGBA {
	size := from.Bounds()
	step := (max(size.Dx(), size.Dy()) + smallSide - 1) / smallSide
	to := image.NewRGBA(image.Rect(0, 0, max(size.Dx()/step, 1), max(size.Dy()/step, 1)))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			to.SetRGBA(x, y, mean(from, image.Rect(x*step, y*step, (x+1)*step,
				(y+1)*step).Add(size.Min).Intersect(size)))
		}
	}
	return to
}

// mean returns the mean color of a part of a picture. Transparent parts get a white
// background.
func mean(from image.Image, part image.Rectangle) color.RGBA {
	var red, green, blue, count uint64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, a := from.At(x, y).RGBA() // of 0xffff, and by a already
			ground := uint64(0xffff - a)
			red, green, blue, count = red+uint64(r)+ground, green+uint64(g)+ground, blue+uint64(b)+ground, count+1
		}
	}
	of := func(sum uint64) uint8 { return uint8(sum / count >> 8) }
	return color.RGBA{of(red), of(green), of(blue), 0xff}
}

// measure reads the size in pixels.
func (p *Picture) measure() (err error) {
	if p.MediaType == "image/webp" {
		p.Width, p.Height, err = sizeOfWebP(p.Data)
		return err
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(p.Data))
	p.Width, p.Height = c.Width, c.Height
	return err
}

// sizeOfWebP reads the size from the first chunk of a WebP picture, which is of one of
// three kinds.
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
