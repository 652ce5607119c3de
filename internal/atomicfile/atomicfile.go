// Package atomicfile replaces files of etui's own in one step.
package atomicfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Write replaces a file, or makes it, for this user alone (mode 0600). Who reads it
// meanwhile, and who reads it after a crash at any moment, finds all of the old
// content or all of the new one. The folder must be there; a file that a crash left
// in it is called .NAME-NUMBER and never read. A link is replaced, not followed.
//
// It is for the files of the state folder. Files of the workspace are written
// below an [os.Root].
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
