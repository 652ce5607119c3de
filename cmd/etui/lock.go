package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"
)

// instance says which process serves a state folder. It stands beside the lock,
// for others to find the gateway.
type instance struct {
	PID int    `json:"pid"`
	URL string `json:"url"`
	// Admin is where its admin API is; empty means at URL.
	Admin string `json:"admin,omitempty"`
}

// errRunning: another process has the state folder.
type errRunning struct {
	state string
	instance
}

func (e *errRunning) Error() string {
	switch {
	case e.URL != "":
		return fmt.Sprintf("another etui uses the state folder %s (process %d, %s); stop it, or choose another folder with state in etui.yaml or ETUI_STATE", e.state, e.PID, e.URL)
	case e.PID != 0:
		return fmt.Sprintf("another command uses the state folder %s (process %d); wait for it, or run etui serve, which many commands can use at once", e.state, e.PID)
	}
	return fmt.Sprintf("another etui uses the state folder %s; stop it, or choose another folder with state in etui.yaml or ETUI_STATE", e.state)
}

// lockState makes the state folder this process's own. The lock ends with the
// process, however it dies.
func lockState(state, url, admin string) (unlock func() error, err error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, fmt.Errorf("making the state folder: %w; set another one with state in etui.yaml or ETUI_STATE", err)
	}
	lock := flock.New(filepath.Join(state, "etui.lock"), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return nil, fmt.Errorf("locking the state folder %s: %w; it must be writable", state, err)
	}
	if !ok {
		return nil, &errRunning{state, readInstance(state)}
	}
	raw, err := json.Marshal(instance{os.Getpid(), url, admin})
	if err == nil {
		err = os.WriteFile(instanceFile(state), raw, 0o600)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("writing to the state folder: %w", err), lock.Unlock())
	}
	return func() error { return errors.Join(os.Remove(instanceFile(state)), lock.Unlock()) }, nil
}

func instanceFile(state string) string { return filepath.Join(state, "instance.json") }

func readInstance(state string) instance {
	var i instance
	if raw, err := os.ReadFile(instanceFile(state)); err == nil {
		_ = json.Unmarshal(raw, &i) // half a file says nothing
	}
	return i
}

// running returns the gateway that serves a state folder, or nothing.
func running(state string) instance {
	lock := flock.New(filepath.Join(state, "etui.lock"))
	if _, err := os.Stat(lock.Path()); err != nil {
		return instance{}
	}
	if ok, err := lock.TryRLock(); err == nil && ok {
		_ = lock.Unlock() // it was free: nobody serves
		return instance{}
	}
	return readInstance(state)
}
