//go:build unix

package filestamp

import (
	"io/fs"
	"syscall"
)

// IdentityOf returns the identity of a file.
func IdentityOf(info fs.FileInfo) Identity {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return Identity{uint64(s.Dev), uint64(s.Ino)} //nolint:unconvert // other systems have other types
	}
	return Identity{}
}

// Links returns how many names a file has; 1 if that is unknown.
func Links(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // other systems have other types
	}
	return 1
}

// Owner returns the user and group of a file; -1 if they are unknown.
func Owner(info fs.FileInfo) (user, group int) {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(s.Uid), int(s.Gid)
	}
	return -1, -1
}
