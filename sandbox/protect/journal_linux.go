package protect

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// hold makes a file and locks it. The lock belongs to the open file: it ends when the last
// process has closed it that has got it from this one.
func hold(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// syncData writes the content of a file to the disk, without the time of the change.
func syncData(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// syncAll writes everything in the file system of a folder to the disk.
func syncAll(folder *os.File) error { return unix.Syncfs(int(folder.Fd())) }
