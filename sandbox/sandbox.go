// Package sandbox runs programs, isolated from the machine where that is possible.
// It is the only package of etui that starts programs.
//
// The [Mode] says how well a program is isolated; [Auto] takes the strongest mode
// that works here and tries that once. In every mode
//
//   - a program is started from a list of arguments, never through a shell,
//   - it sees PATH, HOME, LANG, TMPDIR, TERM and the environment of its [Command],
//     and no file that etui has open,
//   - all processes that it started are killed when it ends, when its context ends
//     and when it is closed. In mode [Off] a process that leaves the session on
//     purpose survives; on Windows only the program itself is killed.
//
// In the modes that isolate, a program sees the system's programs and the folders
// that its Command names, reaches only the hosts that it is granted, and is held to
// its [Limits]. On Linux a small helper sets this up; it is embedded in the binary
// and runs from memory. See docs/sandbox.md.
package sandbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"
)

// Mode says how programs are isolated from the machine.
type Mode string

// The modes, the strongest first.
const (
	// Strong gives a program files, processes and a network of its own (Linux name
	// spaces), behind Landlock and a filter of system calls.
	Strong Mode = "strong"
	// Landlock is the same without name spaces, for containers and systems that do
	// not allow them.
	Landlock Mode = "landlock"
	// Seatbelt is the sandbox of macOS.
	Seatbelt Mode = "seatbelt"
	// None runs nothing.
	None Mode = "none"
	// Off isolates nothing: programs run with the rights of etui's user.
	Off Mode = "off"
	// Auto takes the strongest isolation that this machine has, or None if it has
	// none.
	Auto Mode = "auto"
)

// Modes returns all modes that a configuration may name.
func Modes() []Mode { return []Mode{Auto, Strong, Landlock, Seatbelt, None, Off} }

// ErrRefused says that programs do not run here. The error that wraps it says why
// and what to change.
var ErrRefused = errors.New("programs are not run")

// ErrNotFound says that a program cannot be found or is not executable.
var ErrNotFound = errors.New("no such program")

// Config says how to run programs. The zero value is mode Auto.
type Config struct {
	// Mode is Auto when it is empty.
	Mode Mode
	// Require is the weakest acceptable mode: Strong, or Landlock for any mode that
	// isolates. Empty accepts what Mode gives.
	Require Mode
	// Read are more folders that every isolated program may read and run programs
	// from, as absolute paths or beginning with ~/. A folder that holds secrets or
	// whole homes is an error.
	Read []string
	// Closed are absolute paths that no folder of Read may contain or be below, in
	// addition to the well-known places of secrets.
	Closed []string
	// Dial connects programs to the hosts that they are granted, and decides which
	// addresses may be reached. Nil gives programs no network.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sandbox runs programs. It is safe for concurrent use.
type Sandbox struct {
	wanted Mode
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	read   []folder
	closed []string
	warns  []error
	places chan struct{} // one taken for each program in Run
	state  func() Status // tried once
	system               // state of the operating system's part
}

// Status says how programs are isolated here.
type Status struct {
	// Mode is the mode in effect; never Auto.
	Mode Mode
	// Says explains what the mode protects from and what it does not.
	Says string
	// Limits explains how memory and processes are limited. It is empty where Says
	// explains it.
	Limits string
	// Missing says why each stronger mode is unavailable.
	Missing []string
}

// maxRunning is how many programs Run runs at once. Further ones wait until their
// context ends.
const maxRunning = 16

// waitDelay is how long Run waits for output after a program and its children have
// ended.
const waitDelay = time.Second

// New returns a sandbox. It fails when a mode is unknown, when this machine lacks
// the required mode, and when a folder of Read may not be given away.
func New(c Config) (*Sandbox, error) {
	c.Mode = cmp.Or(c.Mode, Auto)
	if !slices.Contains(Modes(), c.Mode) {
		return nil, fmt.Errorf("sandbox.mode: there is no mode %q; use auto, strong, landlock, seatbelt, none or off",
			c.Mode)
	}
	s := &Sandbox{wanted: c.Mode, dial: c.Dial, closed: c.Closed, places: make(chan struct{}, maxRunning)}
	s.state = sync.OnceValue(s.try)
	var err error
	if s.read, s.warns, err = readable(c.Read, c.Closed); err != nil {
		return nil, err
	}
	switch c.Require {
	case "":
	case Strong, Landlock:
		if got := s.Status(); !got.Mode.atLeast(c.Require) {
			return nil, fmt.Errorf("sandbox.require is %s, and programs would run in mode %s: %s", c.Require, got.Mode,
				got.why())
		}
	default:
		return nil, fmt.Errorf("sandbox.require: %q cannot be required; use strong or landlock", c.Require)
	}
	return s, nil
}

// Close frees what the sandbox holds in memory. The caller ends its programs first;
// no program can be started afterwards.
func (s *Sandbox) Close() error { return s.close() }

// atLeast reports whether a mode is as strong as another.
func (m Mode) atLeast(required Mode) bool {
	return m == Strong || required == Landlock && (m == Landlock || m == Seatbelt)
}

// isolates reports whether programs are isolated.
func (m Mode) isolates() bool { return m.atLeast(Landlock) }

func (s Status) why() string {
	if len(s.Missing) == 0 {
		return fmt.Sprintf("sandbox.mode is %s", s.Mode)
	}
	return strings.Join(s.Missing, "; ")
}

// Warnings returns the folders of Config.Read that programs cannot use, and why.
func (s *Sandbox) Warnings() []error {
	list := slices.Clone(s.warns)
	if len(s.read) == 0 {
		return list
	}
	_, unseen := s.enterable(s.Mode(), view{})
	return append(list, unseen...)
}

// Mode returns the mode in effect; never Auto.
func (s *Sandbox) Mode() Mode { return s.Status().Mode }

// Status says how programs are isolated. The first call tries the modes on this
// machine, which takes some milliseconds.
func (s *Sandbox) Status() Status { return s.state() }

// Ready returns nil if programs run here, and otherwise an error that wraps
// ErrRefused and says what to change.
func (s *Sandbox) Ready() error {
	got := s.Status()
	switch {
	case got.Mode != None:
		return nil
	case s.wanted == None:
		return fmt.Errorf(`%w: "sandbox: {mode: none}" in etui.yaml says so`, ErrRefused)
	}
	return fmt.Errorf(`%w: etui cannot isolate them here (%s). Write "sandbox: {mode: off}" in etui.yaml to run them with all your rights`, ErrRefused, got.why())
}

// Network returns nil if programs can reach the hosts that they are granted, and
// otherwise an error that says why not.
func (s *Sandbox) Network() error {
	switch m := s.Mode(); {
	case m == Off, (m == Strong || m == Landlock) && s.dial != nil:
		return nil
	case m == Strong || m == Landlock:
		return errors.New("programs have no network here")
	default:
		return fmt.Errorf("programs have no network in mode %s of the sandbox; use mode strong or landlock", m)
	}
}

// try finds the strongest wanted mode that works.
func (s *Sandbox) try() Status {
	var missing []string
	for _, m := range []Mode{Strong, Landlock, Seatbelt} {
		if s.wanted != Auto && s.wanted != m {
			continue
		}
		err := s.probe(m)
		if err == nil {
			return Status{Mode: m, Says: says[m], Limits: s.limited(), Missing: missing}
		}
		missing = append(missing, fmt.Sprintf("%s: %v", m, err))
	}
	if s.wanted == Off {
		return Status{Mode: Off, Says: says[Off]}
	}
	return Status{Mode: None, Says: says[None], Missing: missing}
}

// says explains what a mode protects from.
var says = map[Mode]string{
	Strong: "Commands run isolated: own files, processes and network. They see the system's programs and the folders they are given, and nothing else.",
	Landlock: "Commands cannot read or write outside their folders or reach hosts that they were not granted. Not isolated here: /tmp is closed instead of private, " +
		"names of files and numbers of other programs can be seen, and there is no network of their own to listen on.",
	Seatbelt: "Commands cannot read or write outside their folders or use the network. Not isolated here: names of other programs can be seen, " +
		"and memory, processes and disk are limited only by time.",
	None: "No command runs.",
	Off:  "Commands run with all your rights. Nothing is isolated.",
}
