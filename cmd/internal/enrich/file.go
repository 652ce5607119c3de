// Package enrich has a language model write what people call a tool and how they ask for
// it, once for each definition, and keeps these texts in a file that people can edit.
//
// Only the ranking reads the texts. They never reach a model again.
package enrich

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/internal/atomicfile"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/tool"
)

// maxFile bounds a file, in bytes. Reading a longer one is an error.
const maxFile = 64 << 20

// Line is what is kept about one tool or skill.
type Line struct {
	Tool  string `json:"tool,omitempty"`
	Skill string `json:"skill,omitempty"`
	tool.Texts
	// For is the hash of the definition that a model wrote the texts for, and By is the
	// model.
	For string `json:"for,omitempty"`
	By  string `json:"by,omitempty"`
	// Sum is the hash of the texts as the model wrote them. Other texts are a person's.
	Sum string `json:"sum,omitempty"`
}

// Edited reports whether a person wrote or changed the texts. No model replaces them, and
// they hold for every version of the tool.
func (l Line) Edited() bool { return l.Sum != sum(l.Texts) }

func (l Line) key() string {
	if l.Skill != "" {
		return catalog.SkillTexts(l.Skill)
	}
	return l.Tool
}

func sum(t tool.Texts) string {
	raw, _ := json.Marshal(t) // cannot fail
	hash := sha256.Sum256(raw)
	return hex.EncodeToString(hash[:4])
}

// File is a file of texts, a line of JSON for each tool, sorted by name. It is safe for
// concurrent use; programs and people may change it at any time.
type File struct {
	path string
	mu   sync.Mutex // one change at a time
}

// Open returns the file at a path. It need not exist.
func Open(path string) *File { return &File{path: path} }

// Path is where the file is.
func (f *File) Path() string { return f.path }

// Read returns the lines by the names that [catalog.Registry.Enrich] takes. A file with a
// line that cannot be read is an error, and so is a second line about the same tool or
// skill: the next change would drop one of them, which may be a person's.
func (f *File) Read() (map[string]Line, error) {
	lines := map[string]Line{}
	info, err := os.Stat(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return lines, nil
	}
	switch {
	case err != nil:
	case !info.Mode().IsRegular(): // opening a pipe would wait
		err = phrase.Errorf("it is not a regular file")
	case info.Size() > maxFile:
		err = phrase.Errorf("it has more than %d MB", maxFile>>20)
	}
	var text []byte
	if err == nil {
		text, err = os.ReadFile(f.path)
	}
	if err != nil {
		return nil, phrase.Errorf("reading %s: %w", f.path, err)
	}
	n := 0
	numbers := map[string]int{} // of the lines, by name
	for text := range bytes.Lines(text) {
		n++
		if text = bytes.TrimSpace(text); len(text) == 0 {
			continue
		}
		l, err := parseLine(text)
		if first, again := numbers[l.key()]; err == nil && again {
			err = phrase.Errorf("line %d is about %s, too: join the two lines", first, l.key())
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", f.path, n, err)
		}
		lines[l.key()], numbers[l.key()] = l, n
	}
	return lines, nil
}

// parseLine reads a line, which must be one JSON object and nothing else.
func parseLine(text []byte) (l Line, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err = d.Decode(&l); err != nil {
		return l, err
	}
	if _, err = d.Token(); err != io.EOF {
		return l, phrase.Errorf("it has more than one object: write each on a line of its own")
	}
	if (l.Tool == "") == (l.Skill == "") {
		return l, phrase.Errorf(`it needs "tool" or "skill"`)
	}
	return l, nil
}

// Texts returns lines as a registry takes them.
func Texts(lines map[string]Line) map[string]catalog.Enrichment {
	texts := make(map[string]catalog.Enrichment, len(lines))
	for key, l := range lines {
		e := catalog.Enrichment{Texts: l.Texts, For: l.For}
		if l.Edited() {
			e.For = ""
		}
		texts[key] = e
	}
	return texts
}

// change reads the file, changes its lines and replaces it. Lines that people
// edited meanwhile stay.
func (f *File) change(how func(map[string]Line)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	lines, err := f.Read()
	if err != nil {
		return err
	}
	how(lines)
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		if err := e.Encode(lines[key]); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
		return err
	}
	return atomicfile.Write(f.path, b.Bytes())
}

// add adds lines of a model, or replaces those that no person has edited.
func (f *File) add(list []Line) error {
	if len(list) == 0 {
		return nil
	}
	return f.change(func(lines map[string]Line) {
		for _, l := range list {
			l.Sum = sum(l.Texts)
			if old, ok := lines[l.key()]; !ok || !old.Edited() {
				lines[l.key()] = l
			}
		}
	})
}

// Drop removes the lines that a model wrote about what a catalog does not have, and
// returns how many there were.
func (f *File) Drop(c *catalog.Catalog) (n int, err error) {
	lines, err := f.Read()
	if err != nil {
		return 0, err
	}
	gone := func(l Line) bool {
		_, tool := c.Get(l.Tool)
		_, skill := c.Skill(l.Skill)
		return !tool && !skill && !l.Edited()
	}
	for _, l := range lines {
		if gone(l) {
			n++
		}
	}
	if n == 0 {
		return 0, nil
	}
	return n, f.change(func(lines map[string]Line) {
		maps.DeleteFunc(lines, func(_ string, l Line) bool { return gone(l) })
	})
}
