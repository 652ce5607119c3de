// Package filestamp tells versions of a file apart without reading it.
package filestamp

import (
	"io/fs"
	"time"
)

// Stamp differs between two versions of a file or folder, as far as the system can
// tell. The zero Stamp is that of no file.
type Stamp struct {
	// Modified is when the content changed. Programs can set it.
	Modified time.Time
	size     int64
	identity
}

// Of returns the stamp of a file; the zero one for nil.
func Of(info fs.FileInfo) Stamp {
	if info == nil {
		return Stamp{}
	}
	return Stamp{info.ModTime(), info.Size(), identityOf(info)}
}
