package sandbox

import "golang.org/x/sys/unix"

// awaitExit waits until a program has ended, without taking note of it: its
// number still stands for its session then. It says whether it could wait.
func awaitExit(pid int) bool {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}
