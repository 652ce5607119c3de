package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// oldChanges are the calls that newer architectures do not have.
var oldChanges = map[uint32]change{
	unix.SYS_CHMOD:     {-1, 0, -1, 0, chmod(1)},
	unix.SYS_CHOWN:     {-1, 0, -1, 0, chown(1)},
	unix.SYS_LCHOWN:    {-1, 0, -1, unix.AT_SYMLINK_NOFOLLOW, chown(1)},
	unix.SYS_UTIME:     {-1, 0, -1, 0, secondsOnly},
	unix.SYS_UTIMES:    {-1, 0, -1, 0, micros(1)},
	unix.SYS_FUTIMESAT: {0, 1, -1, 0, micros(2)},
}

// secondsOnly sets times in the format of utime.
func secondsOnly(fd int, q *question) error {
	if q.data.args[1] == 0 {
		return setTimes(fd, nil)
	}
	var t [2]int64
	if err := readMemory(int(q.pid), q.data.args[1], (*[16]byte)(unsafe.Pointer(&t))[:]); err != nil {
		return err
	}
	ts := [2]unix.Timespec{{Sec: t[0]}, {Sec: t[1]}}
	return setTimes(fd, &ts)
}

// micros sets times in the format of utimes.
func micros(arg int) func(int, *question) error {
	return func(fd int, q *question) error {
		if q.data.args[arg] == 0 {
			return setTimes(fd, nil)
		}
		var t [2]unix.Timeval
		if err := readMemory(int(q.pid), q.data.args[arg], (*[32]byte)(unsafe.Pointer(&t))[:]); err != nil {
			return err
		}
		ts := [2]unix.Timespec{{Sec: t[0].Sec, Nsec: t[0].Usec * 1000}, {Sec: t[1].Sec, Nsec: t[1].Usec * 1000}}
		return setTimes(fd, &ts)
	}
}

// oldObserving are the calls of inotify that newer architectures do not have.
var oldObserving = map[uint32]func(h *helper, listener int, q *question) error{
	unix.SYS_INOTIFY_INIT: func(h *helper, listener int, q *question) error { return h.newObserver(listener, q, 0) },
}

var (
	oldOpens   = map[uint32]int{unix.SYS_OPEN: 0}
	oldRemoves = map[uint32]int{unix.SYS_UNLINK: 0}
	oldLinks   = map[uint32][2]int{unix.SYS_LINK: {0, 1}}
)
