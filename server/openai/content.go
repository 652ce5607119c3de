package openai

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/message"
)

// part is a part of a message's content.
type part struct {
	Type  string `json:"type"`
	Text  string `json:"text"`
	Image struct {
		URL string `json:"url"`
	} `json:"image_url"`
	File struct {
		Name string `json:"filename"`
		Data string `json:"file_data"`
		ID   string `json:"file_id"`
	} `json:"file"`
}

// read reads a message's content: a string, or a list of parts. A file of text becomes a
// part of the text.
func (m completionMessage) read() (text string, pictures []chat.File, err error) {
	if len(m.Content) == 0 || string(m.Content) == "null" || json.Unmarshal(m.Content, &text) == nil {
		return text, nil, nil
	}
	var parts []part
	if err := json.Unmarshal(m.Content, &parts); err != nil {
		return "", nil, errors.New("a message's content must be a text or a list of parts")
	}
	var all strings.Builder
	for _, p := range parts {
		switch {
		case p.Type == "text":
			all.WriteString(p.Text)
		case m.Role != "user":
			return "", nil, fmt.Errorf("parts of type %q are not supported in a message of role %q, only text", p.Type, m.Role)
		case p.Type == "image_url":
			picture, _, err := dataURL(p.Image.URL)
			if err != nil {
				return "", nil, fmt.Errorf("image_url: %w", err)
			}
			pictures = append(pictures, chat.File{Data: picture})
		case p.Type == "file":
			written, pdf, err := p.file()
			if err != nil {
				return "", nil, fmt.Errorf("file: %w", err)
			}
			all.WriteString(written)
			if pdf != nil {
				pictures = append(pictures, chat.File{Name: p.File.Name, Data: pdf})
			}
		default:
			return "", nil, fmt.Errorf("parts of type %q are not supported, only text, image_url and file", p.Type)
		}
	}
	if len(pictures) > 0 {
		pictures, err = message.Pictures(pictures)
	}
	return all.String(), pictures, err
}

// dataURL reads an address that holds its data itself.
func dataURL(url string) (data []byte, mediaType string, err error) {
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
var texts = []string{"application/json", "application/yaml", "application/x-yaml", "application/xml", "application/toml"}

// file returns a file of text as the model reads it, or the bytes of a PDF.
func (p part) file() (text string, pdf []byte, err error) {
	if p.File.ID != "" {
		return "", nil, errors.New("etui keeps no uploaded files: send file_data instead of file_id")
	}
	data, mediaType, err := dataURL(p.File.Data)
	switch {
	case err != nil:
		return "", nil, err
	case mediaType == chat.PDF && bytes.HasPrefix(data, []byte("%PDF-")):
		return "", data, nil
	case mediaType == chat.PDF:
		return "", nil, errors.New("it is not a PDF: it does not begin with %PDF-")
	case !strings.HasPrefix(mediaType, "text/") && !slices.Contains(texts, mediaType):
		return "", nil, fmt.Errorf("files of type %q are not supported, only text and PDF; send pictures as image_url", mediaType)
	}
	text, err = message.TextFile(p.File.Name, data)
	return text, nil, err
}
