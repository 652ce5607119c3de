package builtin

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// received is the folder of what people send along with messages, and maxReceived how many files it
// holds: then somebody has to tidy it up.
const (
	received    = "received"
	maxReceived = 1000
)

// Receive keeps a file that somebody has sent, and returns its path. The same file twice is kept
// once. Nothing that is there is replaced.
func (f *Files) Receive(name string, data []byte) (string, error) {
	sum := sha256.Sum256(data)
	given := received + "/" + hex.EncodeToString(sum[:4]) + "-" + plainName(name)
	if _, err := f.root.Lstat(given); err == nil {
		return given, nil
	}
	list, err := fs.ReadDir(f.root.FS(), received)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", err
	}
	if len(list) >= maxReceived {
		const full = "the folder %s of the workspace has %d files: remove those that nobody needs"
		return "", fmt.Errorf(full, received, len(list))
	}
	s, err := f.findChange(given, false)
	if err != nil {
		return "", err
	}
	f.changing.Lock()
	defer f.changing.Unlock()
	return given, f.replace(s, data, func() error { return nil })
}

// plainName makes a name that means nothing to a shell, and keeps its end.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '-', r == '_':
			return r
		}
		return '_'
	}, path.Base(name))
	if len(name) > 60 {
		name = name[len(name)-60:]
	}
	name = strings.TrimRight(name, "._-")
	if stem := strings.TrimSuffix(name, path.Ext(name)); stem != "" && strings.Trim(stem, "._-") == "" {
		return "file" + path.Ext(name)
	}
	if name = strings.TrimLeft(name, "._-"); name == "" {
		return "file"
	}
	return name
}
