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

// Where a part of the tree of cgroups (v2) is delegated to etui, the kernel itself
// limits the memory and the processes of a program and of all that it has started.
// A part is delegated when who runs etui has marked it so, as systemd does for
// Delegate=yes; no other is touched. The folder of the part holds a cgroup for each
// program that runs, and one for etui itself, since a cgroup that has others below
// it must be empty.

// ownLeaf is the cgroup of etui and of whatever else was in the part when etui came.
// Whoever is started from there finds the part above it.
const ownLeaf = "etui"

// programLeaf begins the name of a program's cgroup; the number of its etui follows.
const programLeaf = "run-"

// The helper is in the cgroup of its program. It is allowed so much beside it.
const (
	helperMemory = 16 << 20
	helperTasks  = 16
)

// cgroups is the part of the tree that is delegated to etui.
type cgroups struct{ dir string }

// newCgroups takes hold of the part that is delegated to etui and gets it ready, with
// a try. The error says why the kernel does not limit programs here.
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

// limited says who holds memory and processes to their limits, in plain words.
func (s *Sandbox) limited() string {
	if _, err := s.cgroups.get(s.newCgroups); err != nil {
		return fmt.Sprintf("Memory and processes of commands are watched ten times a second: %v.", err)
	}
	return "Memory and processes of commands are limited by the kernel (cgroup)."
}

// ownCgroup is the folder of the cgroup that this process is in.
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

// cgroupFolder finds the folder of a cgroup (v2), by the texts in which the kernel
// tells of a process's cgroups and mounts.
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

// isDelegated reports whether a cgroup is marked as one whose processes may divide
// it. The second mark can be set and seen by root only.
func isDelegated(dir string) bool {
	for _, mark := range []string{"user.delegate", "trusted.delegate"} {
		var value [8]byte
		if n, err := unix.Getxattr(dir, mark, value[:]); err == nil && string(value[:n]) == "1" {
			return true
		}
	}
	return false
}

// settle empties the part into the leaf and has the kernel count what is below it.
func (all *cgroups) settle() error {
	there, err := os.ReadFile(filepath.Join(all.dir, "cgroup.controllers"))
	if err != nil {
		return err
	}
	for _, controller := range []string{"memory", "pids"} {
		if !slices.Contains(strings.Fields(string(there)), controller) {
			return fmt.Errorf("its controller %q is not", controller)
		}
	}
	leaf := filepath.Join(all.dir, ownLeaf)
	if err := os.Mkdir(leaf, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	for range 10 { // others may start processes meanwhile
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
			_ = set(all.dir, "cgroup.subtree_control", "+cpu") // shares it fairly; it may not be there
			return nil
		}
		if !errors.Is(err, unix.EBUSY) {
			return err
		}
	}
	return errors.New("its processes could not be moved")
}

// clear removes what an etui has left that was killed.
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

// try starts the helper in a cgroup and ends it by that.
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

// cgroup is that of a program. Nil is none: the kernel limits only each process.
type cgroup struct {
	dir    string
	folder *os.File
}

// newCgroup makes one for a program, where the kernel limits programs.
func (s *Sandbox) newCgroup(l Limits) (*cgroup, error) {
	all, err := s.cgroups.get(s.newCgroups)
	if err != nil {
		return nil, nil //nolint:nilerr,nilnil // the helper watches programs then; Status tells why
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
		{"memory.oom.group", 1, true}, // not one of its processes is left over
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

// kill ends all that is in it, and says whether the kernel can do that.
func (g *cgroup) kill() bool { return g != nil && set(g.dir, "cgroup.kill", "1") == nil }

// limit is the limit that a program hit that has ended, where the kernel knows
// better than the helper, which may have been ended, too.
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

// count reads a line such as "oom_kill 1"; 0 when there is none.
func (g *cgroup) count(file, event string) (n int) {
	text, _ := os.ReadFile(filepath.Join(g.dir, file))
	for line := range bytes.Lines(text) {
		if fields := strings.Fields(string(line)); len(fields) == 2 && fields[0] == event {
			n, _ = strconv.Atoi(fields[1])
		}
	}
	return n
}

// remove ends what is left in it, waits for that, and removes it. What takes longer
// than endTime is removed by the next etui.
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
