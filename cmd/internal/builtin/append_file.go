package builtin

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"

	"github.com/etui-run/etui/cmd/internal/textcode"
	"github.com/etui-run/etui/internal/filestamp"
)

type appendInput struct {
	Path    string `json:"path"`
	Content string `json:"content"`
}

// appendFile adds text to the end of a file of the workspace, or makes the file.
//
//etui:tool risk=write
//etui:zh 在工作区文件末尾追加文字。
//etui:alias add line, 追加, 在末尾添加
//etui:alias write a line at the end of a file, 加一行, 末尾加上
func (f *Files) appendFile(in appendInput) (string, error) {
	s, err := f.findChange(in.Path, false)
	if err != nil {
		return "", err
	}
	if len(in.Content) > maxFile {
		return "", fmt.Errorf("%d bytes are too many; append at most 1 MiB at once", len(in.Content))
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	switch _, err := s.root.Lstat(s.name); {
	case errors.Is(err, fs.ErrNotExist):
		err = f.replace(s, []byte(in.Content), func() error { return nil })
		return fmt.Sprintf("Wrote %d bytes to %s, which is new.", len(in.Content), s.shown), err
	case err != nil:
		return "", say(s.shown, err)
	}
	added, size, err := s.append(in.Content)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Added %d bytes to %s, which now has %d.", added, s.shown, size), nil
}

// append writes at the end of a file. It refuses a file with a second name, which
// could be a file outside of the workspace.
func (s spot) append(text string) (added int, size int64, err error) {
	if s, err = s.enter(false); err != nil {
		return 0, 0, err
	}
	defer s.close()
	file, err := s.root.OpenFile(s.name, os.O_RDWR|os.O_APPEND|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, 0, say(s.shown, err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	switch {
	case err != nil:
		return 0, 0, say(s.shown, err)
	case !info.Mode().IsRegular():
		return 0, 0, fmt.Errorf("%s is not a regular file", path.Base(s.shown))
	case !s.is(info):
		return 0, 0, fmt.Errorf("%s was changed by another program meanwhile", path.Base(s.shown))
	case filestamp.Links(info) > 1:
		return 0, 0, fmt.Errorf("%s has a second name (a hard link); write the whole file instead", s.shown)
	case info.Size()+int64(len(text)) > maxScan:
		return 0, 0, fmt.Errorf("%s has %d bytes; files grow up to 64 MiB", s.shown, info.Size())
	}
	head := make([]byte, min(info.Size(), 64<<10))
	if _, err := file.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return 0, 0, say(s.shown, err)
	}
	raw, err := s.alike(text, head)
	if err != nil {
		return 0, 0, err
	}
	if _, err := file.Write(raw); err != nil {
		return 0, 0, say(s.shown, err)
	}
	return len(raw), info.Size() + int64(len(raw)), nil
}

// alike returns text with the line endings and in the encoding of a file whose first
// bytes are known.
func (s spot) alike(text string, head []byte) ([]byte, error) {
	code, isText := textcode.Of(head)
	if !isText {
		return nil, fmt.Errorf("%s is a binary file, or text in an unknown encoding, and cannot be appended to",
			s.shown)
	}
	have, err := code.Decode(head)
	if err != nil {
		return nil, say(s.shown, err)
	}
	raw, err := code.EncodeMore(withEnds(text, have))
	if err != nil {
		return nil, fmt.Errorf("%s: %w; write_file writes them, in UTF-8", s.shown, err)
	}
	return raw, nil
}

// is reports whether the name itself is a file, not a link to one.
func (s spot) is(file fs.FileInfo) bool {
	info, err := s.root.Lstat(s.name)
	return err == nil && os.SameFile(info, file)
}
