package main

import (
	"golang.org/x/sys/unix"
)

// limits sets the limits of each process. The program inherits them; the helper
// stays far below.
func (h *helper) limits() error {
	s := &h.spec
	tasks := s.Tasks
	if !s.Isolate {
		tasks += tasksOf(uint32(unix.Getuid())) // the kernel counts all processes of the user
	}
	for _, l := range []struct {
		what       int
		soft, hard uint64
	}{
		{unix.RLIMIT_CPU, s.CPU, unix.RLIM_INFINITY}, // see limitCPU
		{unix.RLIMIT_DATA, s.Data, s.Data},
		{unix.RLIMIT_FSIZE, s.FileSize, s.FileSize},
		{unix.RLIMIT_NPROC, tasks, tasks},
		{unix.RLIMIT_NOFILE, 1024, 4096},
		{unix.RLIMIT_CORE, 0, 0},
		{unix.RLIMIT_MSGQUEUE, 0, 0},
		{unix.RLIMIT_MEMLOCK, 64 << 10, 64 << 10},
		{unix.RLIMIT_RTPRIO, 0, 0},
		{unix.RLIMIT_NICE, 0, 0},
	} {
		var now unix.Rlimit
		if err := unix.Getrlimit(l.what, &now); err != nil {
			return err
		}
		want := unix.Rlimit{Cur: min(l.soft, now.Max), Max: min(l.hard, now.Max)}
		if err := unix.Setrlimit(l.what, &want); err != nil {
			return err
		}
	}
	return nil
}

// limitCPU makes the limit that the program inherited one that it cannot raise, and
// removes it from the helper: a program can make the helper compute by its calls, and
// must not be able to end it that way.
func (h *helper) limitCPU() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CPU, &now); err != nil {
		return err
	}
	limit := unix.Rlimit{Cur: now.Cur, Max: min(now.Cur+1, now.Max)}
	if err := unix.Prlimit(h.child, unix.RLIMIT_CPU, &limit, nil); err != nil && err != unix.ESRCH {
		return err
	}
	return unix.Setrlimit(unix.RLIMIT_CPU, &unix.Rlimit{Cur: now.Max, Max: now.Max})
}

// drop gives up the capabilities of this thread and its children.
func (h *helper) drop() error {
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return err
	}
	for c := uintptr(0); c < 64; c++ {
		// In mode Landlock the helper may lack the right to do this. The set is useless
		// without new privileges anyway.
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err == unix.EINVAL {
			break
		}
	}
	head := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&head, &none[0])
}
