package workdir

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/etui-run/etui/phrase"
)

// The files of the lock in the state folder: it, and the [Instance] that has it.
const (
	LockFile     = "etui.lock"
	InstanceFile = "instance.json"
)

// Instance is the process that uses a state folder. It is written beside the lock, so
// that other commands find the gateway.
type Instance struct {
	PID int    `json:"pid"`
	URL string `json:"url"` // empty for a command that serves nothing
	// Admin is where its admin API is; empty means at URL.
	Admin string `json:"admin,omitempty"`
	// Key lets commands of this user in, on this machine, while the process runs.
	Key string `json:"key,omitempty"`
	// Stopping reports that it will end soon.
	Stopping bool `json:"stopping,omitempty"`
}

// RunningError says that another process uses the state folder.
type RunningError struct {
	state string
	Instance
}

// Error says what to do about the other process.
func (e *RunningError) Error() string {
	switch {
	case e.URL != "":
		return fmt.Sprintf("another etui uses the state folder %s (process %d, %s); stop it, or choose another folder with state in etui.yaml or ETUI_STATE", e.state, e.PID, e.URL)
	case e.PID != 0:
		return fmt.Sprintf("another command uses the state folder %s (process %d); wait for it, or run etui serve, which many commands can use at once", e.state, e.PID)
	}
	return fmt.Sprintf("another etui uses the state folder %s; stop it, or choose another folder with state in etui.yaml or ETUI_STATE", e.state)
}

// Lock makes the state folder this process's own. The lock ends with the process,
// however it dies.
func (w *Workspace) Lock(i Instance) (unlock func() error, err error) {
	state := w.State
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, phrase.Errorf("making the state folder: %w; set another one with state in etui.yaml or ETUI_STATE",
			err)
	}
	lock := flock.New(filepath.Join(state, LockFile), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, phrase.Errorf("locking the state folder %s: %w; it must be writable", state, err)
	}
	if !ok {
		return nil, &RunningError{state, readInstance(state)}
	}
	i.PID = os.Getpid()
	if err := writeInstance(state, i); err != nil {
		return nil, errors.Join(phrase.Errorf("writing to the state folder: %w", err), lock.Unlock())
	}
	return func() error { return errors.Join(os.Remove(instanceFile(state)), lock.Unlock()) }, nil
}

func instanceFile(state string) string { return filepath.Join(state, InstanceFile) }

func writeInstance(state string, i Instance) error {
	raw, err := json.Marshal(i)
	if err != nil {
		return err
	}
	return os.WriteFile(instanceFile(state), raw, 0o600)
}

// MarkStopping tells other processes that this one, which has the lock, ends soon.
func (w *Workspace) MarkStopping() error {
	i := readInstance(w.State)
	i.Stopping = true
	return writeInstance(w.State, i)
}

func readInstance(state string) Instance {
	var i Instance
	if raw, err := os.ReadFile(instanceFile(state)); err == nil {
		_ = json.Unmarshal(raw, &i) // half a file says nothing
	}
	return i
}

// Instance returns the process that uses the workspace's state folder; the zero value
// means that there is none.
func (w *Workspace) Instance() Instance {
	lock := flock.New(filepath.Join(w.State, LockFile))
	if _, err := os.Stat(lock.Path()); err != nil {
		return Instance{}
	}
	if ok, err := lock.TryRLock(); err == nil && ok {
		_ = lock.Unlock() // it was free
		return Instance{}
	}
	return readInstance(w.State)
}
