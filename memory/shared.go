package memory

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// Shared keeps the own part of an agent's memory where several processes use it: the texts
// of an owner, under the names that the files would have.
type Shared interface {
	// Texts returns the texts of an owner under some names, or all if no names are given. Missing
	// parts are left out.
	Texts(ctx context.Context, owner string, names ...string) (map[string]string, error)
	// Change replaces a text by what change makes of it, while no process changes it. An error
	// of change changes nothing. It may run change twice.
	Change(ctx context.Context, owner, name string, change func(was string) (string, error)) error
	// Forget removes all texts of an owner, and reports whether there was one.
	Forget(ctx context.Context, owner string) (bool, error)
}

// ErrAway says that the place that several processes share does not answer. It may soon.
var ErrAway = errors.New("the memory is unavailable")

// sharedTexts returns texts from where several processes keep them, cut as files are.
func (s *Store) sharedTexts(owner string, names ...string) (map[string]string, error) {
	if s.config.Shared == nil || owner == "" {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), maxWait)
	defer cancel()
	texts, err := s.config.Shared.Texts(ctx, owner, names...)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAway, err)
	}
	for name, text := range texts {
		if len(text) > MaxFile { // two memories became one
			texts[name] = strings.ToValidUTF8(text[:MaxFile], "") + cut
		}
	}
	return texts, nil
}

// sharedNotes is Notes of an owner whose texts several processes share.
func (s *Store) sharedNotes(owner string, n int) (notes []Note, err error) {
	texts, err := s.sharedTexts(owner)
	if err != nil {
		return nil, err
	}
	for name, text := range texts {
		month, file := path.Split(name)
		if date, ok := dateOf(path.Clean(month), file); ok && text != "" {
			notes = append(notes, Note{date, text})
		}
	}
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(b.Day, a.Day) })
	return notes[:min(n, len(notes))], nil
}

// Move adds the files of a folder, one that Config.Own named before several processes shared
// the memory, to what they share, and removes them. Lines that are there already are not
// added again, and other files stay where they are. It returns how many files there were.
// Without the folder it does nothing.
func (s *Store) Move(ctx context.Context, dir string) (n int, err error) {
	root, err := open(dir, ".")
	if err != nil || root == nil {
		return 0, err
	}
	defer root.Close()
	var folders []string
	err = fs.WalkDir(root.FS(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			if err == nil && entry.IsDir() && name != "." {
				folders = append(folders, name)
			}
			return err
		}
		owner, file := path.Split(name) // of the lock, for example, the owner is empty
		if owner == "" {
			return nil
		}
		if file != longTerm {
			month := path.Base(owner)
			if _, ok := dateOf(month, file); !ok {
				return nil
			}
			owner, file = path.Dir(path.Clean(owner)), path.Join(month, file)
		}
		st := look(root, name)
		if st.size > maxMoved {
			return fmt.Errorf("%s has %d bytes; shorten it with an editor to %d", name, st.size, maxMoved)
		}
		text, err := readTo(root, st, maxMoved)
		if err != nil {
			return err
		}
		err = s.config.Shared.Change(ctx, path.Clean(owner), file, func(was string) (string, error) {
			said := strings.ToValidUTF8(text, "")
			if was == "" {
				return said, nil
			}
			return joined(was, news(said, was)), nil
		})
		if err != nil {
			return err
		}
		n++
		return root.Remove(name)
	})
	if err != nil {
		return n, fmt.Errorf("moving the memory of %s into the database: %w", dir, err)
	}
	_ = root.Remove(lock)
	for _, folder := range slices.Backward(folders) {
		_ = root.Remove(folder) // one with other files stays
	}
	_ = os.Remove(dir) //nolint:forbidigo // it is no workspace's, and the same
	return n, nil
}

// maxMoved is how many bytes a file may have that moves. People can have made it longer than
// what is read of it.
const maxMoved = 8 << 20

// changeShared changes a text that several processes share.
func (s *Store) changeShared(ctx context.Context, owner, name string, change func(string) (string, error)) error {
	if !filepath.IsLocal(filepath.FromSlash(owner)) {
		return fmt.Errorf("%q is no owner of a memory", owner)
	}
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	var refused error // by change: it says itself what is wrong
	err := s.config.Shared.Change(ctx, owner, name, func(was string) (text string, err error) {
		text, refused = change(was)
		return text, refused
	})
	switch {
	case err == nil:
		return nil
	case refused != nil:
		return fmt.Errorf("writing the memory: %w", refused)
	}
	return fmt.Errorf("%w: %w", ErrAway, err)
}

// news returns the lines of a text that are not among those that are known.
func news(text, known string) string {
	lines := strings.Split(known, "\n")
	var added []string
	for line := range strings.SplitSeq(text, "\n") {
		if strings.TrimSpace(line) != "" && !slices.Contains(lines, line) {
			added = append(added, line)
		}
	}
	return strings.Join(added, "\n")
}
