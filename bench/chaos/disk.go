package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// disk is a small disk of its own, in memory, that can be full. A nil one cannot.
type disk struct{ dir string }

// mount makes a disk at a folder, which it makes. It returns nil where this user may not
// mount, and says so.
func mount(dir string, megabytes int, options string) (*disk, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // PostgreSQL runs as another user
		return nil, err
	}
	out, err := exec.CommandContext(context.Background(), "mount", "-t", "tmpfs", "-o", fmt.Sprintf("size=%dm,%s", megabytes, options), "tmpfs", dir).CombinedOutput()
	if err != nil {
		fmt.Fprintf(os.Stderr, "chaos: the disk does not become full in this run, because mounting one needs root: %s\n", strings.TrimSpace(string(out)))
		return nil, nil //nolint:nilerr // the rest of the run is worth it
	}
	return &disk{dir}, nil
}

// full runs while there is no room on the disk.
func (d *disk) full(while time.Duration) error {
	name := filepath.Join(d.dir, "ballast")
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	for chunk := make([]byte, 1<<20); len(chunk) > 0; {
		if _, err := f.Write(chunk); err != nil { // down to the last page
			chunk = chunk[:len(chunk)/2]
		}
	}
	pause(while)
	_ = f.Close()
	return os.Remove(name)
}

func (d *disk) unmount() {
	if d != nil {
		_ = exec.CommandContext(context.Background(), "umount", "-l", d.dir).Run() // it is in memory, and ends with its last file
		_ = os.Remove(d.dir)
	}
}
