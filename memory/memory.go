// Package memory keeps what an agent remembers between conversations, in files that people
// can read and edit. Where several processes share a database, the agent's own memory is
// there instead, see [Shared].
//
// There are two parts. The folder memory of the agent's workspace is for everybody: all
// conversations read it, and people write it. The agent's own memory has a folder for each
// owner - a person, a peer, a group - that only conversations with this owner read, and
// that the agent writes itself. Both consist of the file MEMORY.md and of a note for each
// day, in YYYYMM/YYYYMMDD.md.
//
// Missing files are empty memory. A Store is safe for concurrent use, also by several
// processes.
package memory

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"syscall"
	"time"

	"github.com/etui-run/etui/internal/recent"
)

const (
	// MaxFile is how many bytes of each file are read. A longer file is cut, and its text
	// says so.
	MaxFile = 64 << 10
	// DefaultDays is how many recent days a Store reads the notes of, today among them.
	DefaultDays = 3
	// maxOwners is how many owners' memories a Store keeps ready.
	maxOwners = 256
	// shared is the folder of the shared part in a workspace.
	shared = "memory"
	// longTerm is the file of what is not about one day.
	longTerm = "MEMORY.md"
	// cut ends a text that is longer.
	cut = "\n(cut: the file is longer than 64 KiB)"
)

// Memory is what a conversation remembers at one moment. It is immutable.
type Memory struct {
	// Guide is how to work in the workspace, for everybody.
	Guide Guide
	// Shared is for everybody, Own for the owner alone.
	Shared, Own Part
}

// Guide is a file in which people tell agents how to work in a workspace: AGENTS.md, say.
type Guide struct{ File, Text string }

// Part is the content of one folder.
type Part struct {
	// LongTerm is the text of MEMORY.md.
	LongTerm string
	// Notes are the daily notes, oldest first.
	Notes []Note
}

// Note is the note of one day.
type Note struct {
	// Day is the date, as 2006-01-02.
	Day  string `json:"day"`
	Text string `json:"text"`
}

// Config says where a memory is.
type Config struct {
	// Workspace has the shared part in its folder memory. It need not exist; empty means
	// that nothing is shared.
	Workspace string
	// Guides are names of files in Workspace, of which the first one that exists is the guide.
	Guides []string
	// Steady guards against reading a guide while a program may change it: still reports whether the file
	// was steady since the call of Steady. Otherwise the guide stays as it was, or is left out. Nil means
	// always steady.
	Steady func(path string) (still func() bool)
	// Own is the folder of the agent's own memory, which no other program should be able
	// to change. It is made when something is written; empty means that nothing can be.
	Own string
	// Shared, unless it is nil, keeps the agent's own memory instead of the folder Own.
	Shared Shared
	// Days is how many recent days' notes are read; 0 means [DefaultDays], and less none.
	Days int
}

// Store reads and writes the memory of one agent.
type Store struct {
	config Config
	loaded *recent.Cache[string, snapshot]
	guides guides
}

// snapshot is a memory, and what it was read from.
type snapshot struct {
	memory *Memory
	stamps []stamp
	own    map[string]string // if it is shared
}

// stamp identifies a version of a file.
type stamp struct {
	name    string
	size    int64
	changed time.Time
}

// New returns a store.
func New(c Config) *Store {
	if c.Days == 0 {
		c.Days = DefaultDays
	}
	return &Store{config: c, loaded: recent.New[string, snapshot](maxOwners)}
}

// Load returns what is remembered of an owner on a day; without an owner, the shared part.
// It returns the same pointer until the size or time of a file, or a shared text, changes. It reads nothing
// outside of its folders and follows no link to a file: a program that may write the
// workspace chooses what is there.
func (s *Store) Load(now time.Time, owner string) (*Memory, error) {
	var stamps []stamp
	var texts []func() (string, error)
	days := s.days(now)
	names := []string{longTerm}
	for _, day := range days {
		names = append(names, noteFile(day))
	}
	for i, place := range []struct{ base, folder string }{{s.config.Workspace, shared}, {s.own(owner), owner}} {
		root, err := open(place.base, place.folder)
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			st := stamp{name: fmt.Sprint(i), size: -1}
			if root != nil {
				st = look(root, name)
			}
			stamps = append(stamps, st)
			texts = append(texts, func() (string, error) { return read(root, st) })
		}
		if root != nil {
			defer root.Close()
		}
	}
	own, err := s.sharedTexts(owner, names...)
	if err != nil {
		return nil, err
	}
	guide, err := s.guide()
	if err != nil {
		return nil, err
	}
	stamps = append(stamps, guide.stamp)
	if l, ok := s.loaded.Get(owner); ok && slices.Equal(l.stamps, stamps) && maps.Equal(l.own, own) {
		return l.memory, nil
	}
	m := &Memory{Guide: guide.Guide}
	for i, text := range texts {
		said, err := text()
		if err != nil {
			return nil, err
		}
		part, at := &m.Shared, i
		if at >= len(names) {
			part, at = &m.Own, i-len(names)
			said += own[names[at]]
		}
		switch {
		case at == 0:
			part.LongTerm = said
		case said != "":
			part.Notes = append(part.Notes, Note{days[at-1].Format(time.DateOnly), said})
		}
	}
	s.loaded.Put(owner, snapshot{m, stamps, own})
	return m, nil
}

// days returns the recent days, oldest first.
func (s *Store) days(now time.Time) (list []time.Time) {
	for back := s.config.Days - 1; back >= 0; back-- {
		list = append(list, now.AddDate(0, 0, -back))
	}
	return list
}

// own returns the folder of the agent's own memory, if there is an owner and a folder.
func (s *Store) own(owner string) string {
	if owner == "" || s.config.Shared != nil {
		return ""
	}
	return s.config.Own
}

// noteFile is the name of a day's note.
func noteFile(day time.Time) string { return day.Format("200601/20060102") + ".md" }

// open opens a folder that is in another one; nil where there is none.
func open(dir, folder string) (*os.Root, error) {
	if dir == "" {
		return nil, nil
	}
	root, err := os.OpenRoot(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading the memory: %w", err)
	}
	defer root.Close()
	within, err := root.OpenRoot(folder)
	if err != nil { // there is none, or it leads out of the first one: empty memory
		return nil, nil
	}
	return within, nil
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

func read(root *os.Root, s stamp) (string, error) { return readTo(root, s, MaxFile) }

// readTo returns the text of a file, cut after so many bytes.
func readTo(root *os.Root, s stamp, most int64) (string, error) {
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
	text, err := io.ReadAll(io.LimitReader(f, most))
	if err != nil {
		return "", fmt.Errorf("reading the memory: %w", err)
	}
	if s.size > most {
		return string(text) + cut, nil
	}
	return string(text), nil
}

// Passage is a piece of text that a search found.
type Passage struct {
	// From says where it is: "memory", "notes of 2026-03-01", or who said it and when.
	From string `json:"from"`
	Text string `json:"text"`
}
