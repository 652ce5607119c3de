package sandbox_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox"
)

func TestCgroupFolder(t *testing.T) {
	const (
		systemd = "30 23 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:4 - cgroup2 cgroup2 rw,nsdelegate,memory_recursiveprot\n"
		hybrid  = "31 23 0:27 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:8 - tmpfs tmpfs ro,mode=755\n" +
			"32 31 0:28 / /sys/fs/cgroup/unified rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 rw,nsdelegate\n" +
			"35 31 0:31 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:14 - cgroup cgroup rw,memory\n"
		container = "900 899 0:26 /system.slice/docker-4f.scope /sys/fs/cgroup ro,nosuid,nodev,noexec,relatime - cgroup2 cgroup rw\n"
		old       = "35 31 0:31 / /sys/fs/cgroup/memory rw,nosuid,nodev,noexec,relatime shared:14 - cgroup cgroup rw,memory\n"
		blank     = "30 23 0:26 / /mnt/c\\040groups rw - cgroup2 none rw\n"
	)
	for _, tt := range []struct{ own, mounts, want string }{
		{"0::/system.slice/etui.service\n", systemd, "/sys/fs/cgroup/system.slice/etui.service"},
		{`0::/system.slice/system-etui.slice/etui@a\x2db.service` + "\n", systemd, `/sys/fs/cgroup/system.slice/system-etui.slice/etui@a\x2db.service`},
		{"4:memory:/user.slice\n1:name=systemd:/user.slice\n0::/user.slice/run-7.scope\n", hybrid, "/sys/fs/cgroup/unified/user.slice/run-7.scope"},
		{"0::/\n", systemd, "/sys/fs/cgroup"},
		{"0::/system.slice/docker-4f.scope/etui\n", container, "/sys/fs/cgroup/etui"},
		{"0::/\n", container, ""}, // seen from elsewhere
		{"0::/a/b\n", blank, "/mnt/c groups/a/b"},
		{"0::/../other.service\n", systemd, ""},
		{"0::/gone.scope (deleted)\n", systemd, ""},
		{"4:memory:/user.slice\n", hybrid, ""},
		{"0::/a\n", old, ""},
		{"0::a\n", systemd + "nonsense\n - cgroup2 \n", ""},
		{"", "", ""},
	} {
		got, err := sandbox.CgroupFolder(tt.own, tt.mounts)
		if got != tt.want || (err == nil) != (tt.want != "") {
			t.Errorf("%q: %q, %v; want %q", tt.own, got, err, tt.want)
		}
	}
}

// TestWallCgroup holds programs to their memory by a cgroup, where the kernel
// delegates one to the tests, and by watching them elsewhere. Root makes itself a
// cgroup; other users get one by `systemd-run --user --scope -p Delegate=yes go test`.
func TestWallCgroup(t *testing.T) {
	s := wall(t, sandbox.Strong)
	all, left := sandbox.Cgroups(s), ""
	if all == "" && os.Getuid() == 0 && os.Getenv("INSIDE") == "" {
		inOwnCgroup(t)
	}
	switch limits := s.Status().Limits; {
	case all != "":
		left = filepath.Join(all, "run-4194304-1") // numbers of processes are smaller
		if err := os.Mkdir(left, 0o755); err != nil {
			t.Fatal(err)
		}
	case strings.HasPrefix(limits, "Memory and processes of commands are watched ten times a second: "):
		t.Logf("NO CGROUP IS TESTED: %s", limits)
	default:
		t.Errorf("limits: %q", limits)
	}
	for _, m := range walls {
		s, p := wall(t, m), newPlace(t)
		c := p.command("head -c 100000000 /dev/zero | tail & wait; sleep 100")
		if all != "" && m == sandbox.Strong { // memory that is no process's
			c = p.command("head -c 100000000 /dev/zero > /tmp/file; sleep 100")
		}
		c.Limits.Memory = 32 << 20
		if got, out := run(t, s, c); got.Limit != sandbox.LimitMemory || got.Exit != -1 {
			t.Errorf("%s: limit %q, exit %d: %.300s", m, got.Limit, got.Exit, out)
		}
		if got, out := run(t, s, p.command("echo next")); got.Exit != 0 || out != "next\n" {
			t.Errorf("%s: the next one: %+v, %s", m, got, out)
		}
		if all == "" {
			continue
		}
		if found, _ := filepath.Glob(filepath.Join(all, "run-*")); len(found) > 0 {
			t.Errorf("%s: left: %v", m, found)
		}
		if _, err := os.Stat(left); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the cgroup of another etui, which has ended, was not removed: %v", err)
		}
	}
}

// inOwnCgroup runs the test again in a cgroup that root makes and delegates to it.
func inOwnCgroup(t *testing.T) {
	t.Helper()
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	root, err := sandbox.CgroupFolder("0::/\n", string(mounts))
	if err != nil {
		t.Logf("no cgroup can be made: %v", err)
		return
	}
	if err := os.WriteFile(filepath.Join(root, "cgroup.subtree_control"), []byte("+memory +pids"), 0); err != nil {
		t.Logf("no cgroup of memory and processes can be made: %v", err)
		return
	}
	dir, err := os.MkdirTemp(root, "etui-test-") //nolint:usetesting // a cgroup is made where the kernel has them
	if err != nil {
		t.Logf("no cgroup can be made: %v", err)
		return
	}
	defer func() {
		for _, path := range []string{filepath.Join(dir, "etui"), dir} {
			if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Error(err)
			}
		}
	}()
	folder, err := os.Open(dir)
	if err == nil {
		err = unix.Setxattr(dir, "trusted.delegate", []byte("1"), 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	again := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestWallCgroup$", "-test.v")
	again.Env = append(os.Environ(), "INSIDE=a cgroup")
	again.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd())}
	out, err := again.CombinedOutput()
	if err != nil || strings.Contains(string(out), "NO CGROUP IS TESTED") {
		t.Errorf("in a cgroup of its own: %v\n%s", err, out)
	}
}
