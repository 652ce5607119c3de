// Package filestamp tells versions of a file apart without reading it.
package filestamp

import (
	"io/fs"
	"time"
)

// Stamp differs between two versions of a file or folder, as far as the system can
// tell. The zero Stamp is that of no file. Its times are in nanoseconds since 1970.
type Stamp struct {
	// Modified is when the content changed. Programs can set it.
	Modified int64
	Size     int64
	Identity
	// Changed is when anything changed, which no program can set; 0 if it is unknown.
	Changed int64
}

// Identity tells files apart, whatever their names. It is zero where the system says
// nothing about it.
type Identity struct{ Device, Inode uint64 }

// Of returns the stamp of a file; the zero one for nil.
func Of(info fs.FileInfo) Stamp {
	if info == nil {
		return Stamp{}
	}
	return Stamp{info.ModTime().UnixNano(), info.Size(), IdentityOf(info), changed(info)}
}

// Settled reports whether the next change will have another stamp: clocks of file systems
// have a resolution of milliseconds.
func (s Stamp) Settled() bool {
	return s.Changed != 0 && time.Since(time.Unix(0, s.Changed)) > time.Second
}
