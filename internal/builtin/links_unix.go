//go:build unix

package builtin

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// names returns how many names a file has; 1 if unknown.
func names(info fs.FileInfo) uint64 {
	if s, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(s.Nlink) //nolint:unconvert // it is smaller on other systems
	}
	return 1
}

// rename moves a name in one folder to a name in another one.
func rename(from *os.Root, old string, to *os.Root, name string) error {
	source, err := from.Open(".")
	if err != nil {
		return err
	}
	target, err := to.Open(".")
	if err != nil {
		return errors.Join(err, source.Close())
	}
	err = unix.Renameat(int(source.Fd()), old, int(target.Fd()), name)
	return errors.Join(err, source.Close(), target.Close())
}
