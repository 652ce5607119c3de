package protect

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/internal/filestamp"
)

// The names in the folder of a journal, and how the folder ends.
const (
	recordFile  = "before"
	aliveFile   = "alive"
	heldFile    = "held"
	acceptFile  = "accepted"
	journalName = ".commands"
)

// A record begins with one of these, which says whether programs run, and goes on with a
// recorded in JSON.
var running, idle = []byte("running\n"), []byte("idle   \n")

// endTime is how long [Recover] waits for programs of a process that has ended. Their
// helper kills them, which takes time under a fork bomb.
const endTime = 2 * time.Minute

// journal is what a crash must not lose: whether programs run, and how the names looked
// before them. It is a folder outside of the workspace, which the process locks as long as
// it lives. A record that has not changed costs one short write with a sync.
type journal struct {
	under  string // the folder of journals
	name   string // how this one begins
	folder string // empty until a program runs
	alive  *flock.Flock
	held   *os.File // locked as long as this process or a program lives
	file   *os.File // the record
	sum    [sha256.Size]byte
}

// journalRecord is the content of a record.
type journalRecord struct {
	Config Config
	State  *state
}

// open makes the folder and locks it.
func (j *journal) open() (err error) {
	if err := os.MkdirAll(j.under, 0o700); err != nil {
		return err
	}
	folder, err := os.MkdirTemp(j.under, j.name+"-*"+journalName)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, j.close(), os.RemoveAll(folder))
		}
	}()
	if j.held, err = hold(filepath.Join(folder, heldFile)); err != nil {
		return err
	}
	// The lock comes before the record, without which others leave the folder alone.
	alive := flock.New(filepath.Join(folder, aliveFile), flock.SetPermissions(0o600))
	if ok, err := alive.TryLock(); err != nil || !ok {
		return errors.Join(err, alive.Close(), fmt.Errorf("%s cannot be locked", alive.Path()))
	}
	j.folder, j.alive = folder, alive
	return syncFolder(j.under)
}

// begin records that programs run from now on, and is back when a loss of power cannot undo
// that.
func (j *journal) begin(c Config, s *state) error {
	if j.under == "" {
		return nil
	}
	if j.folder == "" {
		if err := j.open(); err != nil {
			return err
		}
	}
	if err := gone(os.Remove(filepath.Join(j.folder, acceptFile))); err != nil {
		return err // what a person accepted once holds no more
	}
	return j.write(c, s)
}

// write records that programs run, and how the names looked before.
func (j *journal) write(c Config, s *state) error {
	body, err := json.Marshal(journalRecord{c, s})
	if err != nil {
		return err
	}
	if sum := sha256.Sum256(body); j.file == nil || sum != j.sum {
		if err := j.replace(body); err != nil {
			return err
		}
		j.sum = sum
		return nil
	}
	if _, err := j.file.WriteAt(running, 0); err != nil {
		return err
	}
	return syncData(j.file)
}

// replace writes another record, which says that programs run.
func (j *journal) replace(body []byte) error {
	f, err := os.CreateTemp(j.folder, recordFile+"-*")
	if err != nil {
		return err
	}
	_, err = f.Write(append(slices.Clone(running), body...))
	if err == nil {
		err = f.Sync()
	}
	if j.file != nil {
		err = errors.Join(err, j.file.Close()) // Windows replaces no open file
		j.file = nil
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(j.folder, recordFile))
	}
	if err == nil {
		err = syncFolder(j.folder)
	}
	if err != nil {
		return errors.Join(err, f.Close())
	}
	j.file = f
	return nil
}

// end records that no program runs. A loss of power soon after may undo that: then what
// changed since is moved aside.
func (j *journal) end() error {
	if j.file == nil {
		return nil
	}
	_, err := j.file.WriteAt(idle, 0)
	return err
}

// close closes the journal. Without programs it is removed.
func (j *journal) close() error {
	var errs []error
	if j.file != nil {
		head := make([]byte, len(idle))
		if _, err := j.file.ReadAt(head, 0); err == nil && bytes.Equal(head, idle) {
			errs = append(errs, os.RemoveAll(j.folder))
		}
		errs = append(errs, j.file.Close())
	}
	if j.held != nil {
		errs = append(errs, j.held.Close())
	}
	if j.alive != nil {
		errs = append(errs, j.alive.Close())
	}
	j.file, j.held, j.alive, j.folder = nil, nil, nil, ""
	return errors.Join(errs...)
}

// Recover restores the workspaces of processes that ended while programs ran, by the
// journals in a folder, and returns a sentence for each change. It must be called before
// anything in these workspaces is used. If a workspace could not be restored, its file
// Disorder says so.
func Recover(folder string, log *slog.Logger) (done []string, err error) {
	names, err := filepath.Glob(filepath.Join(folder, "*"+journalName))
	names = slices.DeleteFunc(names, func(name string) bool { return !isOwn(name) })
	if err != nil || len(names) == 0 {
		return nil, err
	}
	// Another process that starts now must not read what this one restores.
	lock := flock.New(filepath.Join(folder, "recover.lock"), flock.SetPermissions(0o600))
	if err := lock.Lock(); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	var errs []error
	for _, name := range names {
		now, err := recoverOne(name, log)
		done, errs = append(done, now...), append(errs, err)
	}
	return done, errors.Join(errs...)
}

// isOwn reports whether a journal is this user's. Nobody else decides what is restored.
func isOwn(folder string) bool {
	info, err := os.Lstat(folder)
	if err != nil || !info.IsDir() {
		return false
	}
	user, _ := filestamp.Owner(info)
	return user < 0 || user == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}

// recoverOne restores the workspace of one journal.
func recoverOne(folder string, log *slog.Logger) ([]string, error) {
	alive := flock.New(filepath.Join(folder, aliveFile), flock.SetFlag(os.O_RDWR)) // it is not made here
	if ok, err := alive.TryLock(); err != nil || !ok {
		return nil, gone(err) // its process lives, or has removed it
	}
	defer func() { _ = alive.Close() }()
	text, err := os.ReadFile(filepath.Join(folder, recordFile))
	body, interrupted := bytes.CutPrefix(text, running)
	switch {
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, err
	case !interrupted:
		return nil, os.RemoveAll(folder)
	}
	if err := awaitEnd(filepath.Join(folder, heldFile)); err != nil {
		return nil, err
	}
	var r journalRecord
	if err := json.Unmarshal(body, &r); err != nil || r.State == nil {
		return nil, fmt.Errorf("%s cannot be read: %w. Look at the workspace that it names, then remove it", folder,
			errors.Join(err, io.ErrUnexpectedEOF))
	}
	r.Config.Log = log
	done, err := r.restore()
	for i, what := range done {
		done[i] = fmt.Sprintf("in %s, where a command ran when etui ended, %s", r.Config.Dir, what)
	}
	if err != nil && (r.Config.Disorder == "" || !exists(r.Config.Disorder)) {
		return done, fmt.Errorf("a command ran in %s when etui ended, and not everything that it changed could be restored: %w", r.Config.Dir, err)
	}
	return done, os.RemoveAll(folder)
}

// restore restores a workspace.
func (r journalRecord) restore() ([]string, error) {
	g, err := New(r.Config)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // the workspace is gone
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = g.Close() }()
	info, err := g.folder.Stat()
	if err != nil {
		return nil, err
	}
	g.before, g.disorder = r.State, r.Config.Disorder != "" && exists(r.Config.Disorder)
	g.before.moveTo(filestamp.IdentityOf(info).Device)
	return g.settle()
}

// moveTo gives files another device: the system numbers its devices anew at each start.
func (s *state) moveTo(device uint64) {
	var move func(entries map[string]*entry)
	move = func(entries map[string]*entry) {
		for _, e := range entries {
			if e != nil && e.Stamp.Device == s.Folder.Device {
				e.Stamp.Device = device
			}
			if e != nil {
				move(e.List)
			}
		}
	}
	for _, entries := range []map[string]*entry{s.Entries, s.Folders, s.Repos} {
		move(entries)
	}
	s.Folder.Device = device
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// gone returns no error for a file that is not there.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// awaitEnd waits until no program holds a file.
func awaitEnd(path string) error {
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	lock := flock.New(path, flock.SetFlag(os.O_RDWR))
	if ok, err := lock.TryLockContext(ctx, 5*time.Millisecond); err != nil && gone(err) != nil || err == nil && !ok {
		return fmt.Errorf("a command of an etui that has ended still runs: %w. End it (%s is open in it)", err, path)
	}
	return lock.Close()
}

// syncFolder makes the names in a folder survive a loss of power.
func syncFolder(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(ignoreUnsupported(f.Sync()), f.Close())
}

// ignoreUnsupported returns no error where folders cannot be synced.
func ignoreUnsupported(err error) error {
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, fs.ErrPermission) || errors.Is(err, fs.ErrInvalid) {
		return nil
	}
	return err
}
