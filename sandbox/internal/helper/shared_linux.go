package main

import (
	"unsafe"

	"github.com/etui-run/etui/sandbox/internal/wire"
	"golang.org/x/sys/unix"
)

// Some folders are shared by all programs of a machine: /dev/shm holds shared memory,
// /dev/pts terminals, and the C library makes files without a name in /tmp. Where a
// program sees the machine's own files, these folders are closed. The kernel forwards
// the calls that typically open such files to the helper, which opens a private
// replacement. The program opens all other files itself, and Landlock judges that.
// /proc/PID is closed, too, and the helper opens what is about the program, see ownFile.

const (
	sharedFolder    = "/dev/shm/"
	terminalsFolder = "/dev/pts/"
)

// opens are the calls that open a file, with the index of the path; flags and mode
// follow it.
var opens = merged(map[uint32]int{unix.SYS_OPENAT: 1}, oldOpens)

// removes and links are the other calls for shared files: a semaphore is first made
// under another name.
var (
	removes = merged(map[uint32]int{unix.SYS_UNLINKAT: 1}, oldRemoves)
	links   = merged(map[uint32][2]int{unix.SYS_LINKAT: {1, 3}}, oldLinks)
)

// sharing reports whether a call is one of these calls.
func sharing(number uint32) bool {
	_, opened := opens[number]
	_, removed := removes[number]
	_, linked := links[number]
	return opened || removed || linked
}

// shares forwards the calls that may open shared files, or files of /proc about one's own
// processes, to the helper. The filter cannot see paths, so it goes by the flags: a call that
// is forwarded takes some 10 µs longer.
func shares(when func(uint32, uint32, ...all)) {
	const ask, here = unix.SECCOMP_RET_USER_NOTIF, unix.AT_FDCWD & 0xffffffff
	for number, path := range opens {
		flags := uint32(path) + 1
		write, read := all{has(flags, unix.O_RDWR)}, all{hasnt(flags, unix.O_ACCMODE|unix.O_CREAT|unix.O_DIRECTORY|unix.O_PATH)}
		if path > 0 {
			write, read = append(write, is(0, here)), append(read, is(0, here))
		}
		when(number, ask, write, read)
	}
	for number, path := range removes {
		if path > 0 {
			when(number, ask, all{is(0, here)})
		} else {
			when(number, ask)
		}
	}
	for number := range links {
		when(number, ask)
	}
}

// share answers such a call.
func (h *helper) share(listener int, q *question) error {
	number := q.data.number
	if path, ok := removes[number]; ok {
		name, err := h.commons.named(listener, q, path)
		if err != nil {
			return err
		}
		return unix.Unlinkat(h.commons.folder, name, 0)
	}
	if paths, ok := links[number]; ok {
		name, err := h.commons.named(listener, q, paths[0])
		if err != nil {
			return err
		}
		other, err := h.commons.named(listener, q, paths[1])
		if err != nil {
			return err
		}
		return unix.Linkat(h.commons.folder, name, h.commons.folder, other, 0)
	}
	path, err := readText(int(q.pid), q.data.args[opens[number]])
	if err != nil {
		return errProceed // the kernel returns the right error
	}
	if err := asked(listener, q); err != nil {
		return err
	}
	flags := int(int32(q.data.args[opens[number]+1]))
	var fd int
	switch {
	case begins(path, "/proc/") && flags&unix.O_ACCMODE == unix.O_RDONLY:
		fd, err = h.ownFile(listener, q, path[len("/proc/"):])
	case isTerminals(path):
		fd, err = h.terminals.make(flags)
	case begins(path, terminalsFolder):
		fd, err = h.terminals.open(q, path[len(terminalsFolder):], flags, h.tree)
	case path == "/tmp" && flags&unix.O_TMPFILE == unix.O_TMPFILE:
		fd, err = unix.Open(h.commons.home(), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
	default:
		fd, err = h.commons.open(path, flags, uint32(q.data.args[opens[number]+2]))
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return give(listener, q, fd, uint32(flags)&unix.O_CLOEXEC)
}

// give adds a file to the program as the result of its call.
func give(listener int, q *question, fd int, flags uint32) error {
	add := addition{id: q.id, flags: unix.SECCOMP_ADDFD_FLAG_SEND, source: uint32(fd), newFlags: flags}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), addFile, uintptr(unsafe.Pointer(&add))); errno != 0 {
		return errno
	}
	return nil
}

// commons are the files that replace those of /dev/shm.
type commons struct {
	spec   *wire.Spec
	folder int // that has them, once it is open
}

// home returns the program's own temporary folder.
func (c *commons) home() string { return c.spec.Writable[len(c.spec.Writable)-1] }

// named reads which shared file an argument names. It returns errProceed if it names
// none.
func (c *commons) named(listener int, q *question, arg int) (string, error) {
	path, err := readText(int(q.pid), q.data.args[arg])
	if err != nil {
		return "", errProceed
	}
	if err := asked(listener, q); err != nil {
		return "", err
	}
	return c.name(path)
}

// name returns the name of a path in /dev/shm.
func (c *commons) name(path string) (string, error) {
	if !begins(path, sharedFolder) {
		return "", errProceed
	}
	name := path[len(sharedFolder):]
	for i := range len(name) {
		if name[i] == '/' {
			return "", errProceed
		}
	}
	if name == "" || name == "." || name == ".." {
		return "", errProceed
	}
	return name, c.openFolder()
}

// openFolder opens the folder that replaces /dev/shm. The program may write its parent,
// so no link is followed.
func (c *commons) openFolder() error {
	if c.folder > 0 {
		return nil
	}
	const name = ".shm"
	const folder = unix.O_PATH | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	home, err := unix.Open(c.home(), folder, 0)
	if err != nil {
		return err
	}
	defer unix.Close(home)
	if err := unix.Mkdirat(home, name, 0o700); err != nil && err != unix.EEXIST {
		return err
	}
	fd, err := unix.Openat(home, name, folder, 0)
	if err == nil {
		c.folder = fd
	}
	return err
}

// open opens a shared file. The program may have put anything there, so it does
// not block and accepts only regular files.
func (c *commons) open(path string, flags int, mode uint32) (int, error) {
	name, err := c.name(path)
	if err != nil {
		return -1, err
	}
	const heeded = unix.O_ACCMODE | unix.O_CREAT | unix.O_EXCL | unix.O_TRUNC | unix.O_APPEND
	fd, err := unix.Openat(c.folder, name, flags&heeded|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, mode&0o777)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, unix.EACCES
	}
	return fd, nil
}

// terminals are those that a program has made.
type terminals struct{ numbers []uint32 }

// maxTerminals is how many terminals a program may have at once: the machine has a
// limited number.
const maxTerminals = 64

// make makes a terminal: the side that a program such as script holds.
func (t *terminals) make(flags int) (int, error) {
	living := t.numbers[:0]
	for _, n := range t.numbers {
		var st unix.Stat_t // its name disappears when that side is closed
		if unix.Lstat(terminalsFolder+decimal(uint64(n)), &st) == nil {
			living = append(living, n)
		}
	}
	if t.numbers = living; len(living) >= maxTerminals {
		return -1, unix.ENOSPC
	}
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|flags&unix.O_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	n, err := unix.IoctlGetUint32(fd, unix.TIOCGPTN)
	if err != nil {
		unix.Close(fd)
		return -1, err
	}
	t.numbers = append(t.numbers, n)
	return fd, nil
}

// open opens the other side of one of the program's terminals. Its number may have
// been reused, so it is opened through a process of the program that holds the first
// side.
func (t *terminals) open(q *question, name string, flags int, tree func() []int) (int, error) {
	own := false
	for _, n := range t.numbers {
		own = own || decimal(uint64(n)) == name
	}
	if !own {
		return -1, errProceed
	}
	for _, pid := range append([]int{threadGroup(int(q.pid))}, tree()...) {
		if fd := otherSide(pid, uint32(number(name)), flags); fd >= 0 {
			return fd, nil
		}
	}
	return -1, errProceed
}

// otherSide opens the other side of a terminal whose first side a process holds. It
// returns -1 if the process does not.
func otherSide(pid int, n uint32, flags int) int {
	process, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return -1
	}
	defer unix.Close(process)
	found := -1
	files := "/proc/" + decimal(uint64(pid)) + "/fd"
	eachNumber(files, func(file int) {
		var buf [64]byte
		if size, err := unix.Readlink(files+"/"+decimal(uint64(file)), buf[:]); found >= 0 || err != nil || !isTerminals(string(buf[:size])) {
			return
		}
		first, err := unix.PidfdGetfd(process, file, 0)
		if err != nil {
			return
		}
		defer unix.Close(first)
		if is, err := unix.IoctlGetUint32(first, unix.TIOCGPTN); err != nil || is != n {
			return
		}
		fd, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(first), unix.TIOCGPTPEER, uintptr(unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|flags&unix.O_NONBLOCK))
		if errno == 0 {
			found = int(fd)
		}
	})
	return found
}

// isTerminals reports whether a path makes new terminals.
func isTerminals(path string) bool { return path == "/dev/ptmx" || path == terminalsFolder+"ptmx" }

func begins(s, prefix string) bool { return len(s) > len(prefix) && s[:len(prefix)] == prefix }
