// The helper runs one program behind a wall, see package sandbox. It is built
// into etui (go generate, in package sandbox) and started from memory with a
// closed environment. It is kept small: its start is most of what a command
// costs, so it links no fmt, os or net.
//
// Its main thread stays free to watch, count and end what it started; the thread
// that starts the program gives up everything first. So what the program
// inherits is never what the helper itself has.
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
		fail("reading what to do", unix.EPROTO)
	}
	h.run()
}

// helper runs one program.
type helper struct {
	spec    wire.Spec
	limit   limit
	sweep   chan struct{} // asks the thread that started the program to end all of it
	child   int
	stopped bool // the stream has ended
	started chan struct{}
	proxy   *door // nil: the program has no network, or its own

	grown    atomic.Uint64 // bytes that the disk had lost at the last look
	promised atomic.Uint64 // bytes that were allocated since

	common    int      // the folder that stands for /dev/shm, once it is opened
	terminals []uint32 // the numbers of those that the program was given
}

// step is a thing to do on the way to the program.
type step struct {
	name string
	do   func() error
}

func (h *helper) run() {
	steps := []step{{"protecting the helper", h.hide}}
	if h.spec.Isolate {
		steps = append(steps, step{"making a root folder", h.isolate}, step{"starting the network inside", h.loopback})
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

// threads is how many threads the helper can use: one for each of the four things
// that it does at once, and one for each processor that the runtime uses beside.
const threads = 6

// startThreads makes the runtime start all of them. The limit of processes holds for
// the helper, too, and a program that has used it up would be its end: a runtime
// that cannot have a thread gives up, and what it should have ended goes on.
func startThreads() error {
	ready, done := make(chan struct{}), make(chan struct{})
	for range threads {
		go func() {
			runtime.LockOSThread() // which no other may use then
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
	trees := uint(0)
	if h.spec.HasTrees {
		trees = uint(len(h.spec.Writable) + len(h.spec.Readable))
	}
	if err := unix.CloseRange(wire.Control, wire.Trees+trees-1, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return err
	}
	if err := unix.CloseRange(wire.Trees+trees, ^uint(0), 0); err != nil {
		return err
	}
	return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
}

// adopt makes orphans of the program's children of the helper.
func (h *helper) adopt() error {
	if h.spec.Isolate {
		return nil // the first process of a name space is that anyway
	}
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// start starts the program from a thread of its own, which has given up all
// rights, and stays there: only such a thread may end all of the program where
// that has no name space (kill of -1 reaches those that it may signal).
func (h *helper) start() {
	runtime.LockOSThread()
	if unix.Gettid() == unix.Getpid() {
		// A process is judged by its first thread: that one must stay out.
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
		// What ends the tree must get ahead of it. It is this thread's, and inherited.
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, niceness) // it is only a courtesy
	}
	if !h.spec.Probe {
		var err error
		h.child, err = syscall.ForkExec(h.spec.Args[0], h.spec.Args[1:], &syscall.ProcAttr{
			Dir: h.spec.Dir, Env: h.spec.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true},
		})
		if err != nil {
			fail("running "+h.spec.Args[0], err)
		}
		for fd := range 3 { // the program's end is to be seen by who reads from it
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

// guard stays with the program until it has ended, does what is asked meanwhile,
// and looks at what it uses. Only what takes long has a thread of its own, and
// only when the program runs on: threads cost.
func (h *helper) guard() {
	ended, err := unix.PidfdOpen(h.child, 0)
	if err != nil {
		h.stop("")
	}
	d, w := h.newDisk(), watcher{}
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

// reap takes note of all that has ended, and says how the program did.
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

// end ends all that is left and the helper. As the first process of a name space
// it takes everything with it; the one who waits for it waits for all of them.
func (h *helper) end(e wire.Ending) {
	if !h.spec.Isolate {
		h.clear()
	}
	send(wire.Ended, e.Body())
	unix.Exit(0)
}

// listen waits for the program's end and does what is asked, for so many
// milliseconds. The end of the stream ends the program.
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

// receive reads the one message from above.
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

// fail says what could not be done, and ends the helper.
func fail(what string, err error) {
	number := unix.EIO
	errors.As(err, &number)
	send(wire.Failed, append([]byte{byte(number)}, what...))
	unix.Exit(125)
}
