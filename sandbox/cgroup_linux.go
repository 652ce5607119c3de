package sandbox

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Where a subtree of the cgroups (v2) is delegated to etui, the kernel itself limits the
// memory and the processes of a program and its children. A subtree is delegated when it
// is marked so, as systemd does for Delegate=yes; etui touches no other. The subtree
// holds a cgroup for each running program, and one for etui itself, since a cgroup with
// others below must have no processes of its own.

// ownLeaf is the cgroup of etui and of the other processes that were in the subtree when
// etui started. Another etui that starts from there finds the subtree above it.
const ownLeaf = "etui"

// programLeaf begins the name of a program's cgroup; etui's process id follows.
const programLeaf = "run-"

// The helper is in the cgroup of its program. These are added to the limits for it.
const (
	helperMemory = 16 << 20
	helperTasks  = 16
)

// cgroups is the subtree that is delegated to etui.
type cgroups struct{ dir string }

// newCgroups finds the subtree that is delegated to etui, prepares it and tries it. The
// error says why the kernel does not limit programs here.
func (s *Sandbox) newCgroups() (*cgroups, error) {
	dir, err := ownCgroup()
	if err != nil {
		return nil, err
	}
	if filepath.Base(dir) == ownLeaf && !isDelegated(dir) {
		dir = filepath.Dir(dir)
	}
	if !isDelegated(dir) {
		return nil, errors.New("no cgroup is delegated to etui")
	}
	all := &cgroups{dir}
	if err := all.settle(); err != nil {
		return nil, fmt.Errorf("the cgroup %s is delegated to etui, but %w", dir, err)
	}
	all.clear()
	if err := all.try(s); err != nil {
		return nil, fmt.Errorf("no program can be started in a cgroup below %s: %w", dir, err)
	}
	return all, nil
}

// limited explains how memory and processes are limited.
func (s *Sandbox) limited() string {
	if _, err := s.cgroups.get(s.newCgroups); err != nil {
		return fmt.Sprintf("Memory and processes of commands are watched ten times a second: %v.", err)
	}
	return "Memory and processes of commands are limited by the kernel (cgroup)."
}

// ownCgroup returns the folder of the cgroup of this process.
func ownCgroup() (string, error) {
	own, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	return cgroupFolder(string(own), string(mounts))
}

// cgroupFolder finds the folder of a cgroup (v2) from a process's cgroup and mountinfo
// files in /proc.
func cgroupFolder(own, mounts string) (string, error) {
	path := ""
	for line := range strings.Lines(own) {
		if p, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "0::"); ok {
			path = p
		}
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "/..") || strings.HasSuffix(path, " (deleted)") {
		return "", errors.New("etui is in no cgroup (v2) that it can see")
	}
	plain := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(mounts) {
		mount, system, _ := strings.Cut(line, " - ")
		fields := strings.Fields(mount)
		if len(fields) < 5 || !strings.HasPrefix(system, "cgroup2 ") {
			continue
		}
		// The mount may begin below the root of the tree.
		rest, err := filepath.Rel(plain.Replace(fields[3]), path)
		if err == nil && filepath.IsLocal(rest) {
			return filepath.Join(plain.Replace(fields[4]), rest), nil
		}
	}
	return "", errors.New("cgroups (v2) are not mounted")
}

// isDelegated reports whether a cgroup is marked as delegated. Only root can set and see
// the second mark.
func isDelegated(dir string) bool {
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, mark, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// settle moves the processes of the subtree into etui's leaf and turns on the
// controllers for the cgroups below.
func (all *cgroups) settle() error {
	there, err := os.ReadFile(filepath.Join(all.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(there)), controller) {
			return fmt.Errorf("its controller %q is not", controller) // after "is delegated, but"
		}
	}
	leaf := filepath.Join(all.dir, ownLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for range 10 { // other processes may start meanwhile
		procs, err := os.ReadFile(filepath.Join(all.dir, "cgroup.procs"))
		if err != nil {
			return err
		}
		for _, pid := range strings.Fields(string(procs)) {
			if err := set(leaf, "cgroup.procs", pid); err != nil && !errors.Is(err, unix.ESRCH) {
				return err
			}
		}
		if err = set(all.dir, "cgroup.subtree_control", "+memory +pids"); err == nil {
			_ = set(all.dir, "cgroup.subtree_control", "+cpu") // shares it fairly; the controller is optional
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return errors.New("its processes could not be moved")
}

// clear removes the cgroups of an etui that was killed.
func (all *cgroups) clear() {
	entries, _ := os.ReadDir(all.dir)
	for _, e := range entries {
		pid, ok := strings.CutPrefix(e.Name(), programLeaf)
		pid, _, _ = strings.Cut(pid, "-")
		if n, err := strconv.Atoi(pid); ok && err == nil && unix.Kill(n, 0) == unix.ESRCH {
			(&cgroup{dir: filepath.Join(all.dir, e.Name())}).remove()
		}
	}
}

// try starts the helper in a cgroup and kills it through the cgroup.
func (all *cgroups) try(s *Sandbox) error {
	g, err := all.add(Limits{}.filled(defaultWall))
	if err != nil {
		return err
	}
	defer g.remove()
	return s.idle(&syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(g.folder.Fd())}, func(int) error {
		return set(g.dir, "cgroup.kill", "1")
	})
}

// cgroup is the cgroup of a program. Nil means none: the kernel limits only each process.
type cgroup struct {
	dir    string
	folder *os.File
}

// newCgroup makes a cgroup for a program, where one is delegated.
func (s *Sandbox) newCgroup(l Limits) (*cgroup, error) {
	all, err := s.cgroups.get(s.newCgroups)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // the helper watches programs then; Status says why
	}
	return all.add(l)
}

func (all *cgroups) add(l Limits) (_ *cgroup, err error) {
	dir, err := os.MkdirTemp(all.dir, fmt.Sprintf("%s%d-*", programLeaf, os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("making a cgroup for the program: %w", err)
	}
	g := &cgroup{dir: dir}
	defer func() {
		if err != nil {
			g.remove()
		}
	}()
	for _, limit := range []struct {
		file  string
		value int64
		must  bool
	}{
		{"memory.max", l.Memory + helperMemory, true},
		{"memory.swap.max", 0, false}, // the machine may have no swap
		{"memory.oom.group", 1, true}, // kill all of its processes together
		{"pids.max", 3*int64(l.Processes) + helperTasks, true},
	} {
		err := set(dir, limit.file, strconv.FormatInt(limit.value, 10))
		if err != nil && (limit.must || !errors.Is(err, fs.ErrNotExist)) {
			return nil, err
		}
	}
	g.folder, err = os.OpenFile(dir, unix.O_PATH|unix.O_DIRECTORY, 0)
	return g, err
}

// kill kills all processes in it, and reports whether the kernel can do that.
func (g *cgroup) kill() bool { return g != nil && set(g.dir, "cgroup.kill", "1") == nil }

// limit returns the limit that ended a program. The kernel knows it even if it killed the
// helper, too.
func (g *cgroup) limit(e ending) Limit {
	switch {
	case g == nil || e.limit != "":
		return e.limit
	case e.exit < 0 && g.count("memory.events", "oom_kill") > 0:
		return LimitMemory
	case e.exit != 0 && g.count("pids.events", "max") > 0:
		return LimitProcesses
	}
	return ""
}

// count reads a line such as "oom_kill 1"; 0 if there is none.
func (g *cgroup) count(file, event string) (n int) {
	text, _ := os.ReadFile(filepath.Join(g.dir, file))
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) == 2 && fields[0] == event {
			n, _ = strconv.Atoi(fields[1])
		}
	}
	return n
}

// remove kills the remaining processes, waits for their end, and removes the cgroup. If
// that takes longer than endTime, the next etui removes it.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	if g.folder != nil {
		g.folder.Close()
	}
	g.kill()
	for deadline := time.Now().Add(endTime); unix.Rmdir(g.dir) == unix.EBUSY && time.Now().Before(deadline); {
		<-time.After(time.Millisecond)
	}
}

// set writes a value to a file of a cgroup.
func set(dir, file, value string) error {
	f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString(value)
	return errors.Join(err, f.Close())
}
