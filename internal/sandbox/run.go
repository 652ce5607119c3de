package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
)

// Result is what a program that has ended leaves behind.
type Result struct {
	// Exit is its status; -1 when a signal has ended it.
	Exit int
	// Status is how it ended, in words: "exit status 1", "signal: killed".
	Status string
	// Stdout is what it has written.
	Stdout Output
	// Stderr is what it has complained about: the first and the last 16 KiB.
	Stderr Output
}

const (
	defaultOutput = 1 << 20
	keptErrors    = 32 << 10
)

// Run runs a program to its end. A program that ends with a status other than 0
// is no error; one that cannot be started is (ErrRefused, ErrNotFound), and so is
// the end of ctx, whose cause the error wraps.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	cmd, err := s.prepare(ctx, c)
	if err != nil {
		return Result{}, err
	}
	if c.MaxOutput <= 0 {
		c.MaxOutput = defaultOutput
	}
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("waiting to run %s: %w", c.Args[0], context.Cause(ctx))
	}
	stdout, stderr := NewKeeper(c.MaxOutput/2, c.MaxOutput-c.MaxOutput/2), NewKeeper(keptErrors/2, keptErrors/2)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(c.Stdin), stdout, stderr
	if err := start(cmd); err != nil {
		return Result{}, err
	}
	err = wait(cmd)
	result := Result{Exit: cmd.ProcessState.ExitCode(), Status: cmd.ProcessState.String(), Stdout: stdout.Output(), Stderr: stderr.Output()}
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && !cmd.ProcessState.Success():
		return result, fmt.Errorf("running %s: %w", c.Args[0], context.Cause(ctx))
	case err == nil, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return result, nil
	}
	return result, fmt.Errorf("running %s: %w", c.Args[0], err)
}

// start starts a program, which sees no file that etui has open.
func start(cmd *exec.Cmd) error {
	closeFilesOnExec()
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting %s: %w", cmd.Path, err)
	}
	return nil
}

// wait waits for a program's end and kills what is left of its session.
func wait(cmd *exec.Cmd) error {
	if awaitExit(cmd.Process.Pid) {
		_ = killSession(cmd) // nothing may be left to kill
		return cmd.Wait()
	}
	err := cmd.Wait()
	_ = killSession(cmd)
	return err
}
