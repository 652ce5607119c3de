//go:build !linux

package protect

import (
	"io/fs"
	"time"
)

// stamp tells versions of a file or folder apart without reading it, as far as it can
// be told here.
type stamp struct {
	modified time.Time
	size     int64
}

func stampOf(info fs.FileInfo) stamp { return stamp{info.ModTime(), info.Size()} }

// settled is false: programs can set the time of a change here.
func (stamp) settled() bool { return false }

// links is how many names a file has. Only where names are sealed that matters.
func links(fs.FileInfo) uint64 { return 1 }
