package filestamp

import (
	"io/fs"
	"syscall"
	"time"
)

// identity is what no program can set.
type identity struct {
	device, inode uint64
	changed       syscall.Timespec
}

func identityOf(info fs.FileInfo) (id identity) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		id = identity{uint64(s.Dev), s.Ino, s.Ctim} //nolint:unconvert // other processors have other types
	}
	return id
}

// Settled reports whether the next change will have another stamp: clocks of file systems
// have a resolution of milliseconds.
func (s Stamp) Settled() bool { return time.Since(time.Unix(s.changed.Unix())) > time.Second }
