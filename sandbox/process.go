package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
)

// closeDelay is how long Close waits after closing the program's standard input, and
// again after asking it to end.
const closeDelay = 2 * time.Second

// Process is a running program. Its methods may be called from any goroutine; Stdin
// and Stdout are for one writer and one reader.
type Process struct {
	// Stdin is the program's standard input.
	Stdin io.WriteCloser
	// Stdout is its standard output. It ends at most a second after the program.
	Stdout io.ReadCloser

	program program
	hide    func(string) string
	stderr  *printable.Keeper
	done    chan struct{}
	err     error // how it ended; valid when done is closed
}

// Start starts a program. The caller closes it; the end of ctx kills it.
func (s *Sandbox) Start(ctx context.Context, c Command) (*Process, error) {
	if err := s.Ready(); err != nil {
		return nil, err
	}
	c.Limits = c.Limits.filled(endless)
	theirIn, stdin, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirIn.Close()
	stdout, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close())
	}
	defer theirOut.Close()
	complaints, theirErr, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close())
	}
	defer theirErr.Close()
	p := &Process{Stdin: stdin, Stdout: stdout, hide: c.Hide, stderr: printable.NewKeeper(1<<10, keptErrors),
		done: make(chan struct{})}
	if p.program, err = s.start(ctx, c, []*os.File{theirIn, theirOut, theirErr}); err != nil {
		return nil, errors.Join(err, stdin.Close(), stdout.Close(), complaints.Close())
	}
	p.err = errors.New("the program ended, and it is not known how")
	go func() {
		defer close(p.done)
		defer panics.Log(nil, "waiting for a program")
		p.wait(ctx, complaints)
	}()
	return p, nil
}

func (p *Process) wait(ctx context.Context, complaints *os.File) {
	heard := make(chan struct{})
	go func() {
		defer close(heard)
		defer panics.Log(nil, "reading what a program complains of")
		_, _ = io.Copy(p.stderr, complaints) // ends at the deadline below
	}()
	defer complaints.Close()
	release := context.AfterFunc(ctx, p.program.stop)
	e, err := p.program.wait()
	release()
	// The reader gets what is left in the pipe, but does not wait for a process that
	// escaped and keeps it open.
	deadline := time.Now().Add(waitDelay)
	_ = p.Stdout.(*os.File).SetReadDeadline(deadline)
	_ = complaints.SetReadDeadline(deadline)
	<-heard
	p.err = fmt.Errorf("the program ended: %s", e.status)
	switch {
	case err != nil:
		p.err = fmt.Errorf("the program ended: %w", err)
	case e.limit != "":
		p.err = fmt.Errorf("%w, at its limit of %s", p.err, e.limit)
	case e.exit != 0:
		if lines := p.Complaint(); lines != "" {
			p.err = fmt.Errorf("%w: %s", p.err, lines)
		}
	}
}

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the program ended, with an excerpt of its standard error; nil while
// it runs.
func (p *Process) Err() error {
	select {
	case <-p.done:
		return p.err
	default:
		return nil
	}
}

// Complaint returns an excerpt of the program's standard error that can be shown to
// a model.
func (p *Process) Complaint() string { return printable.Excerpt(p.stderr.Bytes(), p.hide) }

// Close asks the program to end, kills it after some four seconds, and waits for its
// end.
func (p *Process) Close() error {
	p.Stdin.Close()
	for _, end := range []func(){p.program.ask, p.program.stop} {
		select {
		case <-p.done:
		case <-time.After(closeDelay):
			end()
		}
	}
	<-p.done
	return p.Stdout.Close()
}
