//go:build unix

package builtin

import (
	"io/fs"
	"syscall"
)

// names is how many names a file has; 1 when that is not known.
func names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // it is smaller on other systems
	}
	return 1
}
