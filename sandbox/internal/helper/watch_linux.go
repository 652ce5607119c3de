package main

import (
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// limit is the first limit that ended the program.
type limit struct{ name atomic.Pointer[string] }

func (l *limit) set(name string) { l.name.CompareAndSwap(nil, &name) }

// of returns the limit that ended a program with this status.
func (l *limit) of(status unix.WaitStatus) string {
	if name := l.name.Load(); name != nil {
		return *name
	}
	if status.Signaled() {
		switch status.Signal() {
		case unix.SIGXCPU:
			return "cpu"
		case unix.SIGXFSZ:
			return "file"
		}
	}
	return ""
}

// stop kills the program and its children, because of a limit unless that is empty.
func (h *helper) stop(limit string) {
	if limit != "" {
		h.limit.set(limit)
	}
	if h.spec.Isolate {
		unix.Kill(-1, unix.SIGKILL) // all processes of this name space but the helper, which goes on reaping
		return
	}
	unix.Kill(h.child, unix.SIGKILL)
}

// clear kills the remaining processes where no name space does, and waits for them.
// They become children of the helper when their parents end. A machine full of
// processes is slow, and nothing else would kill them, so clear goes on until all are
// gone.
func (h *helper) clear() {
	for {
		if landlockVersion(h.spec.OldKernel) >= scopesSignals {
			h.sweep <- struct{}{}
			<-h.sweep
		} else {
			h.killTree()
		}
		for range 20 {
			pid, err := unix.Wait4(-1, nil, unix.WNOHANG, nil)
			for err == nil && pid > 0 {
				pid, err = unix.Wait4(-1, nil, unix.WNOHANG, nil)
			}
			if err == unix.ECHILD {
				return
			}
			pause(5)
		}
	}
}

// pause sleeps for some milliseconds.
func pause(ms int64) {
	ts := unix.NsecToTimespec(ms * 1e6)
	_ = unix.Nanosleep(&ts, nil) // an early end does not matter
}

// The intervals of looks in milliseconds. After a minute, a program such as a server
// is looked at less often.
const (
	watchEvery = 100
	watchLater = 500
	aMinute    = 600 // looks
)

// watcher keeps the results of earlier looks.
type watcher struct {
	free   uint64 // bytes, at most
	shared uint64 // bytes of all programs, at least
}

func newWatcher() (w watcher) {
	w.free, w.shared = machine()
	return w
}

// look measures what the kernel counts per process only or not at all, for the program
// and its children together.
func (h *helper) look(w *watcher) {
	tree := h.tree()
	if uint64(len(tree)) > h.spec.Processes {
		h.stop("processes")
		return
	}
	if used(tree, memory) > h.spec.Memory && used(tree, share) > h.spec.Memory {
		h.stop("memory")
	}
	// A program can share memory with itself that no table of it shows any more. If it
	// shares any, all that programs of the machine have shared since counts as its own.
	now, shared := machine()
	w.shared = min(w.shared, shared)
	if used(tree, private)+shared-w.shared > h.spec.Memory && sharesUnseen(tree) {
		h.stop("memory")
	}
	// Memory that the kernel itself holds for the program is counted nowhere. If the
	// machine runs out of memory and has lost more than the limit, blame the program.
	if w.free = max(w.free, now); now != 0 && now < lastMemory && w.free > now+h.spec.Memory {
		h.stop("memory")
	}
}

func used(tree []int, measure func(pid int) uint64) (sum uint64) {
	for _, pid := range tree {
		sum += measure(pid)
	}
	return sum
}

// lastMemory is the free memory below which a machine is running out.
const lastMemory = 256 << 20

// tree returns the processes of the program. In a name space of its own these are all
// processes but the helper.
func (h *helper) tree() (list []int) {
	self := unix.Getpid()
	if list, ok := children(self); ok && !h.spec.Isolate {
		for i := 0; i < len(list); i++ {
			more, _ := children(list[i]) // it may have ended
			list = append(list, more...)
		}
		return list
	}
	parents := map[int]int{}
	eachProcess(func(pid int) {
		if pid == self {
			return
		}
		if h.spec.Isolate {
			list = append(list, pid)
			return
		}
		parents[pid] = parent(pid)
	})
	for pid := range parents {
		for up, steps := pid, 0; up != 0 && steps < 1000; up, steps = parents[up], steps+1 {
			if up == self || parents[up] == self {
				list = append(list, pid)
				break
			}
		}
	}
	return list
}

// children returns the children of a process, and whether the kernel lists them. It may
// miss some while others end; callers that need all ask again.
func children(pid int) (list []int, ok bool) {
	tasks := "/proc/" + decimal(uint64(pid)) + "/task"
	buf := make([]byte, 8<<10)
	eachNumber(tasks, func(tid int) {
		fd, err := unix.Open(tasks+"/"+decimal(uint64(tid))+"/children", unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return
		}
		defer unix.Close(fd)
		ok = true
		for pid := 0; ; {
			n, err := unix.Read(fd, buf)
			if err != nil || n <= 0 {
				return
			}
			for _, c := range buf[:n] {
				if c != ' ' {
					pid = pid*10 + int(c-'0')
				} else if pid > 0 {
					list, pid = append(list, pid), 0
				}
			}
		}
	})
	return list, ok
}

func eachProcess(f func(pid int)) { eachNumber("/proc", f) }

// eachNumber calls a function for all names in a folder that are numbers.
func eachNumber(folder string, f func(int)) {
	eachName(folder, func(name string) {
		if n := number(name); n > 0 {
			f(int(n))
		}
	})
}

// eachName calls a function for all names in a folder.
func eachName(folder string, f func(string)) {
	fd, err := unix.Open(folder, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(fd)
	buf := make([]byte, 16<<10)
	for {
		n, err := unix.ReadDirent(fd, buf)
		if err != nil || n <= 0 {
			return
		}
		_, _, names := syscall.ParseDirent(buf[:n], -1, nil)
		for _, name := range names {
			f(name)
		}
	}
}

func number(s string) (n uint64) {
	if s == "" {
		return 0
	}
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0
		}
		n = n*10 + uint64(c-'0')
	}
	return n
}

// field returns the n-th word of a text, counted from 0.
func field(s string, n int) string {
	for i := 0; i < len(s); {
		for i < len(s) && (s[i] == ' ' || s[i] == '\t') {
			i++
		}
		j := i
		for j < len(s) && s[j] != ' ' && s[j] != '\t' && s[j] != '\n' {
			j++
		}
		if n == 0 {
			return s[i:j]
		}
		n, i = n-1, j
	}
	return ""
}

// kilobytes finds a line such as "RssAnon:  12 kB".
func kilobytes(s, key string) uint64 { return number(value(s, key)) << 10 }

// value is the first word of the line that begins with a key.
func value(s, key string) string {
	for i := 0; i+len(key) < len(s); {
		if s[i:i+len(key)] == key {
			return field(s[i+len(key):], 0)
		}
		for i < len(s) && s[i] != '\n' {
			i++
		}
		i++
	}
	return ""
}

func read(path string, buf []byte) string {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return ""
	}
	return string(buf[:n])
}

func parent(pid int) int {
	var buf [512]byte
	s := read("/proc/"+decimal(uint64(pid))+"/stat", buf[:])
	for i := len(s) - 1; i >= 0; i-- { // the name may contain anything
		if s[i] == ')' {
			return int(number(field(s[i+1:], 1)))
		}
	}
	return 0
}

// memory returns what a process has for itself and shares without a file: at most what
// share returns.
func memory(pid int) uint64 {
	s := status(pid)
	return kilobytes(s, "RssAnon:") + kilobytes(s, "RssShmem:") + kilobytes(s, "VmSwap:")
}

// private returns what a process has for itself.
func private(pid int) uint64 {
	s := status(pid)
	return kilobytes(s, "RssAnon:") + kilobytes(s, "VmSwap:")
}

// status returns what the kernel says of a process, or of another thread if the first one
// has ended: its memory is gone from the first one then.
func status(pid int) string {
	var buf [4096]byte
	s := read("/proc/"+decimal(uint64(pid))+"/status", buf[:])
	if value(s, "VmRSS:") == "" && value(s, "Threads:") != "1" && value(s, "Tgid:") == decimal(uint64(pid)) {
		if other := living(pid); other != pid {
			return status(other)
		}
	}
	return s
}

// living returns a thread of a process that has its memory and its files: the first one
// unless it has ended.
func living(pid int) (tid int) {
	tid = pid
	found := false
	eachNumber("/proc/"+decimal(uint64(pid))+"/task", func(task int) {
		var buf [4096]byte
		if !found && value(read("/proc/"+decimal(uint64(task))+"/status", buf[:]), "VmRSS:") != "" {
			found, tid = true, task
		}
	})
	return tid
}

// sharesUnseen reports whether processes have mapped shared memory without a file.
func sharesUnseen(tree []int) (found bool) {
	for _, pid := range tree {
		eachLine("/proc/"+decimal(uint64(living(pid)))+"/maps", func(line string) {
			found = found || ends(line, "/dev/zero (deleted)")
		})
	}
	return found
}

// share is the same with shared memory divided among the processes that share it. It
// is exact and slow.
func share(pid int) uint64 {
	var buf [4096]byte
	s := read("/proc/"+decimal(uint64(living(pid)))+"/smaps_rollup", buf[:])
	if s == "" {
		return memory(pid)
	}
	return kilobytes(s, "Pss_Anon:") + kilobytes(s, "Pss_Shmem:") + kilobytes(s, "SwapPss:")
}

// machine returns how much memory is available, and how much is shared without a file or
// swapped out.
func machine() (available, shared uint64) {
	var buf [4096]byte
	s := read("/proc/meminfo", buf[:])
	return kilobytes(s, "MemAvailable:"), kilobytes(s, "Shmem:") + kilobytes(s, "SwapTotal:") - kilobytes(s, "SwapFree:")
}

// tasksOf counts the threads of a user.
func tasksOf(uid uint32) (n uint64) {
	eachProcess(func(pid int) {
		path := "/proc/" + decimal(uint64(pid))
		var st unix.Stat_t
		if unix.Stat(path, &st) != nil || st.Uid != uid {
			return
		}
		var buf [4096]byte
		n += max(1, kilobytes(read(path+"/status", buf[:]), "Threads:")>>10)
	})
	return n
}
