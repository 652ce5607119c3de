package sandbox_test

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// TestHold: a lock on a file is there until the program and its children have ended, also if
// who started the program has closed it. The program does not see it.
func TestHold(t *testing.T) {
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "held")
			open := func() *os.File {
				f, err := os.OpenFile(file, os.O_RDONLY|os.O_CREATE, 0o600)
				if err != nil {
					t.Fatal(err)
				}
				return f
			}
			free := func() bool {
				f := open()
				defer f.Close()
				return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
			}
			held := open()
			if err := unix.Flock(int(held.Fd()), unix.LOCK_EX); err != nil {
				t.Fatal(err)
			}
			c := newPlace(t).command(`for n in 3 4 5 6 7 8 9; do (: <&$n) 2>/dev/null && printf "open $n "; done; setsid sleep 100 & echo up; sleep 100`)
			c.Hold = held
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			p, err := wall(t, m).Start(ctx, c)
			if err != nil {
				t.Fatal(err)
			}
			held.Close()
			if line, err := bufio.NewReader(p.Stdout).ReadString('\n'); err != nil || line != "up\n" {
				t.Errorf("it says %q, %v", line, err)
			}
			if free() {
				t.Error("the lock is free while the program runs")
			}
			kill()
			_ = p.Close()
			if !free() {
				t.Error("the lock is there although everything has ended")
			}
		})
	}
}
