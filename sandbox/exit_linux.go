package sandbox

import "golang.org/x/sys/unix"

// awaitExit waits until a program has ended but does not reap it, so that its process
// id still names its session. It reports whether it could wait.
func awaitExit(pid int) bool {
	for {
		if err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil); err != unix.EINTR {
			return err == nil
		}
	}
}
