package hub

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/phrase"
)

// The hidden folder in which packages are unpacked, and its contents. It exists
// only while a skill is installed.
const (
	quarantine = ".etui-install"
	lockFile   = quarantine + "/lock"
	incoming   = quarantine + "/in"   // the download
	fresh      = quarantine + "/new"  // the new skill
	former     = quarantine + "/old-" // and a name: a skill that is being replaced
)

// patience is how long a process waits for another's lock.
const patience = time.Minute

// place is the locked folder of skills.
type place struct {
	*os.Root
	lock *flock.Flock
}

// enter waits for the lock of the folder. It then restores what a
// process that died was replacing.
func enter(ctx context.Context, folder string) (*place, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return nil, phrase.Errorf("making the folder of skills: %w", err)
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, phrase.Errorf("opening the folder of skills: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		lock, err := tryEnter(ctx, root, folder)
		if err == nil && lock == nil {
			continue // its last owner has removed it: there is a new one
		}
		if err != nil {
			return nil, errors.Join(phrase.Errorf("waiting for another installation into %s to end: %w", folder, err),
				root.Close())
		}
		p := &place{root, lock}
		if err := p.recover(); err != nil {
			return nil, errors.Join(err, p.leave())
		}
		return p, nil
	}
}

// tryEnter takes the lock. It returns nil if the lock was removed meanwhile.
func tryEnter(ctx context.Context, root *os.Root, folder string) (*flock.Flock, error) {
	if err := root.Mkdir(quarantine, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if info, err := root.Lstat(quarantine); err == nil && !info.IsDir() {
		return nil, phrase.Errorf("%s is not a folder; remove it", quarantine)
	}
	lock := flock.New(filepath.Join(folder, filepath.FromSlash(lockFile)), flock.SetPermissions(0o600))
	_, err := lock.TryLockContext(ctx, 50*time.Millisecond)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	mine, err := lock.Stat()
	there, gone := root.Lstat(lockFile)
	if err != nil || gone != nil || !os.SameFile(mine, there) {
		return nil, lock.Close()
	}
	return lock, nil
}

// recover restores skills that were being replaced and removes everything else.
func (p *place) recover() error {
	list, err := fs.ReadDir(p.FS(), quarantine)
	if err != nil {
		return err
	}
	for _, d := range list {
		path := quarantine + "/" + d.Name()
		if name, ok := strings.CutPrefix(path, former); ok {
			if _, err := p.Lstat(name); errors.Is(err, fs.ErrNotExist) {
				if err := p.Rename(path, name); err != nil {
					return phrase.Errorf("putting the skill %s back: %w", name, err)
				}
				continue
			}
		}
		if path == lockFile {
			continue
		}
		if err := p.RemoveAll(path); err != nil {
			return err
		}
	}
	return nil
}

// leave removes the hidden folder and releases the lock.
func (p *place) leave() error {
	err := p.recover()
	if err == nil {
		err = errors.Join(p.Remove(lockFile), p.Remove(quarantine))
		if errors.Is(err, fs.ErrExist) {
			err = nil // another process waits in it already
		}
	}
	return errors.Join(err, p.lock.Close(), p.Close())
}

// open makes and opens a folder of the hidden one.
func (p *place) open(name string) (*os.Root, error) {
	if err := p.Mkdir(name, 0o755); err != nil {
		return nil, err
	}
	return p.OpenRoot(name)
}

// put moves the fresh skill to its name, where it replaces another one.
func (p *place) put(name string) error {
	_, err := p.Lstat(name)
	if err == nil {
		err = p.Rename(name, former+name)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := p.Rename(fresh, name); err != nil {
		return err // leave restores the former one
	}
	return p.RemoveAll(former + name)
}

// take removes a skill: first its name in one step, then its files.
func (p *place) take(name string) error {
	if err := p.Rename(name, fresh); err != nil {
		return err
	}
	return p.RemoveAll(fresh)
}
