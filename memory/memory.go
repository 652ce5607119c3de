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
	"path/filepath"
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
	dir string

	mu      sync.Mutex
	stamps  [3]stamp
	current *Memory
}

// stamp identifies a version of a file.
type stamp struct {
	path    string
	size    int64
	changed time.Time
}

// New returns the store of a workspace, which need not exist.
func New(workspace string) *Store { return &Store{dir: filepath.Join(workspace, "memory")} }

// Load returns the memory of a day. It returns the same pointer until the size or time
// of a file changes.
func (s *Store) Load(now time.Time) (*Memory, error) {
	yesterday := now.AddDate(0, 0, -1)
	days := [2]time.Time{yesterday, now}
	s.mu.Lock()
	defer s.mu.Unlock()
	stamps := [3]stamp{look(filepath.Join(s.dir, "MEMORY.md"))}
	for i, day := range days {
		stamps[i+1] = look(s.path(day))
	}
	if s.current != nil && stamps == s.stamps {
		return s.current, nil
	}
	m := &Memory{}
	var err error
	if m.LongTerm, err = read(stamps[0]); err != nil {
		return nil, err
	}
	for i, day := range days {
		text, err := read(stamps[i+1])
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

func (s *Store) path(day time.Time) string {
	return filepath.Join(s.dir, day.Format("200601"), day.Format("20060102")+".md")
}

// look returns the stamp of a regular file. Anything else, even a link, counts as a
// missing file.
func look(path string) stamp {
	info, err := os.Lstat(path)
	if err != nil || !info.Mode().IsRegular() {
		return stamp{path: path, size: -1}
	}
	return stamp{path, info.Size(), info.ModTime()}
}

func read(s stamp) (string, error) {
	if s.size <= 0 {
		return "", nil
	}
	f, err := os.OpenFile(s.path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may have become a pipe
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("reading the memory: %w", err)
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
