package main

import (
	"golang.org/x/sys/unix"
)

// A user has a limited number of instances of inotify and of their watches, and editors
// and etui itself need some. In a name space of its own a program has its own number. Where
// it sees the machine's own files, the kernel forwards the calls to the helper: Landlock
// does not keep a program from watching files that it cannot open.
const (
	maxObservers = 32
	maxObserved  = 32768
)

// limitObservers limits them for the name space.
func (h *helper) limitObservers() error {
	for _, l := range []struct {
		name string
		most uint64
	}{{"max_inotify_instances", maxObservers}, {"max_inotify_watches", maxObserved}} {
		fd, err := unix.Open("/proc/sys/user/"+l.name, unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err == unix.ENOENT {
			continue // the kernel has no inotify
		}
		if err != nil {
			return err
		}
		_, err = unix.Write(fd, []byte(decimal(l.most)))
		unix.Close(fd)
		if err != nil {
			return err
		}
	}
	return nil
}

// observing are the calls of inotify that the helper makes for the program.
var observing = merged(map[uint32]func(h *helper, listener int, q *question) error{
	unix.SYS_INOTIFY_INIT1:     func(h *helper, listener int, q *question) error { return h.newObserver(listener, q, q.data.args[0]) },
	unix.SYS_INOTIFY_ADD_WATCH: (*helper).observe,
}, oldObserving)

// newObserver makes an instance.
func (h *helper) newObserver(listener int, q *question, flags uint64) error {
	if h.observers++; h.observers > maxObservers {
		if h.observers, _ = h.countObservers(); h.observers >= maxObservers {
			return unix.EMFILE
		}
		h.observers++
	}
	fd, err := unix.InotifyInit1(int(flags) | unix.IN_CLOEXEC)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return give(listener, q, fd, uint32(flags)&unix.IN_CLOEXEC)
}

// observe adds a watch of a file that the program may read.
func (h *helper) observe(listener int, q *question) error {
	c := change{dir: -1, path: 1, flags: -1}
	mask := uint32(q.data.args[2])
	if mask&unix.IN_DONT_FOLLOW != 0 {
		c.fixed = unix.AT_SYMLINK_NOFOLLOW
	}
	fd, err := c.open(q)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	process, err := unix.PidfdOpen(threadGroup(int(q.pid)), 0)
	if err != nil {
		return err
	}
	defer unix.Close(process)
	if err := asked(listener, q); err != nil {
		return err
	}
	if !h.writable(fd) && !isIn(fd, h.spec.Readable) {
		return unix.EACCES
	}
	to, err := unix.PidfdGetfd(process, int(int32(q.data.args[0])), 0)
	if err != nil {
		return unix.EBADF
	}
	defer unix.Close(to)
	if !isObserver(name(to)) {
		return unix.EINVAL
	}
	if h.observed++; h.observed > maxObserved {
		if _, h.observed = h.countObservers(); h.observed >= maxObserved {
			return unix.ENOSPC
		}
		h.observed++
	}
	number, err := unix.InotifyAddWatch(to, name(fd), mask&^unix.IN_DONT_FOLLOW)
	h.result = int64(number)
	return err
}

// countObservers counts the instances that the program has, and their watches. One that
// several processes have counts several times, and descriptors that were sent and not
// received count as instances.
func (h *helper) countObservers() (instances, watches int) {
	for _, pid := range h.tree() {
		process := "/proc/" + decimal(uint64(living(pid)))
		look := func(n int) {
			fd := decimal(uint64(n))
			instances += int(inFlight(process, fd))
			if !isObserver(process + "/fd/" + fd) {
				return
			}
			instances++
			eachLine(process+"/fdinfo/"+fd, func(line string) {
				if begins(line, "inotify ") {
					watches++
				}
			})
		}
		look(0)
		eachNumber(process+"/fd", look) // the others
	}
	return instances, watches
}

// isObserver reports whether a descriptor is an instance of inotify.
func isObserver(link string) bool {
	var buf [64]byte
	n, err := unix.Readlink(link, buf[:])
	return err == nil && string(buf[:n]) == "anon_inode:inotify"
}
