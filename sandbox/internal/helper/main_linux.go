// The helper isolates and runs one program, see package sandbox. It is embedded in
// etui (make generate) and started from memory with an empty environment. Starting it
// is most of the cost of a command, so it links no fmt, os or net.
//
// Its main thread keeps its rights to watch, limit and kill the program; the thread
// that starts the program gives up all rights first, so that the program inherits
// none of them.
package main

import (
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox/internal/wire"
)

func main() {
	h := &helper{}
	body, err := receive()
	if err != nil {
		unix.Exit(125)
	}
	if h.spec, err = wire.DecodeSpec(body); err != nil {
		fail("reading the instructions", unix.EPROTO)
	}
	h.commons.spec = &h.spec
	h.run()
}

// helper runs one program.
type helper struct {
	spec    wire.Spec
	limit   limit
	sweep   chan struct{} // asks the thread that started the program to kill all of it
	child   int
	stopped bool // the stream has ended
	started chan struct{}
	proxy   *door // nil: the program has no network, or its own

	since     int64         // when the program began, in seconds
	grown     atomic.Uint64 // free bytes that the disk had lost at the last look
	allocated uint64        // bytes that the program has allocated

	observers, observed int   // instances of inotify and their watches, at most
	result              int64 // what the call that is decided on returns

	commons   commons
	terminals terminals
}

// step is a step of the preparation.
type step struct {
	name string
	do   func() error
}

func (h *helper) run() {
	steps := []step{{"protecting the helper", h.hide}}
	if h.spec.Isolate {
		steps = append(steps, step{"limiting inotify", h.limitObservers}, step{"making a root folder", root{&h.spec}.isolate}, step{"starting the network inside", h.loopback})
	}
	if h.spec.Proxy {
		steps = append(steps, step{"listening for the proxy", h.listenForProxy})
	}
	steps = append(steps, step{"starting threads", startThreads}, step{"setting limits", h.limits}, step{"becoming the parent of all", h.adopt})
	for _, s := range steps {
		if err := s.do(); err != nil {
			fail(s.name, err)
		}
	}
	h.sweep, h.started = make(chan struct{}), make(chan struct{})
	h.since = clock(unix.CLOCK_REALTIME_COARSE) / 1e9
	go h.start()
	<-h.started
	if h.spec.Probe {
		send(wire.Ended, (&wire.Ending{}).Body())
		unix.Exit(0)
	}
	if err := h.limitCPU(); err != nil {
		h.stop("")
	}
	h.guard()
}

// threads is how many threads the helper can use: one for each of its four tasks, and
// one for each processor that the runtime uses in addition.
const threads = 6

// startThreads makes the runtime start all of them. The limit of processes applies to
// the helper, too. When a program has used it up, a runtime that needs another thread
// would crash and leave the program running.
func startThreads() error {
	ready, done := make(chan struct{}), make(chan struct{})
	for range threads {
		go func() {
			runtime.LockOSThread() // no other goroutine may use it then
			ready <- struct{}{}
			<-done
			runtime.UnlockOSThread()
		}()
	}
	for range threads {
		<-ready
	}
	close(done)
	return nil
}

// hide keeps the program from looking into the helper.
func (h *helper) hide() error {
	folders := uint(0)
	if h.spec.HasTrees {
		folders = uint(len(h.spec.Writable) + len(h.spec.Readable))
	} else if h.spec.HasFolder {
		folders = 1
	}
	if h.spec.Holds {
		folders++
	}
	if err := unix.CloseRange(wire.Control, wire.Folders+folders-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	if err := unix.CloseRange(wire.Folders+folders, ^uint(0), 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// adopt makes the helper the parent of the program's orphans.
func (h *helper) adopt() error {
	if h.spec.Isolate {
		return nil // the first process of a name space is their parent anyway
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// start starts the program from a thread that has given up all rights, and keeps that
// thread: without a name space, only kill(-1) from such a thread reaches all processes
// of the program and no others.
func (h *helper) start() {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// The kernel judges a process by its first thread: keep that one unrestricted.
		go h.start()
		select {}
	}
	for _, s := range []step{
		{"giving up privileges", h.drop},
		{"closing files and network (Landlock)", h.landlock},
		{"closing system calls (seccomp)", h.filter},
	} {
		if err := s.do(); err != nil {
			fail(s.name, err)
		}
	}
	if !h.spec.Isolate {
		// The helper must get ahead of the processes that it kills. They inherit this.
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // optional
	}
	if !h.spec.Probe {
		var err error
		h.child, err = syscall.ForkExec(h.spec.Args[0], h.spec.Args[1:], &syscall.ProcAttr{
			Dir: h.spec.Dir, Env: h.spec.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			fail("running "+h.spec.Args[0], err)
		}
		for fd := range 3 { // readers of the program's output must see its end
			unix.Close(fd)
		}
		send(wire.Started, nil)
	}
	close(h.started)
	for range h.sweep {
		unix.Kill(-1, unix.SIGKILL)
		h.sweep <- struct{}{}
	}
}

const niceness = 10

// guard waits for the program's end, handles requests meanwhile, and watches what the
// program uses. Only the slow watch of the disk has a goroutine of its own, and only
// when the program runs longer than one look.
func (h *helper) guard() {
	ended, err := unix.PidfdOpen(h.child, 0)
	if err != nil {
		h.stop("")
	}
	d, w := h.newDisk(), newWatcher()
	for look := 0; ; look++ {
		every := int64(watchEvery)
		if look > aMinute {
			every = watchLater
		}
		h.listen(ended, every)
		if status, done := h.reap(); done {
			h.end(wire.Ending{Status: uint64(status), Limit: h.limit.of(status)})
		}
		h.look(&w)
		if look == 0 {
			go h.watchDisk(d)
		}
	}
}

// reap reaps all processes that have ended, and returns the status of the program if
// it is among them.
func (h *helper) reap() (ending unix.WaitStatus, done bool) {
	for {
		var status unix.WaitStatus
		pid, err := unix.Wait4(-1, &status, unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || pid == 0:
			return ending, done
		case pid == h.child:
			ending, done = status, true
		}
	}
}

// end kills the remaining processes and exits. The exit of the first process of a name
// space kills all others, and its parent waits for all of them. Without a parent, the helper
// waits: what it holds says that they have ended.
func (h *helper) end(e wire.Ending) {
	switch {
	case !h.spec.Isolate:
		h.clear()
	case h.stopped:
		unix.Kill(-1, unix.SIGKILL)
		for err := error(nil); err == nil || err == unix.EINTR; {
			_, err = unix.Wait4(-1, nil, 0, nil)
		}
	}
	send(wire.Ended, e.Body())
	unix.Exit(0)
}

// listen waits ms milliseconds for the program's end and handles requests. The end of
// the stream ends the program.
func (h *helper) listen(ended int, ms int64) {
	until := clock(unix.CLOCK_MONOTONIC) + ms*1e6
	for left := ms; left > 0; left = (until - clock(unix.CLOCK_MONOTONIC)) / 1e6 {
		fds := []unix.PollFd{{Fd: int32(ended), Events: unix.POLLIN}, {Fd: wire.Control, Events: unix.POLLIN}}
		if h.stopped {
			fds = fds[:1]
		}
		if n, err := unix.Poll(fds, int(left)); err != nil || n == 0 {
			continue
		}
		if fds[0].Revents != 0 {
			return
		}
		var b [1]byte
		n, err := unix.Read(wire.Control, b[:])
		switch {
		case n == 1 && b[0] == wire.Ask:
			unix.Kill(h.child, unix.SIGTERM)
		case n <= 0 && !errors.Is(err, unix.EINTR):
			h.stop("")
			h.stopped = true
		}
	}
}

// receive reads the one message from the sandbox.
func receive() ([]byte, error) {
	head := make([]byte, wire.Head)
	if err := readAll(head); err != nil {
		return nil, err
	}
	n := wire.Length(head)
	if n < 0 {
		return nil, unix.EMSGSIZE
	}
	body := make([]byte, n)
	return body, readAll(body)
}

func readAll(b []byte) error {
	for len(b) > 0 {
		n, err := unix.Read(wire.Control, b)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err
		case n == 0:
			return unix.EPIPE
		default:
			b = b[n:]
		}
	}
	return nil
}

func send(kind byte, body []byte) {
	b := wire.Message(kind, body)
	for len(b) > 0 {
		n, err := unix.Write(wire.Control, b)
		if err == unix.EINTR {
			continue
		}
		if err != nil {
			return
		}
		b = b[n:]
	}
}

// fail reports what failed, and exits.
func fail(what string, err error) {
	number := unix.EIO
	errors.As(err, &number)
	send(wire.Failed, append([]byte{byte(number)}, what...))
	unix.Exit(125)
}
