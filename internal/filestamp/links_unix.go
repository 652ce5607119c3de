//go:build unix

package filestamp

import (
	"io/fs"
	"syscall"
)

// Links returns how many names a file has; 1 if that is unknown.
func Links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // other systems have other types
	}
	return 1
}
