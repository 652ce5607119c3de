package conversation

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/message"
	"github.com/etui-run/etui/server/api"
)

// files are files that go with a message: pictures and PDFs as they are, others as a
// part of the text.
type files struct {
	list []chat.File
	text string
}

// add reads a file. One that no message can have is refused here, before others are lost.
func (f *files) add(path string) error {
	data, err := readAttached(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	picture := chat.File{Name: name, Data: data}
	_, noPicture := message.Pictures([]chat.File{picture})
	if noPicture == nil || errors.Is(noPicture, engine.ErrTooLong) {
		checked, err := message.Pictures(append(f.list, picture))
		if err != nil {
			return config.Usagef("%s: %w", path, err)
		}
		f.list = checked
		return nil
	}
	text, err := message.TextFile(name, data)
	if err != nil {
		return config.Usagef("%s is no PNG, JPEG, GIF or WebP picture, no PDF, and no text in UTF-8", path)
	}
	f.text += text
	return nil
}

// readAttached reads a regular file of at most [message.MaxPictureBytes].
func readAttached(path string) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case path == "":
		return nil, config.Usagef("say which file")
	case errors.Is(err, fs.ErrNotExist):
		return nil, config.Usagef("there is no file %s", path)
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, config.Usagef("%s is no regular file", path)
	case info.Size() > message.MaxPictureBytes:
		return nil, config.Usagef("%s has more than %d MiB, the most that a message may have", path,
			message.MaxPictureBytes>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, message.MaxPictureBytes))
	return data, errors.Join(err, f.Close())
}

// compose adds the files and a text to a message. With pictures or PDFs the text may be empty.
func (f *files) compose(m api.Message, text string) (api.Message, error) {
	if len(f.list) > 0 && text+f.text == "" {
		m.Files = f.list
		return m, nil
	}
	m, err := withText(m, text+f.text)
	m.Files = f.list
	return m, err
}

// withText returns the message with a text.
func withText(m api.Message, text string) (api.Message, error) {
	if m.Limit < 0 || m.Budget < 0 {
		return m, config.Usagef("--limit and --budget must not be negative")
	}
	if strings.TrimSpace(text) == "" {
		return m, config.Usagef("the message is empty")
	}
	m.Text = text
	return m, nil
}
