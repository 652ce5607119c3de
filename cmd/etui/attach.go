package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/server/api"
)

// attached are files that go with a message: pictures and PDFs as they are, others as a
// part of the text.
type attached struct {
	files []chat.File
	text  string
}

// add reads a file. One that no message can have is refused here, before others are lost.
func (a *attached) add(path string) error {
	data, err := readAttached(path)
	if err != nil {
		return err
	}
	name := filepath.Base(path)
	file := chat.File{Name: name, Data: data}
	_, noPicture := engine.Pictures([]chat.File{file})
	if noPicture == nil || errors.Is(noPicture, engine.ErrTooLong) {
		checked, err := engine.Pictures(append(a.files, file))
		if err != nil {
			return config.Usagef("%s: %w", path, err)
		}
		a.files = checked
		return nil
	}
	text, err := engine.TextFile(name, data)
	if err != nil {
		return config.Usagef("%s is no PNG, JPEG, GIF or WebP picture, no PDF, and no text in UTF-8", path)
	}
	a.text += text
	return nil
}

// readAttached reads a regular file of at most [engine.MaxPictureBytes].
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
	case info.Size() > engine.MaxPictureBytes:
		return nil, config.Usagef("%s has more than %d MiB, the most that a message may have", path, engine.MaxPictureBytes>>20)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, engine.MaxPictureBytes))
	return data, errors.Join(err, f.Close())
}

// says adds the files and a text to a message. With pictures or PDFs the text may be empty.
func (a *attached) says(m api.Message, text string) (api.Message, error) {
	if len(a.files) > 0 && text+a.text == "" {
		m.Files = a.files
		return m, nil
	}
	m, err := says(m, text+a.text)
	m.Files = a.files
	return m, err
}
