// Package sandbox runs programs. It is the only package that may start one.
//
// How far a program is kept apart from the machine is the [Mode]; [Auto] takes the
// strongest that works here, tried once. In every mode a program
//
//   - is started from a list of arguments, never through a shell,
//   - sees PATH, HOME, LANG, TMPDIR and TERM and what its [Command] names of the
//     environment, and no file that etui has open,
//   - is ended with all that it has started when it ends, when its context ends, and
//     when it is closed. In mode [Off] a program that leaves its session on purpose
//     survives, and its output is not waited for; on Windows the program alone is
//     killed.
//
// In the modes that isolate it sees the system's programs, the folders that its
// Command names and nothing else of the machine's files, has no network but the
// hosts that it is granted, and is held to [Limits]. On Linux a small helper does
// that; it is part of etui's own file and runs from memory. See docs/sandbox.md.
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

// Mode says how programs are kept apart from the machine.
type Mode string

// The modes, the strongest first.
const (
	// Strong gives a program files, processes and a network of its own (Linux name
	// spaces), behind Landlock and a filter of system calls.
	Strong Mode = "strong"
	// Landlock is the same without name spaces, for where they are not to be had:
	// in containers, and where the system forbids them.
	Landlock Mode = "landlock"
	// Seatbelt is the sandbox of macOS.
	Seatbelt Mode = "seatbelt"
	// None runs nothing.
	None Mode = "none"
	// Off isolates nothing: programs run with the rights of etui's user.
	Off Mode = "off"
	// Auto takes the strongest isolation that this machine has, and None where it
	// has none.
	Auto Mode = "auto"
)

// Modes returns all modes, as the configuration may name them.
func Modes() []Mode { return []Mode{Auto, Strong, Landlock, Seatbelt, None, Off} }

// ErrRefused says that no program is run here. What wraps it says why, and what
// changes that.
var ErrRefused = errors.New("programs are not run")

// ErrNotFound says that a program cannot be found or is not executable.
var ErrNotFound = errors.New("no such program")

// Config says how to run programs. The zero value is mode Auto.
type Config struct {
	// Mode is Auto when it is empty.
	Mode Mode
	// Require is the weakest mode that will do: Strong, or Landlock for any that
	// isolates. Empty: what Mode gives.
	Require Mode
	// Read are folders outside the system's own that every isolated program may read
	// and run from, as absolute paths or with ~/ in front. Those that hold secrets, or
	// more than programs, are an error.
	Read []string
	// Closed are files and folders that none of Read may hold or be in, as absolute
	// paths, beside those that are known: etui's own.
	Closed []string
	// Dial makes the connections of programs that were granted hosts. It judges
	// addresses, too. Nil: there are none.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Sandbox runs programs. It is safe for concurrent use.
type Sandbox struct {
	wanted Mode
	dial   func(ctx context.Context, network, address string) (net.Conn, error)
	read   []folder
	closed []string
	warns  []error
	places chan struct{} // taken by the programs that Run waits for
	state  func() Status // tried once
	system               // what the operating system needs
}

// Status is how programs are kept apart here.
type Status struct {
	// Mode is the mode in force; never Auto.
	Mode Mode
	// Says tells what that protects from, and what not, in plain words.
	Says string
	// Limits tells who holds the memory and the processes of programs to their
	// limits, in plain words. Empty: Says tells it.
	Limits string
	// Missing says for each stronger mode why it is not had here.
	Missing []string
}

// maxRunning is how many programs Run runs at once. Further ones wait, as long
// as their context lets them.
const maxRunning = 16

// waitDelay is how long output is waited for after a program and all that it has
// started have ended.
const waitDelay = time.Second

// New makes a sandbox. It is an error that there is no such mode, or that this
// machine does not have what is required.
func New(c Config) (*Sandbox, error) {
	c.Mode = cmp.Or(c.Mode, Auto)
	if !slices.Contains(Modes(), c.Mode) {
		return nil, fmt.Errorf("sandbox.mode: there is no mode %q; use auto, strong, landlock, seatbelt, none or off", c.Mode)
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
			return nil, fmt.Errorf("sandbox.require is %s, and programs would run in mode %s: %s", c.Require, got.Mode, got.why())
		}
	default:
		return nil, fmt.Errorf("sandbox.require: %q cannot be required; use strong or landlock", c.Require)
	}
	return s, nil
}

// Close frees what the sandbox holds in memory. The caller ends its programs first;
// no program can be started afterwards.
func (s *Sandbox) Close() error { return s.system.close() }

// atLeast reports whether a mode is as strong as another.
func (m Mode) atLeast(required Mode) bool {
	return m == Strong || required == Landlock && (m == Landlock || m == Seatbelt)
}

// isolates reports whether programs are kept from the machine.
func (m Mode) isolates() bool { return m.atLeast(Landlock) }

func (s Status) why() string {
	if len(s.Missing) == 0 {
		return fmt.Sprintf("sandbox.mode is %s", s.Mode)
	}
	return strings.Join(s.Missing, "; ")
}

// Warnings say which of Config.Read programs do without, and why.
func (s *Sandbox) Warnings() []error {
	list := slices.Clone(s.warns)
	if len(s.read) == 0 {
		return list
	}
	_, unseen := s.enterable(s.Mode(), view{})
	return append(list, unseen...)
}

// Mode is how programs are kept apart; never Auto.
func (s *Sandbox) Mode() Mode { return s.Status().Mode }

// Status says how programs are kept apart. The first call tries what this machine
// can do, which takes some milliseconds.
func (s *Sandbox) Status() Status { return s.state() }

// Ready returns nil when programs are run here, and otherwise an error that wraps
// ErrRefused and says what changes that.
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

// Network returns nil when programs can reach hosts that they are granted, and
// otherwise says why not.
func (s *Sandbox) Network() error {
	switch m := s.Mode(); {
	case m == Off, (m == Strong || m == Landlock) && s.dial != nil:
		return nil
	case m == Strong || m == Landlock:
		return errors.New("programs have no network here")
	default:
		return fmt.Errorf("programs have no network in mode %s of the sandbox; it takes mode strong or landlock", m)
	}
}

// try finds the strongest mode that works, of those that are wanted.
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

// says is what a mode protects from, in plain words.
var says = map[Mode]string{
	Strong: "Commands run isolated: own files, processes and network. They see the system's programs and the folders they are given, and nothing else.",
	Landlock: "Commands cannot read or write outside their folders or reach other hosts than those that they are granted. Not isolated here: /tmp is closed instead of private, " +
		"names of files and of other programs can be seen, and there is no network of their own to listen on.",
	Seatbelt: "Commands cannot read or write outside their folders or use the network. Not isolated here: names of other programs can be seen, " +
		"and memory, processes and disk are limited only by time.",
	None: "No command runs.",
	Off:  "Commands run with all your rights. Nothing is isolated.",
}
