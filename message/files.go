package message

import (
	"bytes"
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
	"github.com/etui-run/etui/phrase"
)

// The limits of the pictures and PDFs of a message. A message beyond them is refused.
const (
	MaxPictures     = 8
	MaxPictureBytes = 12 << 20 // of all of them together, the most that a model is shown at once
	MaxName         = 200      // bytes of a name; the rest is cut
)

// Pictures checks the pictures and PDFs of a message by their bytes, and completes what
// they say about themselves. The error wraps [ErrInvalid], or [ErrTooLong] for too many or too
// large ones, and says which one is wrong.
func Pictures(files []chat.File) ([]chat.File, error) {
	if len(files) > MaxPictures {
		return nil, phrase.Errorf(
			"%w: it has %d pictures and PDFs, at most %d are accepted", ErrTooLong, len(files), MaxPictures,
		)
	}
	checked := make([]chat.File, len(files))
	total := 0
	for i, f := range files {
		p, err := picture.Inspect(f.Data)
		switch {
		case bytes.HasPrefix(f.Data, []byte("%PDF-")):
			p.MediaType = chat.PDF
		case picture.Sound(f.Data) != "":
			p.MediaType = picture.Sound(f.Data)
		case err != nil:
			return nil, phrase.Errorf("%w: picture %d %w", ErrInvalid, i+1, err)
		case !p.Fits():
			return nil, phrase.Errorf("%w: picture %d is %s: %w; scale it down", ErrTooLong, i+1, p,
				picture.ErrTooLarge)
		}
		if total += len(f.Data); total > MaxPictureBytes {
			return nil, phrase.Errorf("%w: its pictures and PDFs have more than %d MiB together", ErrTooLong,
				MaxPictureBytes>>20)
		}
		sum := sha256.Sum256(f.Data)
		checked[i] = chat.File{
			Name: printable.Line(f.Name, MaxName), MediaType: p.MediaType, Data: f.Data, Size: len(f.Data),
			SHA256: hex.EncodeToString(sum[:]),
		}
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

// CheckFiles checks the pictures of a message and of the conversation that comes with
// it.
func (m Message) CheckFiles() (Message, error) {
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

// maxGiven is how many files of its tools' results a turn gives to the user.
const maxGiven = 16

// Storable moves the bytes of the files that tools give to the user from their results to
// the messages: so a store keeps the same bytes once. It returns what these files are.
func Storable(messages []chat.Message) (_ []chat.Message, given []chat.File) {
	copied := false
	for i, m := range messages {
		if m.Role != chat.Tool || m.Result == nil || m.Result.View == nil || len(m.Result.View.Files) == 0 {
			continue
		}
		if !copied {
			messages, copied = slices.Clone(messages), true
		}
		result, view := *m.Result, *m.Result.View
		m.Files, result.View = nil, &view
		for _, f := range view.Files {
			if len(f.Data) == 0 {
				continue
			}
			sum := sha256.Sum256(f.Data)
			m.Files = append(m.Files, chat.File{
				Name: printable.Line(f.Name, MaxName), MediaType: printable.Line(f.MediaType, MaxName),
				Data: f.Data, Size: len(f.Data), SHA256: hex.EncodeToString(sum[:]),
			})
		}
		view.Files = chat.WithoutData(m.Files)
		m.Result = &result
		given = append(given, view.Files...)
		messages[i] = m
	}
	return messages, given
}

// Give returns the files that come with a reply, with others, each once.
func Give(given, files []chat.File) []chat.File {
	for _, f := range files {
		if len(given) < maxGiven && !slices.ContainsFunc(given,
			func(g chat.File) bool { return g.SHA256 == f.SHA256 }) {
			given = append(given, f)
		}
	}
	return given
}

// GivenBefore returns the files of the results since the newest question: those of a turn
// that is resumed.
func GivenBefore(messages []chat.Message) (files []chat.File) {
	for _, m := range slices.Backward(messages) {
		if m.Role == chat.User {
			break
		}
		if m.Role == chat.Tool {
			files = append(files, m.Files...)
		}
	}
	return files
}
