package builtin

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"syscall"

	"github.com/etui-run/etui/sandbox/protect"
)

type renameInput struct {
	From string `json:"from"`
	// new path; nothing may be there yet
	To string `json:"to"`
}

// renameFile renames or moves a file or folder of the workspace.
//
//etui:tool risk=write
//etui:zh 移动或重命名工作区中的文件或文件夹。
//etui:alias move file, mv, 重命名, 移动文件
//etui:alias change the name of a file, put a file into a folder, 改名, 挪文件, 搬文件, 移到文件夹
func (f *Files) renameFile(in renameInput) (string, error) {
	from, err := f.findRemoval(in.From)
	if err != nil {
		return "", err
	}
	to, err := f.findChange(in.To, true)
	if err != nil {
		return "", err
	}
	if to.holdsControl(from) {
		return "", fmt.Errorf("%s %w", to.shown, errControl)
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	switch _, err := f.root.Lstat(to.name); {
	case err == nil:
		return "", fmt.Errorf("%s already exists; remove it first, or choose another name", to.shown)
	case !errors.Is(err, fs.ErrNotExist):
		return "", say(to.shown, err)
	}
	if from, err = from.enter(false); err != nil {
		return "", err
	}
	defer from.close()
	if to, err = to.enter(true); err != nil {
		return "", err
	}
	defer to.close()
	if err := rename(from.root, from.name, to.root, to.name); err != nil {
		return "", say(from.shown, err)
	}
	return fmt.Sprintf("Moved %s to %s.", from.shown, to.shown), nil
}

// holdsControl reports whether a folder that is moved here brings something that other
// programs trust under its new name: workflows become .github/workflows.
func (s spot) holdsControl(from spot) bool {
	folder, err := from.root.OpenFile(from.name, os.O_RDONLY|syscall.O_NONBLOCK,
		0) // a pipe does not wait for its writer
	if err != nil {
		return false // no folder
	}
	defer folder.Close()
	names, _ := folder.Readdirnames(-1) // none of a file
	return slices.ContainsFunc(names, func(name string) bool { return protect.TrustedIn(path.Base(s.name), name) })
}

// findRemoval resolves a path for moving or removing it. If it is a link, the
// link itself is meant.
func (f *Files) findRemoval(given string) (spot, error) {
	s, err := f.findChange(given, true)
	if err != nil {
		return s, err
	}
	if f.holdsProtected(s.name) {
		return s, fmt.Errorf("%s cannot be moved or removed: %w", s.shown, errProtected)
	}
	if _, err := s.root.Lstat(s.name); err != nil {
		return s, say(s.shown, err)
	}
	return s, nil
}
