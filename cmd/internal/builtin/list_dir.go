package builtin

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

type listInput struct {
	// default: the workspace
	Path string `json:"path,omitempty"`
}

// listDir lists a folder of the workspace.
//
//etui:tool risk=read
//etui:zh 列出工作区文件夹的内容。
//etui:alias ls, dir, 目录, 有哪些文件
//etui:alias show the folder, contents of a folder, how many files, 列出文件夹, 文件夹里有什么, 多少个文件
func (f *Files) listDir(in listInput) (string, error) {
	s, err := f.find(in.Path)
	if err != nil {
		return "", err
	}
	defer s.close()
	entries, err := s.entries()
	hides := f.hides(s)
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool { return hides(path.Join(s.name, e.Name())) })
	if err != nil {
		return "", err
	}
	if len(entries) == 0 {
		return s.shown + " is empty.", nil
	}
	var b strings.Builder
	for i, e := range entries {
		if i == maxList || b.Len() > maxText-1000 {
			fmt.Fprintf(&b, "(and %d more; find_files finds by name)\n", len(entries)-i)
			break
		}
		info, err := e.Info()
		switch {
		case e.IsDir():
			fmt.Fprintf(&b, "%s/\n", told(e.Name()))
		case err != nil || !info.Mode().IsRegular():
			fmt.Fprintf(&b, "%s (%s)\n", told(e.Name()), e.Type())
		default:
			fmt.Fprintf(&b, "%s (%d bytes)\n", told(e.Name()), info.Size())
		}
	}
	return b.String(), nil
}

// entries returns the entries of a folder, folders first, sorted by name, at most
// maxWalk. For a file it returns the file itself.
func (s spot) entries() ([]fs.DirEntry, error) {
	info, err := s.root.Stat(s.name)
	switch {
	case err != nil:
		return nil, say(s.shown, err)
	case !info.IsDir():
		return []fs.DirEntry{fs.FileInfoToDirEntry(info)}, nil
	}
	folder, err := s.openAny()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	entries, err := folder.ReadDir(maxWalk)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, say(s.shown, err)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int {
		if a.IsDir() != b.IsDir() {
			if a.IsDir() {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name(), b.Name())
	})
	return entries, nil
}
