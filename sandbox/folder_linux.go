package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox/internal/wire"
)

// openFolder opens a folder to hold it. Its path has no links.
func openFolder(path string) (*os.File, error) {
	return os.OpenFile(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
}

// below returns the name of a path in the workspace, "." for the workspace itself.
func (v view) below(path string) (name string, ok bool) {
	if v.workspace == nil || !within(path, v.writable[:1]) {
		return "", false
	}
	name, err := filepath.Rel(v.writable[0], path)
	return name, err == nil
}

// at returns a path by which etui reaches a file: through the open workspace, if it is in
// there. Another folder may be at the workspace's own path by now.
func (v view) at(path string) string {
	if name, ok := v.below(path); ok {
		return filepath.Join(descriptor(v.workspace), name)
	}
	return path
}

// open opens a file of the view to hold it. Its path has no links; one that was put there
// since is an error.
func (v view) open(path string) (*os.File, error) {
	name, ok := v.below(path)
	if !ok {
		return os.OpenFile(path, unix.O_PATH|unix.O_NOFOLLOW, 0)
	}
	fd, err := unix.Openat2(int(v.workspace.Fd()), name, &unix.OpenHow{
		Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return os.NewFile(uintptr(fd), path), nil
}

// reach makes the helper use the open workspace where the program sees the machine's own
// files. Other folders in the workspace are left out: its rule includes them.
func (v view) reach(spec *wire.Spec) {
	if v.workspace == nil {
		return
	}
	inside := func(path string) bool {
		_, ok := v.below(path)
		return ok
	}
	spec.Writable = append([]string{wire.Held}, slices.DeleteFunc(slices.Clone(spec.Writable), inside)...)
	spec.Readable = slices.DeleteFunc(slices.Clone(spec.Readable), inside)
	if name, ok := v.below(v.dir); ok {
		spec.Dir = filepath.Join(wire.Held, name)
	}
}

// use opens a file of the view while do uses it.
func (v view) use(path string, do func(*os.File) error) error {
	f, err := v.open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	return do(f)
}

// descriptor is a path to a file that etui has open.
func descriptor(f *os.File) string { return fmt.Sprintf("/proc/self/fd/%d", f.Fd()) }
