package builtin

import (
	"bytes"
	"encoding/binary"
	"errors"
	"image"
	"image/color"
	_ "image/gif" // so that it can be read
	"image/jpeg"
	_ "image/png" // the same
	"io"
)

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

// smaller is a picture with at most maxScaled pixels on a side, as JPEG: each of
// its pixels is the mean of those that it stands for. What lets the ground shine
// through gets a white one.
func smaller(raw []byte) (data []byte, width, height int, err error) {
	from, _, err := image.Decode(bytes.NewReader(raw))
	if err != nil {
		return nil, 0, 0, err
	}
	size := from.Bounds()
	step := (max(size.Dx(), size.Dy()) + maxScaled - 1) / maxScaled
	to := image.NewRGBA(image.Rect(0, 0, max(size.Dx()/step, 1), max(size.Dy()/step, 1)))
	for y := range to.Rect.Dy() {
		for x := range to.Rect.Dx() {
			to.SetRGBA(x, y, mean(from, image.Rect(x*step, y*step, (x+1)*step, (y+1)*step).Add(size.Min).Intersect(size)))
		}
	}
	var b bytes.Buffer
	err = jpeg.Encode(&b, to, &jpeg.Options{Quality: 85})
	return b.Bytes(), to.Rect.Dx(), to.Rect.Dy(), err
}

// mean is the mean color of a part of a picture, on white.
func mean(picture image.Image, part image.Rectangle) color.RGBA {
	var red, green, blue, count uint64
	for y := part.Min.Y; y < part.Max.Y; y++ {
		for x := part.Min.X; x < part.Max.X; x++ {
			r, g, b, a := picture.At(x, y).RGBA() // of 0xffff, and by a already
			ground := uint64(0xffff - a)
			red, green, blue, count = red+uint64(r)+ground, green+uint64(g)+ground, blue+uint64(b)+ground, count+1
		}
	}
	of := func(sum uint64) uint8 { return uint8(sum / count >> 8) }
	return color.RGBA{of(red), of(green), of(blue), 0xff}
}
