package protect

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp tells versions of a file or folder apart without reading it. No program can set
// the change time.
type stamp struct {
	device, inode uint64
	size          int64
	changed       syscall.Timespec
}

func stampOf(info fs.FileInfo) stamp {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{uint64(s.Dev), s.Ino, s.Size, s.Ctim} //nolint:unconvert // other processors have other types
}

// settled reports whether the next change will have another stamp: clocks of file systems
// have a resolution of milliseconds.
func (s stamp) settled() bool { return time.Since(time.Unix(s.changed.Unix())) > time.Second }

// links returns how many names a file has.
func links(info fs.FileInfo) uint64 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(s.Nlink) //nolint:unconvert // other processors have other types
}
