package discord

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"strconv"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// maxListed is how many files of a message are taken; Discord's own limit is ten.
const maxListed = 20

// load returns the files of a message with their bytes. Those that are too large, that are
// not at Discord or that Discord does not give have no Data.
func (s *session) load(ctx context.Context, files []attachment) (loaded []chat.File) {
	left := int64(maxFiles)
	for _, f := range files[:min(len(files), maxListed)] {
		mediaType, _, _ := strings.Cut(f.MediaType, ";")
		got := chat.File{Name: printable.Line(cmp.Or(f.Filename, f.ID), 255), MediaType: printable.Line(mediaType, 100), Size: int(max(f.Size, 0))}
		if f.Size <= left {
			data, err := s.fetch(ctx, f.URL, left)
			if err != nil {
				s.log.WarnContext(ctx, "a file of a discord message was not loaded", "file", word(f.ID), "error", err)
			} else {
				left -= int64(len(data))
				got.Data, got.Size = data, len(data)
			}
		}
		loaded = append(loaded, got)
	}
	return loaded
}

// fetch loads a file from Discord's servers for files, which do not get the token.
func (c *Channel) fetch(ctx context.Context, address string, limit int64) ([]byte, error) {
	u, err := url.Parse(address)
	if err != nil || !c.leads(u, "cdn.discordapp.com", "media.discordapp.net") {
		return nil, errors.New("the file is not at Discord")
	}
	ctx, cancel := context.WithTimeout(ctx, fileTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, plain(err)
	}
	req.Header.Set("User-Agent", agent)
	res, err := c.client.Do(req)
	if err != nil {
		return nil, plain(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers with status %d", res.StatusCode)
	}
	data, err := io.ReadAll(io.LimitReader(res.Body, limit+1))
	if err != nil {
		return nil, plain(err)
	}
	if int64(len(data)) > limit {
		return nil, errors.New("the file is too large")
	}
	return data, nil
}

// form returns a message with files.
func form(message map[string]any, files []chat.File) (upload, error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	text, err := json.Marshal(message)
	if err != nil {
		return upload{}, err
	}
	if err := w.WriteField("payload_json", string(text)); err != nil {
		return upload{}, err
	}
	for i, f := range files {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", multipart.FileContentDisposition("files["+strconv.Itoa(i)+"]", cmp.Or(printable.Line(f.Name, 255), "file")))
		h.Set("Content-Type", "application/octet-stream") // Discord looks at the name and the bytes
		part, err := w.CreatePart(h)
		if err != nil {
			return upload{}, err
		}
		if _, err := part.Write(f.Data); err != nil {
			return upload{}, err
		}
	}
	if err := w.Close(); err != nil {
		return upload{}, err
	}
	return upload{w.FormDataContentType(), b.Bytes()}, nil
}
