package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
)

// Limit names the limit that ended a program. Empty means none.
type Limit string

// The limits.
const (
	LimitTime      Limit = "time"      // Limits.Wall
	LimitCPU       Limit = "cpu"       // Limits.CPU
	LimitMemory    Limit = "memory"    // Limits.Memory
	LimitProcesses Limit = "processes" // Limits.Processes
	LimitDisk      Limit = "disk"      // Limits.Disk or Limits.Files
	LimitFile      Limit = "file"      // Limits.FileSize
	LimitOutput    Limit = "output"    // Limits.Written
)

// Result describes a program that has ended.
type Result struct {
	// Exit is its exit status; -1 if a signal ended it.
	Exit int
	// Status says how it ended: "exit status 1", "signal: killed".
	Status string
	// Limit is the limit that ended it.
	Limit Limit
	// Mode is the mode that it ran in.
	Mode Mode
	// Refused are at most ten hosts and ports that it tried to reach without a grant.
	Refused []string
	// Stdout is its standard output.
	Stdout Output
	// Stderr is its standard error: the first and the last 16 KiB.
	Stderr Output
}

const (
	defaultOutput = 4 << 20
	keptErrors    = 32 << 10
)

// program is a started program with its children.
type program interface {
	// ask asks the program to end.
	ask()
	// stop kills the program and its children. Both may be called at any time and
	// more than once.
	stop()
	// wait waits until the program and its children have ended. It is called once.
	wait() (ending, error)
}

// ending is how a program ended.
type ending struct {
	exit    int
	status  string
	limit   Limit
	refused []string
}

// errWall and errOutput are the causes for which Run itself ends a program.
var (
	errWall   = errors.New("the time is over")
	errOutput = errors.New("too much output")
)

// Run runs a program to its end. An exit status other than 0 or a limit is no error.
// Run fails when the program cannot be started ([ErrRefused], [ErrNotFound]) and when
// ctx ends; the error wraps its cause.
func (s *Sandbox) Run(ctx context.Context, c Command) (Result, error) {
	if err := s.Ready(); err != nil {
		return Result{}, err
	}
	c.Limits = c.Limits.filled(defaultWall)
	select {
	case s.places <- struct{}{}:
		defer func() { <-s.places }()
	case <-ctx.Done():
		return Result{}, fmt.Errorf("waiting to run a program: %w", context.Cause(ctx))
	}
	var st streams
	defer st.close()
	kept := cmp.Or(max(c.MaxOutput, 0), defaultOutput)
	running, end := context.WithCancelCause(ctx)
	defer end(nil)
	stdout, stderr := printable.NewKeeper(kept/2, kept-kept/2), printable.NewKeeper(keptErrors/2, keptErrors/2)
	for _, err := range []error{st.input(c.Stdin), st.output(stdout, c.Limits.Written, end),
		st.output(stderr, c.Limits.Written, end)} {
		if err != nil {
			return Result{}, err
		}
	}
	p, err := s.start(ctx, c, st.theirs)
	if err != nil {
		return Result{}, err
	}
	st.begin()
	running, cancel := context.WithTimeoutCause(running, c.Limits.Wall, errWall)
	defer cancel()
	stopped := context.AfterFunc(running, p.stop)
	e, err := p.wait()
	ended := !stopped() // by its context
	st.finish()
	result := Result{Exit: e.exit, Status: e.status, Limit: e.limit, Mode: s.Mode(), Refused: e.refused,
		Stdout: outputOf(stdout), Stderr: outputOf(stderr)}
	if !ended || result.Exit >= 0 {
		return result, err
	}
	switch cause := context.Cause(running); {
	case ctx.Err() != nil:
		return result, fmt.Errorf("running %s: %w", c.Args[0], context.Cause(ctx))
	case errors.Is(cause, errWall):
		result.Limit = LimitTime
	case errors.Is(cause, errOutput):
		result.Limit = LimitOutput
	}
	return result, nil
}

// start starts a program with three open files as its standard streams.
func (s *Sandbox) start(ctx context.Context, c Command, files []*os.File) (program, error) {
	if len(c.Args) == 0 {
		return nil, fmt.Errorf("%w: the command is empty", ErrNotFound)
	}
	if err := c.there(); err != nil {
		return nil, err
	}
	if mode := s.Mode(); mode.isolates() {
		v, err := look(c)
		if v.workspace != nil && v.workspace != c.Folder {
			defer v.workspace.Close()
		}
		if err != nil {
			return nil, err
		}
		folders, _ := s.enterable(mode, v)
		v.add(folders)
		program, err := s.find(v, c.Args[0])
		if err != nil {
			return nil, err
		}
		return s.isolated(ctx, mode, program, c, v, files)
	}
	path, err := Find(c.Dir, c.Args[0])
	if err != nil {
		return nil, err
	}
	return direct(append([]string{path}, c.Args[1:]...), c.Args[0], c.Dir, environment(nil, c.Env), files)
}

// streams are the standard input, output and error of a program.
type streams struct {
	theirs []*os.File
	copies []func()
	ours   []*os.File
	done   chan struct{}
}

func (st *streams) input(data []byte) error {
	if len(data) == 0 {
		f, err := os.Open(os.DevNull)
		st.theirs = append(st.theirs, f)
		return err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	st.theirs, st.ours = append(st.theirs, r), append(st.ours, w)
	st.copies = append(st.copies, func() {
		_, _ = w.Write(data) // the program need not read it
		w.Close()
	})
	return nil
}

// output keeps what the program writes, and ends it after most bytes.
func (st *streams) output(k *printable.Keeper, most int64, end context.CancelCauseFunc) error {
	r, w, err := os.Pipe()
	if err != nil {
		return err
	}
	st.theirs, st.ours = append(st.theirs, w), append(st.ours, r)
	st.copies = append(st.copies, func() {
		if n, _ := io.Copy(k, io.LimitReader(r, most)); n == most { // it fails only when r is closed
			end(errOutput)
			_, _ = io.Copy(io.Discard, r)
		}
	})
	return nil
}

// begin starts copying, once the program has its files.
func (st *streams) begin() {
	for _, f := range st.theirs {
		f.Close()
	}
	st.theirs, st.done = nil, make(chan struct{}, len(st.copies))
	for _, do := range st.copies {
		go func() {
			defer func() { st.done <- struct{}{} }()
			defer panics.Log(nil, "copying the output of a program")
			do()
		}()
	}
}

// finish reads what is left in the pipes. It does not wait for a process that
// escaped and keeps a pipe open.
func (st *streams) finish() {
	deadline := time.Now().Add(waitDelay)
	for _, f := range st.ours {
		_ = f.SetDeadline(deadline) // fails on closed files only
	}
	for range st.copies {
		<-st.done
	}
}

func (st *streams) close() {
	for _, f := range append(st.theirs, st.ours...) {
		f.Close()
	}
}
