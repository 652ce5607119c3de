package platform

import (
	"cmp"
	"context"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// How long calls may take.
const (
	CallTime = 30 * time.Second
	FileTime = 3 * time.Minute // one that brings or sends a file
)

// Fetch returns the bytes of a file.
func (c *Client) Fetch(ctx context.Context, r Request) ([]byte, error) {
	r.Raw, r.Time = true, cmp.Or(r.Time, FileTime)
	answer, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// Attachment is a file of a message as the platform describes it.
type Attachment struct {
	Name string
	// MediaType may be empty: then the name and the bytes say it.
	MediaType string
	Size      int64
	Fetch     func(ctx context.Context, limit int64) ([]byte, error)
	// Named returns the name that only the answer to Fetch has; empty, or a nil func, keeps Name.
	Named func() string
}

// Unread returns the text of a message whose files nobody reads, with their names: it may be overheard.
func Unread[F any](text string, files []F, name func(F) string) string {
	for _, f := range files[:min(len(files), maxListed)] {
		text = strings.TrimSpace(text + "\n(a file: " + cmp.Or(printable.Line(name(f), 100), "without a name") + ")")
	}
	return text
}

// maxListed is how many files of a message are handed over.
const maxListed = 20

// Load returns the files of a message with their bytes, of all together at most total. Files
// that are larger, or that Fetch does not get, have no Data.
func Load(ctx context.Context, log *slog.Logger, list []Attachment, total int64) (files []chat.File) {
	for _, a := range list[:min(len(list), maxListed)] {
		mediaType, _, _ := strings.Cut(a.MediaType, ";")
		f := chat.File{Name: printable.Line(a.Name, 255), MediaType: printable.Line(mediaType, 100)}
		f.Size = int(max(a.Size, 0))
		if a.Size <= total {
			if data, err := a.Fetch(ctx, total); err == nil {
				total -= int64(len(data))
				f.Data, f.Size = data, len(data)
				if a.Named != nil {
					f.Name = cmp.Or(printable.Line(a.Named(), 255), f.Name)
				}
			} else {
				log.WarnContext(ctx, "a file of a message was not loaded", "file", Word(f.Name), "error", err)
			}
		}
		if f.MediaType == "" {
			if is := http.DetectContentType(f.Data); strings.HasPrefix(is, "image/") {
				f.MediaType = is
			}
			byName, _, _ := mime.ParseMediaType(mime.TypeByExtension(path.Ext(f.Name)))
			f.MediaType = cmp.Or(f.MediaType, byName, "application/octet-stream")
		}
		files = append(files, f)
	}
	return files
}
