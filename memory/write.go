package memory

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/phrase"
)

const (
	// MaxLongTerm is how many bytes MEMORY.md of an owner can have: every turn reads it.
	MaxLongTerm = 16 << 10
	// MaxEntry is how many bytes can be added at once.
	MaxEntry = 4 << 10
	// maxWait is how long a change waits for another one.
	maxWait = 10 * time.Second
)

var (
	// ErrNone says that an agent keeps nothing between conversations.
	ErrNone = phrase.Errorf("the agent has no memory")
	// ErrNobody says that a conversation has no owner, so that nothing of it is kept.
	ErrNobody = errors.New("nothing can be remembered here: etui does not know who is writing")
	// ErrFull says that a file would become longer than its limit.
	ErrFull = errors.New("the memory is full; remove or shorten something first")
	// ErrNoText says that a text to change is not in the memory, or more than once.
	ErrNoText = errors.New("the old text must be in the memory, exactly once")
)

// Change says what becomes of the owner's MEMORY.md.
type Change struct {
	// Old is a part of the file that is replaced; empty means that New is added at its
	// end, as a paragraph of its own.
	Old string
	// New is the new text; empty means that Old, and a line that it leaves empty, is removed.
	New string
}

// Change changes the MEMORY.md of an owner, and returns its new text. Changes happen one
// after the other, so that none is lost.
func (s *Store) Change(ctx context.Context, owner string, c Change) (text string, err error) {
	if len(c.New) > MaxEntry {
		return "", fmt.Errorf("the text has %d bytes, at most %d can be added at once", len(c.New), MaxEntry)
	}
	return s.edit(ctx, owner, longTerm, MaxLongTerm, func(was string) (string, error) {
		switch {
		case c.Old == "" && strings.TrimSpace(c.New) == "":
			return "", errors.New("there is no text to remember")
		case c.Old == "":
			return joined(was, c.New), nil
		case strings.Count(was, c.Old) != 1:
			return "", ErrNoText
		}
		before, after, _ := strings.Cut(was, c.Old)
		if c.New == "" && (before == "" || strings.HasSuffix(before, "\n")) {
			after = strings.TrimPrefix(after, "\n")
		}
		return before + c.New + after, nil
	})
}

// Note adds a line to the note of a day.
func (s *Store) Note(ctx context.Context, owner string, now time.Time, text string) error {
	if len(text) > MaxEntry {
		return fmt.Errorf("the text has %d bytes, at most %d can be added at once", len(text), MaxEntry)
	}
	if strings.TrimSpace(text) == "" {
		return errors.New("there is no text to note")
	}
	_, err := s.edit(ctx, owner, noteFile(now), MaxFile, func(was string) (string, error) {
		return joined(was, "- "+now.Format("15:04")+" "+text), nil
	})
	return err
}

// StoreEdit stores what a person made of MEMORY.md with an editor. The person began with the
// text base; lines that were added since then are kept, at the end.
func (s *Store) StoreEdit(ctx context.Context, owner, base, text string) (string, error) {
	return s.edit(ctx, owner, longTerm, MaxFile, func(was string) (string, error) {
		if was == base {
			return text, nil
		}
		return joined(text, news(was, base+"\n"+text)), nil
	})
}

// Forget removes what is remembered of an owner, and reports whether there was anything.
func (s *Store) Forget(ctx context.Context, owner string) (found bool, err error) {
	if s.config.Shared != nil && owner != "" {
		return s.config.Shared.Forget(ctx, owner)
	}
	if owner == "" || s.config.Own == "" || !exists(filepath.Join(s.config.Own, filepath.FromSlash(owner))) {
		return false, nil
	}
	err = s.locked(ctx, owner, func(root *os.Root) error { return root.RemoveAll(owner) })
	return err == nil, err
}

// Erase removes what is remembered of a person under some names, and counts the owners.
func (s *Store) Erase(ctx context.Context, names []string) (map[string]int, error) {
	count := map[string]int{"memories": 0}
	for _, name := range names {
		for _, kind := range []string{"people", "peers"} {
			found, err := s.Forget(ctx, Owner(kind, name))
			if err != nil {
				return count, err
			}
			if found {
				count["memories"]++
			}
		}
	}
	return count, nil
}

// Notes returns the notes of an owner, newest first, at most n; without an owner those of
// the shared part.
func (s *Store) Notes(owner string, n int) ([]Note, error) {
	if s.config.Shared != nil && owner != "" {
		return s.sharedNotes(owner, n)
	}
	base, folder := s.own(owner), owner
	if owner == "" {
		base, folder = s.config.Workspace, shared
	}
	root, err := open(base, folder)
	if err != nil || root == nil {
		return nil, err
	}
	defer root.Close()
	var notes []Note
	for _, month := range names(root, ".", monthName) {
		for _, day := range names(root, month, dayName) {
			if len(notes) == n {
				return notes, nil
			}
			text, err := read(root, look(root, path.Join(month, day)))
			if err != nil {
				return nil, err
			}
			if date, ok := dateOf(month, day); ok && text != "" {
				notes = append(notes, Note{date, text})
			}
		}
	}
	return notes, nil
}

var (
	monthName = regexp.MustCompile(`^\d{6}$`)
	dayName   = regexp.MustCompile(`^\d{8}\.md$`)
)

// dateOf returns the day of a note's file in a month's folder.
func dateOf(month, file string) (string, bool) {
	date, err := time.Parse("200601 20060102.md", month+" "+file)
	return date.Format(time.DateOnly), err == nil && noteFile(date) == month+"/"+file
}

// maxNames bounds how many files of a folder are looked at.
const maxNames = 10_000

// names returns the names in a folder that match, the last first.
func names(root *os.Root, folder string, match *regexp.Regexp) (list []string) {
	f, err := root.Open(folder)
	if err != nil {
		return nil
	}
	defer f.Close()
	all, _ := f.Readdirnames(maxNames) // what cannot be read is not there
	for _, name := range all {
		if match.MatchString(name) {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	slices.Reverse(list)
	return list
}

// joined adds a paragraph to a text.
func joined(text, paragraph string) string {
	if text = strings.TrimRight(text, "\n"); text != "" {
		text += "\n"
	}
	if paragraph = strings.TrimSpace(paragraph); paragraph == "" {
		return text
	}
	return text + paragraph + "\n"
}

// edit replaces a file of an owner by what change makes of its text. A reader finds either
// the old or the new text.
func (s *Store) edit(ctx context.Context, owner, file string, most int,
	change func(was string) (string, error)) (text string, err error) {
	if owner == "" || s.config.Own == "" && s.config.Shared == nil {
		return "", ErrNobody
	}
	checked := func(was string) (string, error) {
		text, err = change(was)
		switch {
		case err != nil:
			return "", err
		case len(text) > most && len(text) >= len(was):
			return "", fmt.Errorf("%w (it would have %d bytes, at most %d are kept)", ErrFull, len(text), most)
		case !utf8.ValidString(text):
			return "", errors.New("the text is not UTF-8")
		}
		return text, nil
	}
	if s.config.Shared != nil {
		err = s.changeShared(ctx, owner, file, checked)
		return text, err
	}
	err = s.locked(ctx, owner, func(root *os.Root) error {
		name := path.Join(owner, file)
		st := look(root, name)
		if st.size > MaxFile {
			return fmt.Errorf("%s has %d bytes; shorten it with an editor to %d", name, st.size, MaxFile)
		}
		was, err := read(root, st)
		if err != nil {
			return err
		}
		if _, err := checked(was); err != nil {
			return err
		}
		if err := root.MkdirAll(path.Dir(name), 0o700); err != nil {
			return err
		}
		return replace(root, name, text)
	})
	return text, err
}

// replace writes a file in one step.
func replace(root *os.Root, name, text string) error {
	temporary := path.Join(path.Dir(name), "."+rand.Text())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temporary, name)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

// lock is the file that a process holds while it changes the memory.
const lock = ".lock"

// locked runs work while no other process changes the memory.
func (s *Store) locked(ctx context.Context, owner string, work func(*os.Root) error) error {
	if !filepath.IsLocal(filepath.FromSlash(owner)) {
		return fmt.Errorf("%q is no owner of a memory", owner)
	}
	if err := os.MkdirAll(s.config.Own, 0o700); err != nil { //nolint:forbidigo // it is no workspace's
		return fmt.Errorf("writing the memory: %w", err)
	}
	root, err := os.OpenRoot(s.config.Own)
	if err != nil {
		return fmt.Errorf("writing the memory: %w", err)
	}
	defer root.Close()
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	l := flock.New(filepath.Join(s.config.Own, lock))
	if _, err := l.TryLockContext(ctx, time.Millisecond); err != nil {
		return fmt.Errorf("writing the memory: another program is changing it: %w", err)
	}
	defer func() { _ = l.Close() }() // the lock ends with the file
	if err := work(root); err != nil {
		return fmt.Errorf("writing the memory: %w", err)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Lstat(path) //nolint:forbidigo // the same
	return err == nil
}

// maxName is how long a name can be in an owner before it is shortened.
const maxName = 100

var plain = regexp.MustCompile(`^[a-z0-9_-][a-z0-9_.:@+-]*$`)

// Owner returns the owner that names stand for: ("people", "alice"). Different names give
// different owners, also on disks that do not distinguish small and capital letters.
func Owner(names ...string) string {
	for i, name := range names {
		if plain.MatchString(name) && len(name) <= maxName {
			continue
		}
		sum := sha256.Sum256([]byte(name))
		short := strings.ToLower(url.PathEscape(name))
		names[i] = strings.TrimLeft(short[:min(len(short), maxName)], ".") + "~" + hex.EncodeToString(sum[:8])
	}
	return path.Join(names...)
}
