package skill

import (
	"io/fs"
	"syscall"
	"time"
)

// stamp tells versions of a file apart without reading it.
type stamp struct {
	modified      time.Time
	size          int64
	device, inode uint64
	changed       syscall.Timespec // unlike modified, no program can set it
}

func stampOf(info fs.FileInfo) stamp {
	if info == nil {
		return stamp{}
	}
	s := stamp{modified: info.ModTime(), size: info.Size()}
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		s.device, s.inode, s.changed = uint64(sys.Dev), sys.Ino, sys.Ctim //nolint:unconvert // other processors have other types
	}
	return s
}

// links returns the number of a file's names.
func links(info fs.FileInfo) uint64 {
	if sys, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(sys.Nlink) //nolint:unconvert // other processors have other types
	}
	return 1
}
