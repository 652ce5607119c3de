package sandbox_test

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/etui-run/etui/sandbox"
)

// ordinary is who the tests run as once more, when they are run by root.
const ordinary = 65534

// walls are the modes of this system. On a machine that does not have one of them
// the tests fail and say why: they prove nothing there.
var walls = []sandbox.Mode{sandbox.Strong, sandbox.Landlock, oldLandlock}

// oldLandlock stands for mode Landlock without what Linux 6.12 brought.
const oldLandlock sandbox.Mode = "old landlock"

func wall(t testing.TB, m sandbox.Mode) *sandbox.Sandbox {
	t.Helper()
	return wallOf(t, m, sandbox.Config{})
}

// wallOf is a sandbox of a mode that does without none of its steps.
func wallOf(t testing.TB, m sandbox.Mode, c sandbox.Config) *sandbox.Sandbox {
	t.Helper()
	c.Mode = m
	if m == oldLandlock {
		c.Mode = sandbox.Landlock
	}
	c.Require = c.Mode
	s, err := sandbox.New(c)
	if err != nil {
		t.Fatalf("this machine cannot test mode %s: %v", m, err)
	}
	if m == oldLandlock {
		return sandbox.OldKernel(s)
	}
	return s
}

// place is a workspace with something beside it.
type place struct{ ws, outside, secret string }

func newPlace(t testing.TB) place {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // programs of root's run as somebody else
		t.Fatal(err)
	}
	p := place{filepath.Join(dir, "ws"), filepath.Join(dir, "outside"), filepath.Join(dir, "outside", "secret.txt")}
	for _, d := range []string{p.ws, p.outside} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.secret, []byte("SECRET-TEXT\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p place) command(script string) sandbox.Command {
	return sandbox.Command{Args: []string{"bash", "-c", script}, Dir: p.ws, Workspace: p.ws}
}

func run(t testing.TB, s *sandbox.Sandbox, c sandbox.Command) (sandbox.Result, string) {
	t.Helper()
	got, err := s.Run(t.Context(), c)
	if err != nil {
		t.Fatalf("%v: %v", c.Args, err)
	}
	return got, got.Stdout.String() + got.Stderr.String()
}

// TestOrdinaryUser runs the tests of the walls again as an ordinary user: the
// kernel gives root what it gives nobody else.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		return // the tests are run by one
	}
	dir := t.TempDir()
	program := filepath.Join(dir, "tests")
	copied, err := exec.Command("cp", cmp.Or(os.Getenv("TEST_SANDBOX"), os.Args[0]), program).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, copied)
	}
	tmp := filepath.Join(dir, "tmp")
	if err := os.Mkdir(tmp, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{filepath.Dir(dir), dir, tmp} {
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(tmp, ordinary, ordinary); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "-test.run=^TestWall", "-test.timeout=3m")
	cmd.Dir, cmd.Env = tmp, []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + tmp, "GORACE=" + atOnce}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinary, Gid: ordinary}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as user %d: %v\n%s", ordinary, err, out)
	}
}

func TestWallLetsWork(t *testing.T) {
	t.Setenv("ETUI_SECRET", "s3cret-of-etui")
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			s, p := wall(t, m), newPlace(t)
			c := p.command(`read line; echo "$line"; echo hi > file; printf '#!/bin/sh\necho script\n' > s.sh; chmod 755 s.sh; ./s.sh; touch -d 2020-01-01 s.sh
				d=$(mktemp -d) && echo x > $d/x && cat $d/x; echo complaint > /dev/stderr; sleep 100 & kill $!; wait $!; echo "killed $?"; trap "echo trapped" TERM; kill $$; (kill -TERM 0 & wait) 2>/dev/null; sh -c "kill -ABRT \$\$" 2>/dev/null || echo aborted; cat ` + p.ws + `/file; env; id -un >/dev/null && echo named; exit 3`)
			c.Stdin, c.Env = []byte("input\n"), map[string]string{"TOKEN": "t0ken"}
			home := "/tmp"
			if m != sandbox.Strong {
				home = os.TempDir()
			}
			got, out := run(t, s, c)
			if got.Exit != 3 {
				t.Errorf("got.Exit = %v, want 3", got.Exit)
			}
			if got.Mode != s.Mode() {
				t.Errorf("got.Mode = %v, want %v", got.Mode, s.Mode())
			}
			if got.Limit != "" {
				t.Errorf("got.Limit = %q, want %q", got.Limit, "")
			}
			for _, want := range []string{"input\nscript\nx\nkilled 143\ntrapped\n", "aborted\nhi\n", "complaint\n", "TOKEN=t0ken\n", "HOME=" + home} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if os.Getuid() == 0 && !strings.Contains(out, "named\n") {
				t.Errorf("what root starts does not know its name:\n%s", out)
			}
			if strings.Contains(out, "s3cret") {
				t.Errorf("the program sees what is etui's:\n%s", out)
			}
			info, err := os.Stat(p.ws + "/s.sh")
			if err != nil || info.ModTime().Year() != 2020 || info.Mode().Perm() != 0o755 {
				t.Errorf("%v, %v", info, err)
			}
			// What it has made can be changed and removed by etui, whoever it is.
			if err := os.WriteFile(p.ws+"/file", nil, 0o600); err != nil {
				t.Error(err)
			}
			if owner := info.Sys().(*syscall.Stat_t).Uid; m == sandbox.Strong && int(owner) != os.Getuid() {
				t.Errorf("what it makes is user %d's", owner)
			}
		})
	}
}

// unreachable is a service of this machine that no program may reach.
func unreachable(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
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
			t.Error("the program reached a service of this machine")
			c.Close()
		}
	}()
	return l
}

// TestWallHolds tries what a program must not reach. The next one must run.
func TestWallHolds(t *testing.T) {
	listener := unreachable(t)
	inherited, err := os.Open("/etc/hostname")
	if err != nil {
		t.Fatal(err)
	}
	defer inherited.Close()
	leak, err := syscall.Dup(int(inherited.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer syscall.Close(leak)
	port := listener.Addr().(*net.TCPAddr).Port
	for _, m := range walls {
		for name, script := range map[string]string{
			"read":       `cat $SECRET; cat ../outside/*; cat /proc/self/cwd/../outside/secret.txt; cat /proc/$ETUI/root$SECRET; ln -s ../outside l; cat l/*; ln $SECRET h; cat h; tar cf - ../outside`,
			"write":      `echo x >> $SECRET; chmod 777 $SECRET ../outside; touch -d 2001-01-01 $SECRET; ln -s $SECRET l; chmod 777 l; touch l; mv ../outside .; rm -rf ../outside; truncate -s 0 l; (cd ..; echo x > new)`,
			"gateway":    `cat /proc/$ETUI/environ /proc/$ETUI/fd/*; kill -9 $ETUI; kill -9 -1; for p in /proc/[0-9]*; do kill -9 ${p#/proc/}; done`,
			"privileges": `grep -E "Cap(Eff|Prm|Bnd):" /proc/self/status | grep -v "CapBnd" | grep -q "[1-9a-f]$" && echo BROKEN; cp /bin/sh s; chmod 4755 s; test -u s && echo BROKEN; unshare -Ur true && echo BROKEN; test -e /dev/fd/` + strconv.Itoa(leak) + ` && test -r /dev/fd/` + strconv.Itoa(leak) + ` && echo BROKEN; id -u | grep -qx 0 && echo BROKEN`,
			"network":    fmt.Sprintf("echo x > /dev/tcp/127.0.0.1/%d", port),
			"tree":       `(setsid sleep 4711.25 >/dev/null 2>&1 &); nohup sleep 4711.25 & disown; (sleep 4711.25 &)`,
		} {
			t.Run(string(m)+"/"+name, func(t *testing.T) {
				s, p := wall(t, m), newPlace(t)
				before, err := os.Stat(p.secret)
				if err != nil {
					t.Fatal(err)
				}
				c := p.command(script)
				c.Env = map[string]string{"SECRET": p.secret, "ETUI": strconv.Itoa(os.Getpid())}
				_, out := run(t, s, c)
				if strings.Contains(out, "SECRET-TEXT") || strings.Contains(out, "BROKEN") {
					t.Errorf("output:\n%s", out)
				}
				after, err := os.Stat(p.secret)
				if err != nil || after.Mode() != before.Mode() || !after.ModTime().Equal(before.ModTime()) || after.Size() != before.Size() {
					t.Errorf("changed: %v, %v", after, err)
				}
				if entries, _ := os.ReadDir(filepath.Dir(p.ws)); len(entries) != 2 {
					t.Errorf("beside the workspace: %v", entries)
				}
				if left := running("4711.25"); left != "" {
					t.Errorf("it goes on: %s", left)
				}
				if got, out := run(t, s, p.command("echo next")); got.Exit != 0 || out != "next\n" {
					t.Errorf("the next one: %+v, %s", got, out)
				}
			})
		}
	}
}

// running finds processes by a word of theirs.
func running(word string) (found string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, f := range files {
		if text, _ := os.ReadFile(f); strings.Contains(string(text), word) && strings.HasPrefix(string(text), "sleep") {
			found += f + " "
		}
	}
	return found
}

func TestWallLimits(t *testing.T) {
	for _, m := range walls {
		for name, tt := range map[string]struct {
			script string
			limits sandbox.Limits
			want   sandbox.Limit
		}{
			"time":      {"trap '' TERM; while :; do sleep 1; done", sandbox.Limits{Wall: 300 * time.Millisecond}, sandbox.LimitTime},
			"cpu":       {"while :; do :; done", sandbox.Limits{CPU: time.Second}, sandbox.LimitCPU},
			"memory":    {"head -c 100000000 /dev/zero | tail & wait; sleep 100", sandbox.Limits{Memory: 32 << 20}, sandbox.LimitMemory},
			"processes": {"for i in $(seq 40); do sleep 100 & done; wait", sandbox.Limits{Processes: 20}, sandbox.LimitProcesses},
			"disk":      {"for i in 1 2 3 4; do head -c 8000000 /dev/zero > f$i; done; sleep 100", sandbox.Limits{Disk: 16 << 20}, sandbox.LimitDisk},
			"deleted":   {"exec 3> f; rm f; head -c 32000000 /dev/zero >&3; sleep 100", sandbox.Limits{Disk: 16 << 20}, sandbox.LimitDisk},
			"files":     {"for i in $(seq 3000); do : > f$i; done; sleep 100", sandbox.Limits{Files: 500}, sandbox.LimitDisk},
			"file":      {"exec head -c 4000000 /dev/zero > f", sandbox.Limits{FileSize: 1 << 20}, sandbox.LimitFile},
			"output":    {"cat /dev/zero", sandbox.Limits{Written: 1 << 20}, sandbox.LimitOutput},
		} {
			t.Run(string(m)+"/"+name, func(t *testing.T) {
				t.Parallel()
				c := newPlace(t).command(tt.script)
				c.Limits = tt.limits
				got, out := run(t, wall(t, m), c)
				if got.Limit != tt.want || got.Exit != -1 {
					t.Errorf("limit %q, exit %d: %.300s", got.Limit, got.Exit, out)
				}
			})
		}
	}
}

// TestWallAllocates: room that is taken without writing is counted at once.
func TestWallAllocates(t *testing.T) {
	for _, m := range walls {
		c := newPlace(t).command(`fallocate -l 4000000 f && echo one; for i in $(seq 40); do fallocate -l 4000000 f$i; done 2>&1 | tail -n 1; du -sk . | awk '$1 < 17000 {print "little"}'; rm f*; echo x > g && cat g`)
		c.Limits = sandbox.Limits{Disk: 16 << 20}
		if got, out := run(t, wall(t, m), c); got.Exit != 0 || out != "one\nfallocate: fallocate failed: No space left on device\nlittle\nx\n" {
			t.Errorf("%s: limit %q, exit %d: %s", m, got.Limit, got.Exit, out)
		}
	}
}

// TestWallAllocatesNothingBeyond: the limit of a file holds where an allocation does not
// change the size of the file, too.
func TestWallAllocatesNothingBeyond(t *testing.T) {
	for _, m := range walls {
		c := newPlace(t).command(`touch f g h; fallocate -n -l 300000000 f; fallocate -n -o 300000000 -l 4096 g; fallocate -n -l 4096 h && echo one; du -sk . | awk '$1 > 1000 {print "much"}'`)
		if got, out := run(t, wall(t, m), c); got.Exit != 0 || strings.Count(out, "File too large") != 2 || !strings.Contains(out, "one") || strings.Contains(out, "much") {
			t.Errorf("%s: limit %q, exit %d: %s", m, got.Limit, got.Exit, out)
		}
	}
}

// TestWallBombs starts as many processes as there may be, all of which compute. The
// helper is held to that limit, too, and must end them all the same.
func TestWallBombs(t *testing.T) {
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			c := newPlace(t).command(`bomb() { bomb & bomb & while :; do bomb & done; }; bomb 2>/dev/null; : bomb-4713.25`)
			c.Limits = sandbox.Limits{Processes: 40, Wall: 20 * time.Second}
			if got, out := run(t, wall(t, m), c); got.Limit != sandbox.LimitProcesses || got.Exit != -1 {
				t.Errorf("limit %q, exit %d: %.300s", got.Limit, got.Exit, out)
			}
			files, err := filepath.Glob("/proc/[0-9]*/cmdline")
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range files {
				if text, _ := os.ReadFile(f); strings.Contains(string(text), "bomb-4713.25") {
					t.Errorf("it goes on: %s", f)
				}
			}
		})
	}
}

// TestWallNetwork reaches the host that was granted, through the one who may.
func TestWallNetwork(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s %s", r.Host, r.URL.Path, body)
	}))
	defer server.Close()
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			c := newPlace(t).command(`ask() { exec 3<>/dev/tcp/127.0.0.1/${HTTP_PROXY##*:}; printf "$1" >&3; cat <&3; echo; }
				ask 'POST http://api.test/one HTTP/1.1\r\nHost: api.test\r\nContent-Length: 4\r\n\r\nbody'
				ask 'GET http://www.sub.test:8080/two HTTP/1.1\r\nHost: www.sub.test:8080\r\n\r\n'
				ask 'CONNECT api.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\nGET /three HTTP/1.1\r\nHost: inner\r\nConnection: close\r\n\r\n'
				ask 'GET http://other.test/ HTTP/1.1\r\nHost: api.test\r\n\r\n'
				ask 'CONNECT api.test:22 HTTP/1.1\r\nHost: api.test:22\r\n\r\n'
				ask 'CONNECT other.test:443 HTTP/1.1\r\nHost: api.test:443\r\n\r\n'
				ask 'CONNECT /api.test:443 HTTP/1.1\r\nHost: other.test:443\r\n\r\n'
				ask 'nonsense\r\n\r\n'`)
			c.Network = []string{"api.test", "*.sub.test:8080"}
			var dialed []string
			s := granting(t, m, func(address string) string {
				dialed = append(dialed, address) // one at a time: the program asks so
				return server.Listener.Addr().String()
			})
			got, out := run(t, s, c)
			if refused := strings.Join(got.Refused, " "); refused != "other.test:80 api.test:22 other.test:443" {
				t.Errorf("refused %s", refused)
			}
			for _, want := range []string{"api.test /one body", "www.sub.test:8080 /two", "inner /three", "403 ", "other.test is not among", "api.test:22 is not among", "400 "} {
				if !strings.Contains(out, want) {
					t.Errorf("%q is missing in\n%s", want, out)
				}
			}
			if got := strings.Join(dialed, " "); got != "api.test:80 www.sub.test:8080 api.test:443" {
				t.Errorf("dialed %s", got)
			}
		})
	}
}

// granting is a sandbox whose programs reach the hosts that they are granted.
// Where to they are connected is up to a function.
func granting(t *testing.T, m sandbox.Mode, to func(address string) string) *sandbox.Sandbox {
	t.Helper()
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, to(address))
	}
	s := wallOf(t, m, sandbox.Config{Dial: dial})
	if err := s.Network(); err != nil {
		t.Fatal(err)
	}
	return s
}

func TestWallSeesWhatItIsGiven(t *testing.T) {
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			p := newPlace(t)
			c := sandbox.Command{Args: []string{"sh", "-c", "cat " + p.secret + "; echo x > " + p.secret + "; chmod 777 " + p.secret + "; touch file"}, Dir: p.ws, ReadOnly: []string{p.outside}}
			got, out := run(t, wall(t, m), c)
			if got.Exit == 0 {
				t.Errorf("got.Exit = %v, want another than 0", got.Exit)
			}
			if !strings.HasPrefix(out, "SECRET-TEXT\n") {
				t.Errorf("out: %q does not begin with %q", out, "SECRET-TEXT\n")
			}
			if info, err := os.Stat(p.secret); err != nil || info.Size() != 12 || info.Mode().Perm() != 0o644 {
				t.Errorf("changed: %v, %v", info, err)
			}
			for _, bad := range []sandbox.Command{
				{Args: []string{"true"}, Dir: "/usr", Workspace: "/usr/lib"},
				{Args: []string{"true"}, Dir: p.ws, Workspace: "/"},
				{Args: []string{"true"}, Dir: p.ws, ReadOnly: []string{"/"}},
				{Args: []string{p.outside + "/secret.txt"}, Dir: p.ws},
				{Args: []string{"no-such-program-here"}, Dir: p.ws},
				{Args: []string{"true"}, Dir: p.ws + "/none"},
			} {
				if _, err := wall(t, m).Run(t.Context(), bad); err == nil {
					t.Errorf("%+v runs", bad)
				}
			}
		})
	}
}

// TestWallProcess is a server that goes on, as those of MCP do.
func TestWallProcess(t *testing.T) {
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			c := newPlace(t).command(`while read line; do echo "got $line"; done; sleep 4712.25 & echo done >&2; exit 4`)
			p, err := wall(t, m).Start(t.Context(), c)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := io.WriteString(p.Stdin, "one\n"); err != nil {
				t.Fatal(err)
			}
			answer := make([]byte, 8)
			if _, err := io.ReadFull(p.Stdout, answer); err != nil || string(answer) != "got one\n" {
				t.Fatalf("%q, %v", answer, err)
			}
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			if got := p.Err(); got == nil || got.Error() != "the program ended: exit status 4: done" {
				t.Error(got)
			}
			if left := running("4712.25"); left != "" {
				t.Errorf("it goes on: %s", left)
			}
		})
	}
}

// In a workspace what decides over the program can be kept from it, and other
// spellings of its path work.
func TestWallInsideWorkspace(t *testing.T) {
	p := newPlace(t)
	kept, link := filepath.Join(p.ws, "kept.yaml"), filepath.Join(filepath.Dir(p.ws), "link")
	if err := errors.Join(os.WriteFile(kept, []byte("kept\n"), 0o644), os.Symlink("ws", link)); err != nil {
		t.Fatal(err)
	}
	c := p.command("echo x > kept.yaml; rm -f kept.yaml; mv kept.yaml gone; cat " + link + "/kept.yaml; echo x > " + link + "/made")
	c.ReadOnly, c.Workspace, c.Dir = []string{kept}, link, link
	_, out := run(t, wall(t, sandbox.Strong), c)
	if text, err := os.ReadFile(kept); err != nil || string(text) != "kept\n" || !strings.Contains(out, "kept\n") {
		t.Errorf("%q, %v: %s", text, err, out)
	}
	if _, err := os.Stat(p.ws + "/made"); err != nil {
		t.Error(err)
	}
}

// A program can make the helper compute, and must not be able to end it by that.
func TestWallLimitsComputing(t *testing.T) {
	p := newPlace(t)
	for _, m := range walls {
		c := p.command(`until test "$(ulimit -Ht)" = 8; do :; done; ulimit -St; echo $PPID; test -r /proc/$PPID/limits && awk '/cpu/ {print $4, $5}' /proc/$PPID/limits; read end`)
		c.Limits = sandbox.Limits{CPU: 7 * time.Second}
		program, err := wall(t, m).Start(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(program.Stdout)
		soft, _ := lines.ReadString('\n')
		helper, _ := lines.ReadString('\n')
		var limits string
		if m == sandbox.Strong { // its number is another one out here
			limits, _ = lines.ReadString('\n')
		} else if text, err := os.ReadFile("/proc/" + strings.TrimSpace(helper) + "/limits"); err == nil {
			_, behind, _ := strings.Cut(string(text), "Max cpu time")
			limits = strings.Join(strings.Fields(behind)[:2], " ") + "\n"
		}
		program.Close()
		if soft != "7\n" || limits != "unlimited unlimited\n" {
			t.Errorf("%s: %q, %q: %s", m, soft, limits, program.Complaint())
		}
	}
}

// A link that a program puts in the way gives it nothing to read, and nothing to own.
func TestWallFollowsNoLink(t *testing.T) {
	p := newPlace(t)
	if err := errors.Join(os.Symlink(p.outside, p.ws+"/out"), os.MkdirAll(p.ws+"/a/b", 0o755), os.WriteFile(p.ws+"/a/b/c", nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	for _, m := range walls {
		c := p.command("cat secret.txt")
		c.Dir = p.ws + "/out"
		if r, err := wall(t, m).Run(t.Context(), c); err == nil || strings.Contains(r.Stdout.String(), "SECRET") {
			t.Errorf("%s: %q, %v", m, r.Stdout, err)
		}
		if _, out := run(t, wall(t, m), p.command("echo x >> a/b/c && echo made > a/b/d && cat a/b/*")); !strings.Contains(out, "x\nmade\n") {
			t.Errorf("%s: %s", m, out)
		}
	}
	if info, err := os.Stat(p.secret); err != nil || int(info.Sys().(*syscall.Stat_t).Uid) != os.Getuid() {
		t.Errorf("%s has another owner: %v", p.secret, err)
	}
}

func TestRequire(t *testing.T) {
	if _, err := sandbox.New(sandbox.Config{Mode: sandbox.Off, Require: sandbox.Landlock}); err == nil || !strings.Contains(err.Error(), "sandbox.require is landlock") {
		t.Error(err)
	}
	if _, err := sandbox.New(sandbox.Config{Require: "much"}); err == nil {
		t.Error("anything can be required")
	}
	s := wall(t, sandbox.Strong)
	got := s.Status()
	if got.Mode != sandbox.Strong {
		t.Errorf("got.Mode = %v, want %v", got.Mode, sandbox.Strong)
	}
	if got.Says == "" {
		t.Errorf("got.Says = %q, want another than \"\"", got.Says)
	}
	if s.Ready() != nil {
		t.Errorf("s.Ready() = %+v, want none", s.Ready())
	}
}

func TestClose(t *testing.T) {
	s := wall(t, sandbox.Strong)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), newPlace(t).command("true")); err == nil {
		t.Error("a closed sandbox runs programs")
	}
}

// BenchmarkRun is what a command costs in each mode.
func BenchmarkRun(b *testing.B) {
	for _, m := range []sandbox.Mode{sandbox.Off, sandbox.Landlock, sandbox.Strong} {
		b.Run(string(m), func(b *testing.B) {
			s, err := sandbox.New(sandbox.Config{Mode: m})
			if err != nil {
				b.Fatal(err)
			}
			p := newPlace(b)
			c := sandbox.Command{Args: []string{"sh", "-c", "true"}, Dir: p.ws, Workspace: p.ws}
			for b.Loop() {
				if got, err := s.Run(b.Context(), c); err != nil || got.Exit != 0 {
					b.Fatal(got, err)
				}
			}
		})
	}
}
