//go:build unix

package selftest

import (
	"io/fs"
	"os"
	"syscall"
)

// anybodyMayConnect opens a socket to other users: a command may run as one.
func anybodyMayConnect(socket string) error { return os.Chmod(socket, 0o777) }

func isSetuid(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.Mode()&fs.ModeSetuid != 0
}

// isLocked reports whether somebody holds a lock on a file.
func isLocked(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	return syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil
}

// makeFIFO makes a pipe that has a name.
func makeFIFO(path string) error { return syscall.Mkfifo(path, 0o644) }
