package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"sync"
)

// plain is a program without isolation. It leads a session of its own.
type plain struct {
	cmd    *exec.Cmd
	mu     sync.Mutex
	waited bool // its process id may belong to another program now
}

// direct starts a program with the rights of etui's user.
func direct(args []string, name, dir string, env []string, files []*os.File) (program, error) {
	cmd := &exec.Cmd{Path: args[0], Args: append([]string{name}, args[1:]...), Dir: dir, Env: env, Stdin: files[0],
		Stdout: files[1], Stderr: files[2]}
	ownSession(cmd)
	closeFilesOnExec()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", args[0], err)
	}
	return &plain{cmd: cmd}, nil
}

func (p *plain) ask()  { p.end(askSession) }
func (p *plain) stop() { p.end(killSession) }

func (p *plain) end(how func(*exec.Cmd) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.waited {
		_ = how(p.cmd) // it may have ended already
	}
}

// wait waits for the program's end and kills the rest of its session.
func (p *plain) wait() (ending, error) {
	if awaitExit(p.cmd.Process.Pid) {
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = killSession(p.cmd)
		_ = p.cmd.Wait() // its error is in the state
	} else {
		_ = p.cmd.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		_ = killSession(p.cmd)
	}
	p.waited = true
	state := p.cmd.ProcessState
	return ending{exit: state.ExitCode(), status: state.String()}, nil
}
