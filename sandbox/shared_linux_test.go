package sandbox_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestWallShares: programs share memory by name, make terminals and files without a
// name, as they do everywhere, and never reach those of others.
func TestWallShares(t *testing.T) {
	others, err := os.CreateTemp("/dev/shm", "etui-test-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(others.Name())
	if _, err := others.WriteString("SECRET-TEXT"); err != nil {
		t.Fatal(err)
	}
	if err := others.Chmod(0o666); err != nil {
		t.Fatal(err)
	}
	terminal, number := newTerminal(t)
	defer terminal.Close()
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			c := newPlace(t).command(`exec 3<>/dev/shm/etui-test-mine && echo shared >&3 && ln /dev/shm/etui-test-mine /dev/shm/etui-test-too && exec 4<>/dev/shm/etui-test-too && cat <&4
				rm /dev/shm/etui-test-mine /dev/shm/etui-test-too && exec 5<>/dev/ptmx && echo terminal
				mkdir -p $TMPDIR/.shm; ln -s ` + others.Name() + ` $TMPDIR/.shm/link; ln -s / $TMPDIR/.shm/root; mkfifo $TMPDIR/.shm/fifo
				for f in $OTHERS /dev/shm/link /dev/shm/root /dev/shm/fifo /dev/shm/../shm/${OTHERS##*/} $PTS /dev/pts/../pts/${PTS##*/}; do
					exec 6<>$f && cat <&6 & sleep 0.02; kill $!; echo PWNED >$f; rm $f; ln $f stolen; cat stolen; done 2>/dev/null; echo end`)
			c.Env = map[string]string{"OTHERS": others.Name(), "PTS": fmt.Sprintf("/dev/pts/%d", number)}
			_, out := run(t, wall(t, m), c)
			if !strings.HasPrefix(out, "shared\nterminal\n") || !strings.HasSuffix(out, "end\n") || strings.Contains(out, "SECRET") {
				t.Errorf("output:\n%s", out)
			}
			if text, err := os.ReadFile(others.Name()); err != nil || string(text) != "SECRET-TEXT" {
				t.Errorf("changed: %s, %v", text, err)
			}
			if _, err := os.Stat("/dev/shm/etui-test-mine"); err == nil {
				t.Error("it is made for all")
			}
			waiting := []unix.PollFd{{Fd: int32(terminal.Fd()), Events: unix.POLLIN}}
			if n, err := unix.Poll(waiting, 0); n != 0 {
				t.Errorf("somebody has written to a terminal that is not the program's: %v", err)
			}
		})
	}
}

// newTerminal makes a terminal, and gives the number of its other side.
func newTerminal(t *testing.T) (*os.File, int) {
	t.Helper()
	f, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	// The other side is held open: else reading says that nobody is there.
	other, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { other.Close() })
	return f, n
}
