package builtin

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/etui-run/etui/tool"
)

// Limits of the file tools.
const (
	maxPath  = 1024    // bytes of a path
	maxFile  = 1 << 20 // bytes of a file that is read or written
	maxLines = 2000    // lines of one reading
	maxList  = 500     // entries of a listing or search
	maxWalk  = 50_000  // entries that a search looks at
	maxHits  = 100     // lines that a text search gives
	maxWidth = 300     // bytes of such a line
)

// Files are the file tools of one workspace.
type Files struct {
	root      *os.Root
	dir       string
	protected []string // files and folders that are not to be changed
}

// Open opens the files of a workspace. What lies at or below a protected path, which
// need not exist, can be read but not changed: the configuration, the skills and
// the state would give an agent what it was not given.
func Open(workspace string, protected ...string) (*Files, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, fmt.Errorf("opening the workspace: %w", err)
	}
	return &Files{root: root, dir: workspace, protected: protected}, nil
}

// Close ends the use of the workspace.
func (f *Files) Close() error { return f.root.Close() }

// Tools returns the file tools.
func (f *Files) Tools() []tool.Tool {
	return []tool.Tool{f.readFile(), f.listDir(), f.writeFile(), f.editFile(), f.findFiles(), f.searchText()}
}

// clean makes a path of a model one that the root takes: relative, with slashes.
// An absolute path inside of the workspace is taken as it is meant.
func (f *Files) clean(name string) (string, error) {
	if strings.ContainsRune(name, 0) {
		return "", errors.New("the path holds a NUL character")
	}
	if len(name) > maxPath {
		return "", fmt.Errorf("the path is longer than %d bytes", maxPath)
	}
	if name == "" {
		return ".", nil
	}
	if filepath.IsAbs(name) {
		inside, err := filepath.Rel(f.dir, name)
		if err != nil || !filepath.IsLocal(inside) {
			return "", fmt.Errorf("%s is outside of the workspace; use paths relative to it", name)
		}
		name = inside
	}
	return path.Clean(filepath.ToSlash(name)), nil
}

// say makes an error of the file system one for the model: without the
// workspace's own place.
func say(name string, err error) error {
	var p *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %s; list_dir shows what is there", name)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s: permission denied", name)
	case errors.As(err, &p):
		return fmt.Errorf("%s: %w", name, p.Err)
	}
	return err
}

// open opens a regular file for reading; it does not wait for pipes.
func (f *Files) open(name string) (*os.File, fs.FileInfo, error) {
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, say(name, err)
	}
	info, err := file.Stat()
	switch {
	case err != nil:
		err = say(name, err)
	case info.IsDir():
		err = fmt.Errorf("%s is a folder; use list_dir", name)
	case !info.Mode().IsRegular():
		err = fmt.Errorf("%s is not a regular file", name)
	default:
		return file, info, nil
	}
	return nil, nil, errors.Join(err, file.Close())
}

// read returns a text file whole.
func (f *Files) read(name string) (string, error) {
	file, info, err := f.open(name)
	if err != nil {
		return "", err
	}
	defer file.Close()
	if info.Size() > maxFile {
		return "", fmt.Errorf("%s has %d bytes; files up to 1 MiB are read. search_text finds lines in it", name, info.Size())
	}
	raw, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	switch {
	case err != nil:
		return "", say(name, err)
	case len(raw) > maxFile:
		return "", fmt.Errorf("%s is longer than 1 MiB", name)
	case bytes.ContainsRune(raw, 0) || !utf8.Valid(raw):
		return "", fmt.Errorf("%s is a binary file of %d bytes", name, len(raw))
	}
	return string(raw), nil
}

// writable refuses what is protected, under whatever name, and what is no regular
// file. It returns the mode that the file has, or that a new one gets.
func (f *Files) writable(name string) (fs.FileMode, error) {
	for part := name; part != "."; part = path.Dir(part) {
		if f.isProtected(part) {
			return 0, errProtected
		}
	}
	if f.isProtected(".") {
		return 0, errProtected
	}
	info, err := f.root.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return 0o644, nil
	case err != nil:
		return 0, say(name, err)
	case !info.Mode().IsRegular():
		return 0, fmt.Errorf("%s is not a regular file", name)
	}
	return info.Mode().Perm(), nil
}

// isProtected reports whether a path names one that is protected.
func (f *Files) isProtected(name string) bool {
	info, err := f.root.Stat(name)
	return slices.ContainsFunc(f.protected, func(protected string) bool {
		if strings.EqualFold(filepath.Join(f.dir, filepath.FromSlash(name)), filepath.Clean(protected)) {
			return true
		}
		own, missing := os.Stat(protected)
		return err == nil && missing == nil && os.SameFile(own, info)
	})
}

var errProtected = errors.New("the configuration of the workspace, its skills and its state cannot be changed by tools")

// withoutLinks refuses a path on which a link stands: what it leads to could be
// the configuration under another name.
func (f *Files) withoutLinks(name string) error {
	for part := name; part != "."; part = path.Dir(part) {
		if info, err := f.root.Lstat(part); err == nil && info.Mode()&fs.ModeSymlink != 0 {
			return fmt.Errorf("%s is a link; write to the file itself", part)
		}
	}
	return nil
}

// write replaces a file in one step, so that no reader sees half of it.
func (f *Files) write(name, text string) error {
	if len(text) > maxFile {
		return fmt.Errorf("%d bytes are too much; files up to 1 MiB are written", len(text))
	}
	mode, err := f.writable(name)
	if err != nil {
		return err
	}
	if err := f.withoutLinks(name); err != nil {
		return err
	}
	if folder := path.Dir(name); folder != "." {
		if err := f.root.MkdirAll(folder, 0o755); err != nil {
			return say(folder, err)
		}
	}
	temporary := path.Join(path.Dir(name), ".etui-"+rand.Text()+".tmp")
	file, err := f.root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return say(name, err)
	}
	_, err = file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil {
		err = f.root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(say(name, err), f.root.Remove(temporary))
	}
	return nil
}

// walk calls f for every file and folder below a folder, in order, but not for
// what lies in .git and node_modules. Links are not followed.
func (f *Files) walk(ctx context.Context, folder string, each func(name string, e fs.DirEntry) error) error {
	seen := 0
	return fs.WalkDir(f.root.FS(), folder, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			if name == folder {
				return say(folder, err)
			}
			return nil // a folder that may not be read does not end the search
		}
		if seen++; seen > maxWalk {
			return fs.SkipAll
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if e.IsDir() && name != folder && (e.Name() == ".git" || e.Name() == "node_modules") {
			return fs.SkipDir
		}
		if name == folder {
			return nil
		}
		return each(name, e)
	})
}
