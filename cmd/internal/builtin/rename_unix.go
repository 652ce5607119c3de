//go:build unix

package builtin

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

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
