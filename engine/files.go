package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/picture"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/session"
)

// The limits of the pictures and PDFs of a message. A message beyond them is refused.
const (
	MaxPictures     = 8
	MaxPictureBytes = 12 << 20 // of all of them together, the most that a model is shown at once
	maxName         = 200      // bytes of a name; the rest is cut
)

// Pictures checks the pictures and PDFs of a message by their bytes, and completes what
// they say about themselves. The error wraps [ErrInvalid], or [ErrTooLong] for too many or too
// large ones, and says which one is wrong.
func Pictures(files []chat.File) ([]chat.File, error) {
	if len(files) > MaxPictures {
		return nil, fmt.Errorf("%w: it has %d pictures and PDFs, at most %d are accepted", ErrTooLong, len(files), MaxPictures)
	}
	checked := make([]chat.File, len(files))
	total := 0
	for i, f := range files {
		p, err := picture.Inspect(f.Data)
		switch {
		case bytes.HasPrefix(f.Data, []byte("%PDF-")):
			p.MediaType = chat.PDF
		case err != nil:
			return nil, fmt.Errorf("%w: picture %d %w", ErrInvalid, i+1, err)
		case !p.Fits():
			return nil, fmt.Errorf("%w: picture %d is %s: %w; scale it down", ErrTooLong, i+1, p, picture.ErrTooLarge)
		}
		if total += len(f.Data); total > MaxPictureBytes {
			return nil, fmt.Errorf("%w: its pictures and PDFs have more than %d MiB together", ErrTooLong, MaxPictureBytes>>20)
		}
		sum := sha256.Sum256(f.Data)
		checked[i] = chat.File{Name: printable.Line(f.Name, maxName), MediaType: p.MediaType, Data: f.Data, Size: len(f.Data), SHA256: hex.EncodeToString(sum[:])}
	}
	return checked, nil
}

// TextFile returns a file of text as a part of a message that the model reads. It must be
// UTF-8.
func TextFile(name string, data []byte) (string, error) {
	if !utf8.Valid(data) {
		return "", errors.New("it is not text in UTF-8")
	}
	return fmt.Sprintf("\n\n[file %q]\n%s\n[end of the file]\n\n", name, strings.TrimSpace(string(data))), nil
}

// withPictures checks the pictures of a message and of the conversation that comes with
// it.
func withPictures(m Message) (Message, error) {
	var err error
	if len(m.Files) > 0 {
		if m.Files, err = Pictures(m.Files); err != nil {
			return m, err
		}
	}
	copied := false
	for i, said := range m.History {
		if len(said.Files) == 0 {
			continue
		}
		if !copied {
			m.History, copied = slices.Clone(m.History), true
		}
		if m.History[i].Files, err = Pictures(said.Files); err != nil {
			return m, fmt.Errorf("history[%d]: %w", i, err)
		}
	}
	return m, nil
}

// File returns a stored file of a message, or of a tool's result, by its [chat.File.SHA256], with its
// bytes. The error wraps [ErrUnknown] if no conversation has it.
func (e *Engine) File(ctx context.Context, sha256 string) (chat.File, error) {
	data, err := e.config.Store.File(ctx, sha256)
	if errors.Is(err, session.ErrNoFile) {
		err = fmt.Errorf("file %q: %w: no message has it", printable.Line(sha256, maxName), ErrUnknown)
	}
	return chat.File{Data: data, Size: len(data), SHA256: sha256}, err
}

// file returns what reads the pictures of earlier messages: from the store, or from the
// conversation that came with the message.
func (e *Engine) file(m mail) func(ctx context.Context, sha256 string) ([]byte, error) {
	if m.History == nil {
		return e.config.Store.File
	}
	return func(_ context.Context, sha256 string) ([]byte, error) {
		for _, said := range m.History {
			for _, f := range said.Files {
				if f.SHA256 == sha256 {
					return f.Data, nil
				}
			}
		}
		return nil, session.ErrNoFile
	}
}
