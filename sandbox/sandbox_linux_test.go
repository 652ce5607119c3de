package sandbox_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
)

func off(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	s, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func shell(t *testing.T, script string) sandbox.Command {
	return sandbox.Command{Args: []string{"sh", "-c", script}, Dir: t.TempDir()}
}

func TestRefused(t *testing.T) {
	s, err := sandbox.New(sandbox.Config{Mode: sandbox.None})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), shell(t, "true")); !errors.Is(err, sandbox.ErrRefused) {
		t.Error(err)
	}
	if _, err := s.Start(t.Context(), shell(t, "true")); !errors.Is(err, sandbox.ErrRefused) {
		t.Error(err)
	}
	if _, err := sandbox.New(sandbox.Config{Mode: "stronger"}); err == nil {
		t.Error("an unknown mode is taken")
	}
}

func TestRun(t *testing.T) {
	t.Setenv("ETUI_SECRET", "s3cret-of-etui")
	open, err := os.Open(".")
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	inherited, err := syscall.Dup(int(open.Fd())) // not marked to be closed, like one that etui was started with
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(inherited)
	script := `cat; echo; pwd -P; env; test -e /dev/fd/` + strconv.Itoa(inherited) + ` && echo LEAK; echo "no $TOKEN" >&2; exit 3`
	c := shell(t, script)
	c.Stdin, c.Env = []byte(`{"a":1}`), map[string]string{"TOKEN": "t0ken-of-skill"}
	got, err := off(t).Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if got.Exit != 3 {
		t.Fatalf("got.Exit = %v, want 3", got.Exit)
	}
	out := got.Stdout.String()
	dir, _ := filepath.EvalSymlinks(c.Dir)
	if !strings.HasPrefix(out, "{\"a\":1}\n"+dir+"\n") || !strings.Contains(out, "TOKEN=t0ken-of-skill\n") || !strings.Contains(out, "PATH=") {
		t.Errorf("output:\n%s", out)
	}
	if strings.Contains(out, "ETUI_SECRET") || strings.Contains(out, "LEAK") {
		t.Errorf("the program sees what is etui's:\n%s", out)
	}
	hide := func(s string) string { return strings.ReplaceAll(s, "t0ken-of-skill", "(hidden)") }
	if text := printable.Excerpt(got.Stderr.Bytes(), hide); text != "no (hidden)" {
		t.Errorf("complaint: %q", text)
	}
}

func TestOutputIsBounded(t *testing.T) {
	c := shell(t, `printf BEGIN; head -c 3000000 /dev/zero; printf END`)
	c.MaxOutput = 1000
	got, err := off(t).Run(t.Context(), c)
	if err != nil || len(got.Stdout.Bytes()) != 1000 || got.Stdout.Dropped != 3000008-1000 {
		t.Fatalf("%d bytes, %d dropped, %v", len(got.Stdout.Bytes()), got.Stdout.Dropped, err)
	}
	if !bytes.HasPrefix(got.Stdout.Head, []byte("BEGIN")) || !bytes.HasSuffix(got.Stdout.Tail, []byte("END")) {
		t.Error("beginning or end is missing")
	}
}

// gone waits until a process has ended, for ten seconds at most.
func gone(t *testing.T, pid string) bool {
	t.Helper()
	number, err := strconv.Atoi(strings.TrimSpace(pid))
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.PidfdOpen(number, 0)
	if errors.Is(err, unix.ESRCH) {
		return true
	}
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 10_000)
	return n == 1 && err == nil
}

// The grandchild holds the pipe open. It ends with the program, and with ctx.
func TestNothingIsLeft(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ name, script string }{
		{"at the end", `sleep 1000 & echo $!; echo $! > ` + ready},
		{"on cancel", `sleep 1000 & echo $!; echo $! > ` + ready + `; trap '' TERM; wait`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			cause := errors.New("enough")
			go func() {
				text, _ := os.ReadFile(ready) // waits for the program to write
				if len(text) > 0 && tt.name == "on cancel" {
					cancel(cause)
				}
			}()
			got, err := off(t).Run(ctx, shell(t, tt.script))
			if tt.name == "on cancel" && !errors.Is(err, cause) || tt.name != "on cancel" && err != nil {
				t.Fatal(err)
			}
			if !gone(t, got.Stdout.String()) {
				t.Errorf("process %s is left", got.Stdout)
			}
		})
	}
}

func TestFind(t *testing.T) {
	dir := t.TempDir()
	write := func(path string, mode os.FileMode) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "skill/scripts/run.sh"), 0o755)
	write(filepath.Join(dir, "skill/plain.sh"), 0o644)
	write(filepath.Join(dir, "outside.sh"), 0o755)
	if err := os.Symlink("../outside.sh", filepath.Join(dir, "skill/link.sh")); err != nil {
		t.Fatal(err)
	}
	for program, ok := range map[string]bool{
		"sh": true, "/bin/sh": true, "scripts/run.sh": true, "./scripts/run.sh": true, "./scripts/../scripts/run.sh": true,
		"": false, "./plain.sh": false, "../outside.sh": false, "./link.sh": false, "./scripts": false, "no-such-program-here": false, "./nothing": false,
	} {
		path, err := sandbox.Find(filepath.Join(dir, "skill"), program)
		if ok != (err == nil) || !ok && !errors.Is(err, sandbox.ErrNotFound) {
			t.Errorf("Find(%q) = %q, %v", program, path, err)
		}
	}
}

func TestProcess(t *testing.T) {
	p, err := off(t).Start(t.Context(), shell(t, `while read line; do echo "got $line"; done; echo "the end" >&2; exit 4`))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(p.Stdout)
	for _, word := range []string{"one", "two"} {
		if _, err := io.WriteString(p.Stdin, word+"\n"); err != nil {
			t.Fatal(err)
		}
		if got, err := lines.ReadString('\n'); got != "got "+word+"\n" {
			t.Fatal(got, err)
		}
	}
	if p.Err() != nil {
		t.Fatal(p.Err())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
	if got := p.Err(); got == nil || got.Error() != "the program ended: exit status 4: the end" {
		t.Error(got)
	}
}

// A program that heeds neither the end of its input nor a request is killed when
// its context ends, and reading its output ends then, too.
func TestProcessIsKilled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p, err := off(t).Start(ctx, shell(t, `trap '' TERM; sleep 1000 & echo $!; while :; do wait; done`))
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(p.Stdout)
	pid, err := lines.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-p.Done()
	if _, err := lines.ReadString('\n'); err == nil {
		t.Error("output goes on")
	}
	if !gone(t, pid) {
		t.Error("its child is left")
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}
