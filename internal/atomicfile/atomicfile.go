// Package atomicfile replaces files of etui's own in one step.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces or creates a file that only this user can read (mode 0600). A reader
// finds either all of the old content or all of the new one, even after a crash at any
// moment. The folder must exist; a crash may leave a file .NAME-NUMBER in it, which is
// never read. A link is replaced, not followed.
//
// Write is for the files of the state folder. Files of the workspace are written below
// an [os.Root].
func Write(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
