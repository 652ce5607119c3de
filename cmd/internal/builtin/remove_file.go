package builtin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

type removeInput struct {
	Path string `json:"path"`
	// a folder with all that is in it
	Recursive bool `json:"recursive,omitempty"`
}

// removeFile removes a file or folder of the workspace for good.
//
//etui:tool risk=destructive
//etui:zh 永久删除工作区中的文件或文件夹。
//etui:alias delete file, rm, 删除文件
//etui:alias erase file, wipe file, throw a file away, drop file, trash, 删掉, 扔掉, 丢掉, 清除文件
func (f *Files) removeFile(ctx context.Context, in removeInput) (string, error) {
	s, err := f.findRemoval(in.Path)
	if err != nil {
		return "", err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	if s, err = s.enter(false); err != nil {
		return "", err
	}
	defer s.close()
	info, err := s.root.Lstat(s.name)
	if err != nil {
		return "", say(s.shown, err)
	}
	if !info.IsDir() || !in.Recursive {
		err := s.root.Remove(s.name)
		if errors.Is(err, fs.ErrExist) {
			return "", fmt.Errorf("%s is not empty; set recursive to remove it with everything in it", s.shown)
		}
		return fmt.Sprintf("Removed %s.", s.shown), say(s.shown, err)
	}
	count, err := s.count(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Removed %s with everything in it: %d files and folders.", s.shown, count),
		say(s.shown, s.root.RemoveAll(s.name))
}

var (
	errMany = errors.New("it contains more than 50,000 files; remove its folders one by one")
	// Removing keeps each folder open that it is in: a deep one would take all files that
	// this process may open.
	errDeep = fmt.Errorf("it contains folders whose names have more than %d bytes; move those up and remove them first",
		maxPath)
)

// count counts everything below a folder.
func (s spot) count(ctx context.Context) (n int, err error) {
	err = fs.WalkDir(s.root.FS(), s.name, func(name string, e fs.DirEntry, err error) error {
		if n++; n > maxWalk {
			return errMany
		}
		if err == nil && tooDeep(name, e) {
			return errDeep
		}
		return ctx.Err()
	})
	return n - 1, err
}
