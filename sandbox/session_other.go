//go:build !unix

package sandbox

import "os/exec"

func ownSession(*exec.Cmd) {}

func killSession(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func askSession(cmd *exec.Cmd) error { return cmd.Process.Kill() }

func closeFilesOnExec() {}
