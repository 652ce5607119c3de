//go:build !unix

package builtin

import (
	"io/fs"
	"os"
	"path/filepath"
)

// names returns how many names a file has, which is unknown on this system.
func names(fs.FileInfo) uint64 { return 1 }

// rename moves a name in one folder to a name in another one.
func rename(from *os.Root, old string, to *os.Root, name string) error {
	return os.Rename(filepath.Join(from.Name(), old), filepath.Join(to.Name(), name))
}
