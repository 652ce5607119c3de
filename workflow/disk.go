package workflow

import (
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/etui-run/etui/rules"
)

// maxLooked is how many files the conditions of a phase may look at, each time they are
// judged.
const maxLooked = 200

// look returns what conditions read as disk: a file by its path, with size, text (the first
// MaxData bytes) and, if it is JSON of at most so many bytes, data. A name that is no
// regular file, or cannot be read, is not there. A file is read once while the conditions are judged.
func look(disk fs.FS) rules.Lookup {
	seen := map[string]map[string]any{}
	return func(name string) (any, bool, error) {
		name = path.Clean(name)
		if disk == nil || !fs.ValidPath(name) {
			return nil, false, nil
		}
		file, there := seen[name]
		if !there {
			if len(seen) >= maxLooked {
				return nil, false, fmt.Errorf("the conditions look at more than %d files", maxLooked)
			}
			file = read(disk, name)
			seen[name] = file
		}
		return file, file != nil, nil
	}
}

func read(disk fs.FS, name string) map[string]any {
	file, err := disk.Open(name)
	if err != nil {
		return nil
	}
	defer func() { _ = file.Close() }() // it was only read
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	raw, err := io.ReadAll(io.LimitReader(file, MaxData+1))
	if err != nil {
		return nil
	}
	found := map[string]any{"size": info.Size(), "text": strings.ToValidUTF8(string(raw[:min(len(raw), MaxData)]), "")}
	var data any
	if len(raw) <= MaxData && json.Unmarshal(raw, &data) == nil {
		found["data"] = data
	}
	return found
}
