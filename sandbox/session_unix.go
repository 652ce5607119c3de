//go:build unix

package sandbox

import (
	"os"
	"os/exec"
	"strconv"
	"syscall"
)

func ownSession(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true} }

// killSession kills a program and its children. The id of a session is not reused
// until its program has been reaped.
func killSession(cmd *exec.Cmd) error { return signal(cmd, syscall.SIGKILL) }

// askSession asks a program and its children to end.
func askSession(cmd *exec.Cmd) error { return signal(cmd, syscall.SIGTERM) }

func signal(cmd *exec.Cmd, s syscall.Signal) error {
	err := syscall.Kill(-cmd.Process.Pid, s)
	if err == syscall.ESRCH {
		return os.ErrProcessDone
	}
	return err
}

// closeFilesOnExec hides files that etui inherited from the programs that it starts.
// Files that etui opened itself are marked already.
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
