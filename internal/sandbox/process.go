package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// closeDelay is how long a program may take to end after its standard input has
// been closed, and again after it has been asked to end.
const closeDelay = 2 * time.Second

// Process is a program that was started and goes on. Its methods may be called
// from any goroutine; Stdin and Stdout are for one writer and one reader.
type Process struct {
	// Stdin is the program's standard input.
	Stdin io.WriteCloser
	// Stdout is its standard output. It ends at most a second after the program.
	Stdout io.ReadCloser

	cmd    *exec.Cmd
	hide   func(string) string
	stderr *Keeper
	done   chan struct{}
	err    error // why it ended; to be read when done is closed
}

// Start starts a program. Who starts one calls Close; the end of ctx kills it.
func (s *Sandbox) Start(ctx context.Context, c Command) (*Process, error) {
	cmd, err := s.prepare(ctx, c)
	if err != nil {
		return nil, err
	}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	ours, theirs, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	p := &Process{Stdin: stdin, Stdout: ours, cmd: cmd, hide: c.Hide, stderr: NewKeeper(1<<10, keptErrors), done: make(chan struct{})}
	cmd.Stdout, cmd.Stderr = theirs, p.stderr
	err = start(cmd)
	theirs.Close()
	if err != nil {
		stdin.Close()
		ours.Close()
		return nil, err
	}
	go p.wait()
	return p, nil
}

func (p *Process) wait() {
	err := wait(p.cmd)
	p.err = fmt.Errorf("the program ended: %s", p.cmd.ProcessState)
	if err != nil {
		if lines := p.Complaint(); lines != "" {
			p.err = fmt.Errorf("%w: %s", p.err, lines)
		}
	}
	// Who reads gets what is still in the pipe, but waits for no program that has
	// left the session with the pipe in its hand.
	_ = p.Stdout.(*os.File).SetReadDeadline(time.Now().Add(waitDelay))
	close(p.done)
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the program ended, with what it has complained about; nil
// while it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Complaint is what the program has written to its standard error, fit to be
// shown: see [Excerpt].
func (p *Process) Complaint() string { return Excerpt(p.stderr.Output().Bytes(), p.hide) }

// Close ends the program, politely at first, and waits for its end: at most some
// four seconds.
func (p *Process) Close() error {
	p.Stdin.Close()
	for _, end := range []func(*exec.Cmd) error{askSession, killSession} {
		select {
		case <-p.done:
		case <-time.After(closeDelay):
			_ = end(p.cmd) // it may have ended meanwhile
		}
	}
	<-p.done
	return p.Stdout.Close()
}
