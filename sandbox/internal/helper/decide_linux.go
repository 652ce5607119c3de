package main

import (
	"errors"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox/internal/wire"
)

// Landlock does not control changes of modes, owners and times of files. Where a
// program sees the machine's own files, the kernel forwards these calls to the
// helper, which makes the change itself if the program may write the file. It opens
// the file before it checks the name, so the file cannot be swapped in between.

// change is a system call that changes the attributes of a file.
type change struct {
	dir   int // which argument is a folder's descriptor; -1: none
	path  int // which is a path; -1: the descriptor is the file
	flags int // which has AT_ flags; -1: none
	fixed int // AT_ flags that are always set
	do    func(fd int, q *question) error
}

// decided are the calls that the helper makes for the program.
var decided = merged(map[uint32]change{
	unix.SYS_FCHMOD:    {0, -1, -1, 0, chmod(1)},
	unix.SYS_FCHMODAT:  {0, 1, -1, 0, chmod(2)},
	unix.SYS_FCHMODAT2: {0, 1, 3, 0, chmod(2)},
	unix.SYS_FCHOWN:    {0, -1, -1, 0, chown(1)},
	unix.SYS_FCHOWNAT:  {0, 1, 4, 0, chown(2)},
	unix.SYS_UTIMENSAT: {0, 1, 3, 0, times},
}, oldChanges)

func merged[T any](a, b map[uint32]T) map[uint32]T {
	for k, v := range b {
		a[k] = v
	}
	return a
}

// question is struct seccomp_notif.
type question struct {
	id    uint64
	pid   uint32
	flags uint32
	data  struct {
		number uint32
		arch   uint32
		ip     uint64
		args   [6]uint64
	}
}

// answer is struct seccomp_notif_resp.
type answer struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

const stillAsked = 0x40082102 // SECCOMP_IOCTL_NOTIF_ID_VALID

// errProceed lets the program make the call itself.
var errProceed = errors.New("proceed")

// decide answers the kernel's questions until the helper ends.
func (h *helper) decide(listener int) {
	for {
		var q question
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&q))); errno != 0 {
			if errno == unix.EINTR || errno == unix.ENOENT {
				continue
			}
			return
		}
		a := answer{id: q.id}
		h.result = 0
		judge := h.change
		if q.data.number == unix.SYS_FALLOCATE {
			judge = h.allocate
		} else if q.data.number == unix.SYS_CONNECT {
			judge = h.connect
		} else if _, ok := signals[q.data.number]; ok {
			judge = h.signal
		} else if sharing(q.data.number) {
			judge = h.share
		} else if observe, ok := observing[q.data.number]; ok {
			judge = func(listener int, q *question) error { return observe(h, listener, q) }
		}
		if err := judge(listener, &q); err != nil {
			a.err = -int32(unix.EPERM)
			var number syscall.Errno
			switch {
			case errors.As(err, &number):
				a.err = -int32(number)
			case errors.Is(err, errProceed):
				a.err, a.flags = 0, unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE
			}
		}
		if a.err == 0 && a.flags == 0 {
			a.value = h.result
		}
		_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&a))) // the caller may have ended
	}
}

func (h *helper) change(listener int, q *question) error {
	c, ok := decided[q.data.number]
	if !ok {
		return unix.ENOSYS
	}
	fd, err := c.open(q)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := asked(listener, q); err != nil {
		return err
	}
	if !h.writable(fd) {
		return unix.EPERM
	}
	return c.do(fd, q)
}

// asked returns an error if the caller has ended: its process id may belong to
// another process by now.
func asked(listener int, q *question) error {
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), stillAsked, uintptr(unsafe.Pointer(&q.id))); errno != 0 {
		return errno
	}
	return nil
}

// open opens the file of a call, as the caller would find it.
func (c change) open(q *question) (int, error) {
	process := "/proc/" + decimal(uint64(q.pid))
	flags := c.fixed
	if c.flags >= 0 {
		flags |= int(int32(q.data.args[c.flags]))
	}
	var path string
	if c.path >= 0 && q.data.args[c.path] != 0 {
		var err error
		if path, err = readText(int(q.pid), q.data.args[c.path]); err != nil {
			return -1, err
		}
		if path == "" && flags&unix.AT_EMPTY_PATH == 0 {
			return -1, unix.ENOENT
		}
	}
	const hold = unix.O_PATH | unix.O_CLOEXEC
	base := process + "/cwd"
	if c.dir >= 0 && int32(q.data.args[c.dir]) != unix.AT_FDCWD {
		base = process + "/fd/" + decimal(uint64(uint32(q.data.args[c.dir])))
	}
	if path == "" {
		fd, err := unix.Open(base, hold, 0)
		if err == unix.ENOENT {
			err = unix.EBADF
		}
		return fd, err
	}
	follow := 0
	if flags&unix.AT_SYMLINK_NOFOLLOW != 0 {
		follow = unix.O_NOFOLLOW
	}
	const self = "/proc/self/"
	if len(path) > len(self) && path[:len(self)] == self {
		path = process + "/" + path[len(self):]
	}
	if path[0] == '/' {
		return unix.Open(path, hold|follow, 0)
	}
	dir, err := unix.Open(base, hold|unix.O_DIRECTORY, 0)
	if err != nil {
		if err == unix.ENOENT {
			err = unix.EBADF
		}
		return -1, err
	}
	defer unix.Close(dir)
	return unix.Openat(dir, path, hold|follow, 0)
}

// writable reports whether a file is in a folder that the program may write.
func (h *helper) writable(fd int) bool {
	return h.spec.HasFolder && inFolder(fd, wire.Folders) || isIn(fd, h.spec.Writable)
}

// inFolder reports whether a file is in an open folder, or the folder itself. The paths of
// both, which may be outdated, only say where to look: what is found there below the open
// folder must be the file. A file without a name is in no other place, either.
func inFolder(fd, folder int) bool {
	at := pathOf(folder)
	path, ok := below(pathOf(fd), at)
	if at == "" || !ok {
		return false
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil && st.Nlink == 0 {
		return true
	}
	found, err := openBelow(folder, path)
	if err != nil {
		return false
	}
	defer unix.Close(found)
	return same(found, fd)
}

// isIn reports whether a file is in one of some folders, or one of them.
func isIn(fd int, folders []string) bool {
	path := pathOf(fd)
	for _, folder := range folders {
		if _, ok := below(path, folder); ok {
			return true
		}
	}
	return false
}

// pathOf is the path of an open file; empty if it is too long.
func pathOf(fd int) string {
	var buf [4096]byte
	n, err := unix.Readlink(name(fd), buf[:])
	if err != nil || n == len(buf) {
		return ""
	}
	return string(buf[:n])
}

// name is a path to a file that the helper has open.
func name(fd int) string { return "/proc/self/fd/" + decimal(uint64(fd)) }

func chmod(mode int) func(int, *question) error {
	return func(fd int, q *question) error {
		return unix.Chmod(name(fd), uint32(q.data.args[mode])&0o1777)
	}
}

func chown(user int) func(int, *question) error {
	return func(fd int, q *question) error {
		return unix.Fchownat(fd, "", int(int32(q.data.args[user])), int(int32(q.data.args[user+1])), unix.AT_EMPTY_PATH)
	}
}

func times(fd int, q *question) error {
	if q.data.args[2] == 0 {
		return setTimes(fd, nil)
	}
	var ts [2]unix.Timespec
	if err := readMemory(int(q.pid), q.data.args[2], (*[32]byte)(unsafe.Pointer(&ts))[:]); err != nil {
		return err
	}
	return setTimes(fd, &ts)
}

// setTimes sets the times of last access and change; nil means now.
func setTimes(fd int, times *[2]unix.Timespec) error {
	var empty [1]byte
	if _, _, errno := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), uintptr(unsafe.Pointer(&empty)), uintptr(unsafe.Pointer(times)), unix.AT_EMPTY_PATH, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// readMemory reads from another process's memory.
func readMemory(pid int, at uint64, b []byte) error {
	local := []unix.Iovec{{Base: &b[0]}}
	local[0].SetLen(len(b))
	n, err := unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: uintptr(at), Len: len(b)}}, 0)
	if err == nil && n < len(b) {
		err = unix.EFAULT
	}
	return err
}

// readText reads a text that ends with a zero byte, page by page: the page after it
// may not be mapped.
func readText(pid int, at uint64) (string, error) {
	var text [unix.PathMax]byte
	for n := 0; n < len(text); {
		part := min(4096-int((at+uint64(n))%4096), len(text)-n)
		if err := readMemory(pid, at+uint64(n), text[n:n+part]); err != nil {
			return "", unix.EFAULT
		}
		for i := n; i < n+part; i++ {
			if text[i] == 0 {
				return string(text[:i]), nil
			}
		}
		n += part
	}
	return "", unix.ENAMETOOLONG
}
