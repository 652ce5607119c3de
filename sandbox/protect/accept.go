package protect

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/internal/atomicfile"
)

// Workspace is a workspace in which programs of another process run.
type Workspace struct {
	folder string // the journal
	journalRecord
}

// FindRunning returns the workspaces in which programs of other processes of this user run,
// by the journals in a folder.
func FindRunning(folder string) (list []Workspace, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*"+journalName))
	for _, name := range names {
		if !isOwn(name) {
			continue
		}
		alive := flock.New(filepath.Join(name, aliveFile), flock.SetFlag(os.O_RDWR))
		if free, err := alive.TryRLock(); err != nil || free {
			_ = alive.Close() // Recover looks after it, or it is gone
			continue
		}
		text, err := os.ReadFile(filepath.Join(name, recordFile))
		body, runs := bytes.CutPrefix(text, running)
		if err != nil || !runs {
			continue // the first program is yet to begin, or the last has ended
		}
		r := Workspace{folder: name}
		if err := json.Unmarshal(body, &r.journalRecord); err != nil || r.State == nil {
			return nil, fmt.Errorf("%s cannot be read: %w", name, err)
		}
		list = append(list, r)
	}
	return list, err
}

// Before returns a protected file as it was before the programs began, and whether it was
// there. It is not known if the file is not protected, or if no program can change it.
func (r Workspace) Before(abs string) (text []byte, there, known bool) {
	name, ok := nameIn([]string{r.Config.Dir, plainPath(r.Config.Dir)}, abs)
	e, protected := r.State.Entries[name]
	if !ok || !protected && !isSetting(folded(path.Base(path.Dir(name))), folded(path.Base(name))) {
		return nil, false, false
	}
	if e == nil {
		return nil, false, true
	}
	if info, err := os.Lstat(abs); e.Sealed && err == nil && e.is(info) || !e.Kept {
		return nil, true, false
	}
	return e.Text, true, true
}

// Unchanged reports whether a file or folder is as it was before the programs began. Outside
// of their workspace everything is.
func (r Workspace) Unchanged(abs string) bool {
	name, ok := nameIn([]string{r.Config.Dir, plainPath(r.Config.Dir)}, abs)
	if !ok {
		return true
	}
	was, protected := r.State.Entries[name]
	root, err := os.OpenRoot(r.Config.Dir)
	if err != nil || !protected {
		return false
	}
	defer func() { _ = root.Close() }()
	now := reading{root: root}
	return was.equals(now.deep(name)) && now.err == nil
}

// equals reports whether a file or folder with its content is as another one. Of a sealed
// folder only some of the content is known; the rest cannot change.
func (e *entry) equals(now *entry) bool {
	if !e.isDir() || !now.isDir() {
		return e.same(now)
	}
	for name, was := range e.List {
		if !was.equals(now.List[name]) {
			return false
		}
	}
	return e.User == now.User && (e.Sealed && e.is(now.info) || len(e.List) == len(now.List))
}

// Accept tells the process that a person writes this text into a protected file: that is what
// the file keeps when the programs have ended. Programs cannot say so, since they cannot reach
// the journal.
func (r Workspace) Accept(abs string, text []byte) error {
	name, _ := nameIn([]string{r.Config.Dir, plainPath(r.Config.Dir)}, abs)
	body, err := json.Marshal(acceptance{name, text})
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(r.folder, acceptFile), body)
}

// acceptance is the text of a file that a person has accepted.
type acceptance struct {
	Name string
	Text []byte
}

// Before returns what a protected file keeps when the running programs have ended: what it
// was before them, or what a person has accepted since. None is known if no program runs, or
// if there is no such file.
func (g *Guard) Before(abs string) (text []byte, known bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	name, ok := g.name(abs)
	if !ok || g.before == nil {
		return nil, false
	}
	g.accept()
	if e := g.before.Entries[name]; e != nil && e.Kept {
		return e.Text, true
	}
	return nil, false
}

// accept takes up what a person has accepted, as if the programs had found it.
func (g *Guard) accept() {
	if g.before == nil || g.journal.folder == "" {
		return
	}
	file := filepath.Join(g.journal.folder, acceptFile)
	body, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	var a acceptance
	if err == nil {
		err = json.Unmarshal(body, &a)
	}
	if err == nil {
		err = g.take(a)
	}
	if err = errors.Join(err, os.Remove(file)); err != nil {
		g.log.Error("a change that a person has accepted cannot be kept", "workspace", g.dirs[0], "error", err)
		return
	}
	g.log.Warn("a person has changed a protected file while a command runs", "workspace", g.dirs[0], "name", a.Name)
}

func (g *Guard) take(a acceptance) error {
	was, protected := g.before.Entries[a.Name]
	if !protected || was != nil && !was.isFile() {
		return fmt.Errorf("%s is no protected file", told(a.Name))
	}
	now := &entry{User: os.Geteuid(), Group: os.Getegid(), Mode: 0o600}
	if was != nil {
		*now = *was
	} else if there := (&reading{root: g.root}).shallow(a.Name); there.isFile() {
		now.Mode = there.Mode
	}
	now.Kept, now.Text = true, a.Text
	g.before.Entries[a.Name] = now
	err := g.journal.write(g.config, g.before)
	if err != nil {
		g.before.Entries[a.Name] = was
	}
	return err
}
