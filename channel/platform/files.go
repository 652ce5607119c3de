package platform

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/printable"
)

// fileTime is how long a file may take.
const fileTime = 2 * time.Minute

// Fetch returns the bytes of a file.
func (c *Client) Fetch(ctx context.Context, r Request) ([]byte, error) {
	r.Raw, r.Time = true, cmp.Or(r.Time, fileTime)
	answer, err := c.Do(ctx, r)
	if err != nil {
		return nil, err
	}
	return answer.Body, nil
}

// File is a file of a message as the platform describes it, without its bytes.
func File(name, mediaType string, size int64) chat.File {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	mediaType = printable.Line(mediaType, 100)
	return chat.File{Name: printable.Line(name, 255), MediaType: mediaType, Size: int(max(size, 0))}
}

// Load adds the bytes to the files of a message, of all together at most total. Files that
// are larger, or that fetch does not get, stay without Data.
func Load(
	ctx context.Context, log *slog.Logger, files []chat.File, total int64,
	fetch func(i int, limit int64) ([]byte, error),
) {
	for i := range files {
		f := &files[i]
		if int64(f.Size) > total {
			continue
		}
		data, err := fetch(i, total)
		if err != nil {
			log.WarnContext(ctx, "a file of a message was not loaded", "file", Word(f.Name), "error", err)
			continue
		}
		total -= int64(len(data))
		f.Data, f.Size = data, len(data)
	}
}
