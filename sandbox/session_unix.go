//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killSession kills a program and all that it has started. The number of a
// session stays taken until its program has been waited for.
func killSession(cmd *exec.Cmd) error { return signal(cmd, syscall.SIGKILL) }

// askSession asks a program and all that it has started to end.
func askSession(cmd *exec.Cmd) error { return signal(cmd, syscall.SIGTERM) }

func signal(cmd *exec.Cmd, s syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, s)
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

// closeFilesOnExec keeps files that etui itself was started with from programs.
// What etui opens is marked already.
func closeFilesOnExec() {
	files, err := os.ReadDir("/dev/fd")
	if err != nil {
		return
	}
	for _, f := range files {
		if fd, err := strconv.Atoi(f.Name()); err == nil && fd > 2 {
			syscall.CloseOnExec(fd)
		}
	}
}
