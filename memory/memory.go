// Package memory reads what an agent remembers between conversations: the file
// memory/MEMORY.md in its workspace, and today's and yesterday's notes, which are in
// memory/YYYYMM/YYYYMMDD.md.
//
// Missing files are empty memory. A Store is safe for concurrent use.
package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"
)

// MaxFile is how many bytes of each file are read. A longer file is cut, and its text
// says so.
const MaxFile = 64 << 10

// Memory is the content of a memory at one moment. It is immutable.
type Memory struct {
	// LongTerm is the text of MEMORY.md.
	LongTerm string
	// Notes are the daily notes, oldest first.
	Notes []Note
}

// Note is the note of one day.
type Note struct {
	// Day is the date, as 2006-01-02.
	Day  string
	Text string
}

// Store reads the memory of one workspace.
type Store struct {
	workspace string
	none      Memory

	mu      sync.Mutex
	stamps  [3]stamp
	current *Memory
}

// stamp identifies a version of a file.
type stamp struct {
	name    string
	size    int64
	changed time.Time
}

// New returns the store of a workspace, which need not exist.
func New(workspace string) *Store { return &Store{workspace: workspace} }

// Load returns the memory of a day. It returns the same pointer until the size or time
// of a file changes. It reads nothing outside of the workspace and follows no link to a
// file: a program that may write the workspace chooses what is there.
func (s *Store) Load(now time.Time) (*Memory, error) {
	root, err := os.OpenRoot(s.workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return &s.none, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the memory: %w", err)
	}
	defer root.Close()
	days := [2]time.Time{now.AddDate(0, 0, -1), now}
	s.mu.Lock()
	defer s.mu.Unlock()
	stamps := [3]stamp{look(root, "memory/MEMORY.md")}
	for i, day := range days {
		stamps[i+1] = look(root, "memory/"+day.Format("200601/20060102")+".md")
	}
	if s.current != nil && stamps == s.stamps {
		return s.current, nil
	}
	m := &Memory{}
	if m.LongTerm, err = read(root, stamps[0]); err != nil {
		return nil, err
	}
	for i, day := range days {
		text, err := read(root, stamps[i+1])
		if err != nil {
			return nil, err
		}
		if text != "" {
			m.Notes = append(m.Notes, Note{day.Format(time.DateOnly), text})
		}
	}
	s.current, s.stamps = m, stamps
	return m, nil
}

// Read returns the text of a file in a workspace, as Load reads its files; a missing one is
// empty.
func Read(workspace, name string) (string, error) {
	root, err := os.OpenRoot(workspace)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading %s: %w", name, err)
	}
	defer root.Close()
	return read(root, look(root, name))
}

// look returns the stamp of a regular file. Anything else, even a link, counts as a
// missing file.
func look(root *os.Root, name string) stamp {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{name: name, size: -1}
	}
	return stamp{name, info.Size(), info.ModTime()}
}

func read(root *os.Root, s stamp) (string, error) {
	if s.size <= 0 {
		return "", nil
	}
	f, err := root.OpenFile(s.name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if errors.Is(err, fs.ErrPermission) {
		return "", fmt.Errorf("reading the memory: %w", err)
	}
	if err != nil { // it is gone, or leads out of the workspace by now
		return "", nil
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return "", nil // the next Load sees what it is
	}
	text, err := io.ReadAll(io.LimitReader(f, MaxFile))
	if err != nil {
		return "", fmt.Errorf("reading the memory: %w", err)
	}
	if s.size > MaxFile {
		return string(text) + "\n(cut: the file is longer than 64 KiB)", nil
	}
	return string(text), nil
}
