package main

import (
	"golang.org/x/sys/unix"
)

// ownFiles are the files about a process that a program may read of its own processes.
var ownFiles = []string{
	"auxv", "cgroup", "cmdline", "comm", "environ", "io", "limits", "maps", "mountinfo", "mounts", "oom_score", "oom_score_adj", "personality", "sched", "schedstat", "smaps", "smaps_rollup",
	"stat", "statm", "status", "wchan",
}

// ownFile opens such a file; rest is its path below /proc. Landlock closes them all, because
// it knows no rule for "one's own".
func (h *helper) ownFile(listener int, q *question, rest string) (int, error) {
	if rest == "mounts" { // a link
		rest = "self/mounts"
	}
	process, file := split(rest)
	if task, of := split(file); task == "task" {
		if task, of = split(of); number(task) == 0 || !isOwnFile(of) {
			return -1, errProceed
		}
	} else if !isOwnFile(file) {
		return -1, errProceed
	}
	pid := int(number(process))
	caller := threadGroup(int(q.pid))
	switch process {
	case "self":
		pid = caller
	case "thread-self":
		pid, file = caller, "task/"+decimal(uint64(q.pid))+"/"+file
	}
	if pid <= 0 {
		return -1, errProceed
	}
	// The open folder stays that of this process, whatever has its number later.
	folder, err := unix.Open("/proc/"+decimal(uint64(pid)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, errProceed
	}
	defer unix.Close(folder)
	if err := asked(listener, q); err != nil {
		return -1, err
	}
	own := pid == caller
	if !own {
		for _, p := range h.tree() {
			own = own || p == pid
		}
	}
	if !own {
		return -1, errProceed
	}
	return unix.Openat(folder, file, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
}

func isOwnFile(name string) (found bool) {
	for _, own := range ownFiles {
		found = found || own == name
	}
	return found
}

// split divides a path after its first element.
func split(path string) (first, rest string) {
	for i := range len(path) {
		if path[i] == '/' {
			return path[:i], path[i+1:]
		}
	}
	return path, ""
}
