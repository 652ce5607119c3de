package sandbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/etui-run/etui/sandbox"
)

// installed is a folder with a program outside of the system's, and another spelling
// of it.
func installed(t *testing.T) (dir, link string) {
	t.Helper()
	dir = filepath.Join(newPlace(t).outside, "node-22")
	link = filepath.Join(filepath.Dir(dir), "node")
	for _, err := range []error{
		os.MkdirAll(filepath.Join(dir, "bin"), 0o755),
		os.WriteFile(filepath.Join(dir, "bin", "hello-22"), []byte("#!/bin/sh\ncat \"${0%/*}\"/../text\n"), 0o755),
		os.WriteFile(filepath.Join(dir, "text"), []byte("hello\n"), 0o644),
		os.Symlink("node-22", link),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir, link
}

func TestWallReadsMoreFolders(t *testing.T) {
	dir, link := installed(t)
	t.Setenv("PATH", filepath.Join(link, "bin")+":"+os.Getenv("PATH"))
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			p := newPlace(t)
			c := sandbox.Command{Args: []string{"hello-22"}, Dir: p.ws, Workspace: p.ws}
			_, err := wall(t, m).Run(t.Context(), c)
			if !errors.Is(err, sandbox.ErrNotFound) || !strings.Contains(err.Error(), "sandbox: {read: ["+dir+"]}") {
				t.Errorf("without the folder: %v", err)
			}
			for _, named := range []string{dir, link} {
				s := wallOf(t, m, sandbox.Config{Read: []string{named, dir + "-none"}})
				if got, out := run(t, s, c); got.Exit != 0 || out != "hello\n" {
					t.Errorf("%s: %+v: %s", named, got, out)
				}
				_, out := run(t, s, p.command("hello-22; cat "+named+"/text; echo BROKEN > "+named+"/text; cat "+p.secret))
				if strings.Count(out, "hello\n") != 2 || strings.Contains(out, "SECRET-TEXT") {
					t.Errorf("%s in a shell: %s", named, out)
				}
				if list := s.Warnings(); len(list) != 1 || !strings.Contains(list[0].Error(), "there is no folder") {
					t.Errorf("warnings: %v", list)
				}
			}
		})
	}
}

func TestReadIsRefused(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	t.Setenv("HOME", home)
	link := filepath.Join(home, "link")
	if err := errors.Join(os.Symlink("/etc", link), os.MkdirAll(filepath.Join(home, ".nvm/versions"), 0o755), os.WriteFile(filepath.Join(home, "file"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	closed := []string{state}
	for _, bad := range []string{
		"", "relative", "~", "/", "/home", "/home/somebody", "/home/somebody/.ssh", "/root", "/root/.aws/sso", "/etc", "/etc/ssl", "/proc/1", "/dev/shm", "/run", "/var", "/tmp",
		home, filepath.Dir(home), home + "/.config/..", "~/.ssh", "~/.aws", "~/.config", "~/.config/gcloud/x", "~/.gnupg", "~/.local", "~/.cargo", "~/link", "~/link/ssl",
		state, state + "/below", filepath.Dir(state), "~/file",
	} {
		if _, err := sandbox.New(sandbox.Config{Mode: sandbox.None, Read: []string{bad}, Closed: closed}); err == nil || !strings.HasPrefix(err.Error(), "sandbox.read: ") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	for _, good := range []string{"/opt/node-22", "/opt", "~/.nvm/versions", "~/.nvm", "~/.local/share/pnpm", "~/.local/bin", "~/.cargo/bin", "/home/linuxbrew/.linuxbrew", "/usr/local", "/nix/store"} {
		if _, err := sandbox.New(sandbox.Config{Mode: sandbox.None, Read: []string{good}, Closed: closed}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
