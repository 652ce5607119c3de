//go:build !linux

package skill

import (
	"io/fs"
	"time"
)

// stamp tells versions of a file apart without reading it.
type stamp struct {
	modified time.Time
	size     int64
}

func stampOf(info fs.FileInfo) stamp {
	if info == nil {
		return stamp{}
	}
	return stamp{info.ModTime(), info.Size()}
}

// links returns the number of a file's names; here it is unknown.
func links(fs.FileInfo) uint64 { return 1 }
