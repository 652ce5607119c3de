package hub

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// write makes a new file and returns its digest.
func write(into *os.Root, name string, executable bool, content io.Reader) (digest string, err error) {
	mode := os.FileMode(0o644)
	if executable {
		mode = 0o755
	}
	f, err := into.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	_, err = io.Copy(io.MultiWriter(f, h), content)
	return hex.EncodeToString(h.Sum(nil)), errors.Join(err, f.Close())
}
