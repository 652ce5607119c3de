package main

import (
	"golang.org/x/sys/unix"
)

// Before Linux 6.12 Landlock does not confine signals. There the kernel forwards them
// to the helper, which sends them itself, to processes of the program only.

// signals are the calls that send a signal, with the index of the signal among their
// arguments. The first argument is a process or a group.
var signals = map[uint32]int{
	unix.SYS_KILL: 1, unix.SYS_TKILL: 1, unix.SYS_TGKILL: 2, unix.SYS_RT_SIGQUEUEINFO: 1, unix.SYS_RT_TGSIGQUEUEINFO: 2,
}

// signal sends the signal of a call.
func (h *helper) signal(listener int, q *question) error {
	to, signal := int(int32(q.data.args[0])), unix.Signal(int32(q.data.args[signals[q.data.number]]))
	caller := threadGroup(int(q.pid))
	if err := asked(listener, q); err != nil {
		return err
	}
	if to == caller || q.data.number == unix.SYS_TKILL && to == int(q.pid) {
		return errProceed // to itself, or to a thread of its own
	}
	if q.data.number == unix.SYS_TKILL {
		to = threadGroup(to)
	}
	if to > 0 {
		return sendSignal(to, signal)
	}
	group := -to
	if to == 0 {
		var err error
		if group, err = unix.Getpgid(caller); err != nil {
			return err
		}
	}
	err := error(unix.ESRCH)
	for _, pid := range h.tree() {
		if to == -1 && pid == caller {
			continue
		}
		if to != -1 {
			if of, failed := unix.Getpgid(pid); failed != nil || of != group {
				continue
			}
		}
		if sendSignal(pid, signal) == nil {
			err = nil
		}
	}
	return err
}

// sendSignal sends a signal to a process of the program. It opens the process before it
// checks its parents, so that the process id cannot come to mean another.
func sendSignal(pid int, signal unix.Signal) error {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	for up, steps := pid, 0; up > 1 && steps < 1000; up, steps = parent(up), steps+1 {
		if up == unix.Getpid() && up != pid {
			return unix.PidfdSendSignal(fd, signal, nil, 0)
		}
	}
	return unix.EPERM
}

// threadGroup returns the process of a thread.
func threadGroup(tid int) int {
	var buf [4096]byte
	return int(kilobytes(read("/proc/"+decimal(uint64(tid))+"/status", buf[:]), "Tgid:") >> 10)
}

// killTree kills all processes of the program and keeps them from starting new ones.
func (h *helper) killTree() {
	none := unix.Rlimit{}
	for _, pid := range h.tree() {
		_ = unix.Prlimit(pid, unix.RLIMIT_NPROC, &none, nil) // it may have ended
		unix.Kill(pid, unix.SIGKILL)
	}
}
