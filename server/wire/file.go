package wire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
)

// DataURL reads an address that holds its data itself.
func DataURL(url string) (data []byte, mediaType string, err error) {
	rest, ok := strings.CutPrefix(url, "data:")
	head, encoded, comma := strings.Cut(rest, ",")
	head, isBase64 := strings.CutSuffix(head, ";base64")
	if !ok || !comma || !isBase64 {
		return nil, "", errors.New("it must be a URL such as data:image/png;base64,...: etui fetches no address that a client names")
	}
	if data, err = base64.StdEncoding.DecodeString(encoded); err != nil {
		return nil, "", errors.New("the data after base64, is not base64")
	}
	mediaType, _, _ = mime.ParseMediaType(head) // unknown is none of the accepted types
	return data, mediaType, nil
}

// texts are the media types of files that a model reads as text, beside text/*.
var texts = []string{"application/json", "application/yaml", "application/x-yaml", "application/xml",
	"application/toml"}

// File returns a file that a client sends as a data URL: a text as the model reads it, or the bytes of a
// PDF.
func File(name, url string) (text string, pdf []byte, err error) {
	data, mediaType, err := DataURL(url)
	switch {
	case err != nil:
		return "", nil, err
	case mediaType == chat.PDF && bytes.HasPrefix(data, []byte("%PDF-")):
		return "", data, nil
	case mediaType == chat.PDF:
		return "", nil, errors.New("it is not a PDF: it does not begin with %PDF-")
	case !strings.HasPrefix(mediaType, "text/") && !slices.Contains(texts, mediaType):
		return "", nil, fmt.Errorf("files of type %q are not supported, only text and PDF; send pictures as image_url",
			mediaType)
	}
	text, err = message.TextFile(name, data)
	return text, nil, err
}
