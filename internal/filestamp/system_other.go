//go:build !unix

package filestamp

import "io/fs"

// IdentityOf returns the zero Identity: it is unknown here.
func IdentityOf(fs.FileInfo) Identity { return Identity{} }

// Links returns 1: how many names a file has is unknown here.
func Links(fs.FileInfo) uint64 { return 1 }

// Owner returns -1: it is unknown here.
func Owner(fs.FileInfo) (user, group int) { return -1, -1 }
