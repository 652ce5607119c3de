package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox"
)

// token is what only an attack that works can print.
const token = "TOKEN-OF-THE-TEST"

// TestWallAttacks runs attacks on another program and on services of this machine.
// Each works where there is no wall, so what stops it is the wall.
func TestWallAttacks(t *testing.T) {
	for _, m := range append([]sandbox.Mode{sandbox.Off}, walls...) {
		t.Run(string(m), func(t *testing.T) {
			s := off(t)
			if m != sandbox.Off {
				s = wallOf(t, m, sandbox.Config{Dial: new(net.Dialer).DialContext})
			}
			victim, services := newVictim(t), listen(t)
			for _, attack := range []struct {
				name string
				args []string
			}{
				{"see what another program runs", []string{"read", "/proc/" + victim.pid + "/cmdline"}},
				{"read the environment of another program", []string{"read", "/proc/" + victim.pid + "/environ"}},
				{"read the memory of another program", []string{"memory", victim.pid}},
				{"connect over TCP", []string{"dial", "tcp", services["tcp"]}},
				{"send packets", []string{"dial", "udp", services["udp"]}},
				{"connect to a Unix socket", []string{"dial", "unix", services["unix"]}},
				{"connect to an abstract socket", []string{"dial", "unix", services["abstract"]}},
				{"mount in a user name space", []string{"unshare"}},
				{"kill another program", []string{"kill", victim.pid}}, // the last: it is gone then
			} {
				c := inside(t, "TestInsideAttack")
				c.Env["ATTACK"], c.Network = strings.Join(attack.args, "\n"), nil
				if attack.args[0] == "dial" {
					c.Network = []string{"public.test"} // a granted host opens no other
				}
				got, out := run(t, s, c)
				if !strings.Contains(out, "TRIED") {
					t.Errorf("%s: it was not tried: %s: %s", attack.name, got.Status, out)
				}
				worked := strings.Contains(out, token) || attack.args[0] == "kill" && !victim.lives()
				if want := m == sandbox.Off; worked != want {
					t.Errorf("%s: worked %v, want %v: %s", attack.name, worked, want, out)
				}
			}
		})
	}
}

// In mode Landlock a program sees the machine's /proc. It reads what is about its own
// processes and about the machine, in no other way what is about other programs.
func TestWallReadsItsOwn(t *testing.T) {
	for _, m := range []sandbox.Mode{sandbox.Landlock, oldLandlock} {
		c := newPlace(t).command(`sleep 100 & cat /proc/self/comm /proc/thread-self/comm /proc/$$/task/$$/comm
			until [ "$(head -c 5 /proc/$!/cmdline | tr -d '\0')" = sleep ]; do :; done; echo -n sleep; grep -c ^CapEff /proc/self/status; grep -c ' / ' /proc/mounts | head -c 0
			for file in meminfo cpuinfo stat version uptime loadavg filesystems sys/kernel/pid_max; do cat /proc/$file > /dev/null || echo no $file; done; echo end
			exec 2>/dev/null; cd /proc/1; cat cmdline comm /proc/1/comm /proc/$PPID/cmdline /proc/self/../1/stat /proc/self/root/proc/1/comm /proc/self/task/1/comm /proc/net/tcp /proc/self/cwd/comm /proc/keys /proc/$$/../$PPID/comm`)
		if got, out := run(t, wall(t, m), c); out != "cat\ncat\nbash\nsleep1\nend\n" {
			t.Errorf("%s: %v: %s", m, got.Status, out)
		}
	}
}

// TestInsideAttack is the program that attacks. An attack tells the token when it
// has worked.
func TestInsideAttack(t *testing.T) {
	if !isInside(t) {
		return // it is a program of TestWallAttacks
	}
	fmt.Println("TRIED")
	args := strings.Split(os.Getenv("ATTACK"), "\n")
	switch err := error(nil); args[0] {
	case "read":
		text, err := os.ReadFile(args[1])
		fmt.Printf("%s %v\n", text, err)
	case "memory":
		text, err := environmentOf(args[1])
		fmt.Printf("%s %v\n", text, err)
	case "kill":
		pid, _ := strconv.Atoi(args[1])
		fmt.Println(syscall.Kill(pid, syscall.SIGKILL))
	case "dial":
		var c net.Conn
		if c, err = net.DialTimeout(args[1], args[2], time.Second); err == nil {
			defer c.Close()
			var b [64]byte
			_, _ = c.Write([]byte("hello"))
			_ = c.SetDeadline(time.Now().Add(time.Second))
			n, _ := c.Read(b[:])
			fmt.Printf("%s\n", b[:n])
		}
		fmt.Println(err)
	case "unshare":
		t.Setenv("ATTACK", "mount")
		id := func(n int) []syscall.SysProcIDMap { return []syscall.SysProcIDMap{{HostID: n, Size: 1}} }
		p, err := os.StartProcess(os.Args[0], os.Args, &os.ProcAttr{
			Files: []*os.File{os.Stdin, os.Stdout, os.Stderr},
			Sys:   &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER | unix.CLONE_NEWNS, UidMappings: id(os.Getuid()), GidMappings: id(os.Getgid())},
		})
		if err == nil {
			_, err = p.Wait()
		}
		fmt.Println(err)
	case "mount":
		if err = unix.Mount("tmpfs", ".", "tmpfs", 0, "size=4k"); err == nil {
			fmt.Println(token)
		}
		fmt.Println(err)
	}
}

// environmentOf reads the environment of a process out of its memory.
func environmentOf(pid string) ([]byte, error) {
	stat, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return nil, err
	}
	_, behind, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(behind) // the third of proc_pid_stat(5) and on
	if len(fields) < 49 {
		return nil, errors.New("the kernel hides where the environment is")
	}
	from, err := strconv.ParseInt(fields[47], 10, 64)
	if err != nil || from == 0 {
		return nil, errors.New("the kernel hides where the environment is")
	}
	memory, err := os.Open("/proc/" + pid + "/mem")
	if err != nil {
		return nil, err
	}
	defer memory.Close()
	text := make([]byte, 4096)
	n, err := memory.ReadAt(text, from)
	return text[:n], err
}

// victim is another program of the same user. It answers each line with that line.
type victim struct {
	pid string
	in  io.Writer
	out *bufio.Reader
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	s, err := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := s.Start(t.Context(), sandbox.Command{
		Args: []string{program, "-test.run=^TestInsideVictim$", token}, Dir: "/",
		Env: map[string]string{"INSIDE": "TestInsideVictim", "GORACE": atOnce, "A_SECRET": strings.Repeat(token+" ", 20)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	v := &victim{in: p.Stdin, out: bufio.NewReader(p.Stdout)}
	pid, err := v.out.ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	v.pid = strings.TrimSpace(pid)
	return v
}

func (v *victim) lives() bool {
	_, err := io.WriteString(v.in, "well?\n")
	if err != nil {
		return false
	}
	answer, err := v.out.ReadString('\n')
	return err == nil && answer == "well?\n"
}

func TestInsideVictim(t *testing.T) {
	if !isInside(t) {
		return // it is a program of TestWallAttacks
	}
	_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // any process may trace it, where Yama would forbid that
	fmt.Println(os.Getpid())
	_, _ = io.Copy(os.Stdout, os.Stdin)
}

// listen starts services that tell the token to every caller.
func listen(t *testing.T) map[string]string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil {
		t.Fatal(err)
	}
	addresses := map[string]string{}
	for name, at := range map[string][2]string{"tcp": {"tcp", "127.0.0.1:0"}, "unix": {"unix", filepath.Join(dir, "s")}, "abstract": {"unix", "@" + dir}} {
		l, err := net.Listen(at[0], at[1])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = io.WriteString(c, token)
				c.Close()
			}
		}()
		addresses[name] = l.Addr().String()
	}
	if err := os.Chmod(addresses["unix"], 0o777); err != nil {
		t.Fatal(err)
	}
	packets, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { packets.Close() })
	go func() {
		var b [16]byte
		for {
			_, from, err := packets.ReadFrom(b[:])
			if err != nil {
				return
			}
			_, _ = packets.WriteTo([]byte(token), from)
		}
	}()
	addresses["udp"] = packets.LocalAddr().String()
	return addresses
}
