//go:build !unix

package builtin

import (
	"os"
	"path/filepath"
)

// rename moves a name in one folder to a name in another one.
func rename(from *os.Root, old string, to *os.Root, name string) error {
	return os.Rename(filepath.Join(from.Name(), old), filepath.Join(to.Name(), name))
}
