//go:build !linux

package protect

import (
	"io/fs"
	"time"
)

// stamp tells versions of a file or folder apart without reading it, as well as this
// system allows.
type stamp struct {
	modified time.Time
	size     int64
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.ModTime(), info.Size()} }

// settled returns false: programs can set all times here.
func (stamp) settled() bool { return false }

// links returns how many names a file has. That matters only where names are sealed.
func links(fs.FileInfo) uint64 { return 1 }
