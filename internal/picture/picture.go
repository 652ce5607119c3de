// Package picture tells which bytes are pictures that models may be shown.
package picture

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
	"slices"
)

// What models take of one picture.
const (
	MaxBytes = 3 << 20
	maxSide  = 8000 // pixels
)

// Inspect returns the media type of a picture - PNG, JPEG, GIF or WebP, told from its
// bytes alone - and its sides in pixels. The error says, as in "has 9000 x 1 pixels",
// why models are not shown it.
func Inspect(raw []byte) (mediaType string, width, height int, err error) {
	mediaType = http.DetectContentType(raw)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType) {
		return "", 0, 0, errors.New("is no PNG, JPEG, GIF or WebP picture")
	}
	if len(raw) > MaxBytes {
		return "", 0, 0, fmt.Errorf("has %d bytes; pictures up to 3 MiB are shown", len(raw))
	}
	width, height, err = sizeOf(mediaType, raw)
	switch {
	case err != nil: // a model's provider would refuse the whole question
		return "", 0, 0, fmt.Errorf("is a damaged picture: %w", err)
	case max(width, height) > maxSide:
		return "", 0, 0, fmt.Errorf("has %d x %d pixels; pictures up to %d on a side are shown", width, height, maxSide)
	}
	return mediaType, width, height, nil
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
