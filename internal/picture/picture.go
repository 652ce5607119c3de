// Package picture tells which bytes are pictures that models may be shown.
package picture

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // so that its size is known
	_ "image/jpeg" // the same
	_ "image/png"  // the same
	"net/http"
	"slices"
)

// What models take of one picture.
const (
	MaxBytes = 3 << 20
	maxSide  = 8000 // pixels
)

// Inspect returns the media type of a picture - PNG, JPEG, GIF or WebP, told from its
// bytes alone - and its sides in pixels, 0 where they are not known. The error says,
// as in "has 9000 x 1 pixels", why models are not shown it.
func Inspect(raw []byte) (mediaType string, width, height int, err error) {
	mediaType = http.DetectContentType(raw)
	if !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, mediaType) {
		return "", 0, 0, errors.New("is no PNG, JPEG, GIF or WebP picture")
	}
	if len(raw) > MaxBytes {
		return "", 0, 0, fmt.Errorf("has %d bytes; pictures up to 3 MiB are shown", len(raw))
	}
	if c, _, err := image.DecodeConfig(bytes.NewReader(raw)); err == nil {
		width, height = c.Width, c.Height
	}
	if max(width, height) > maxSide {
		return "", 0, 0, fmt.Errorf("has %d x %d pixels; pictures up to %d on a side are shown", width, height, maxSide)
	}
	return mediaType, width, height, nil
}
