package sandbox

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/sandbox/internal/wire"
)

// system holds what Linux needs: the helper in memory, the mapping of owners of files
// for etui as root, and the delegated cgroups. Each is made at most once.
type system struct {
	oldKernel bool   // for tests: ignore what Linux 6.12 added
	between   func() // for tests: called between the steps of starting a program
	helper    lazy[*os.File]
	mappings  lazy[*os.File]
	cgroups   lazy[*cgroups]
}

// lazy is a value that is made on first use.
type lazy[T any] struct {
	sync.Once
	value T
	err   error
}

func (o *lazy[T]) get(f func() (T, error)) (T, error) {
	o.Do(func() { o.value, o.err = f() })
	return o.value, o.err
}

func (s *system) step() {
	if s.between != nil {
		s.between()
	}
}

func (s *system) close() error {
	var errs []error
	for _, o := range []*lazy[*os.File]{&s.helper, &s.mappings} {
		if f, err := o.get(func() (*os.File, error) { return nil, os.ErrClosed }); err == nil {
			errs = append(errs, f.Close())
		}
	}
	return errors.Join(errs...)
}

// startTime bounds starting a program, and endTime how long the helper may take to kill
// all of it. A machine under a fork bomb is slow.
const (
	startTime = 20 * time.Second
	endTime   = time.Minute
)

// nameSpaces are those of mode Strong.
const nameSpaces = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP

// helperPath is the path of the helper's program in the helper's own process. It is
// passed as a descriptor because etui's own may be reused before the helper starts.
var helperPath = fmt.Sprintf("/proc/self/fd/%d", wire.Program)

// unwatched is more memory than any machine has: it turns the helper's watch off.
const unwatched = 1 << 62

// builders are the capabilities that the helper has inside its name spaces until it
// starts the program.
var builders = []uintptr{unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE,
	unix.CAP_SYS_RESOURCE}

// helperProcess is a program that runs under the helper.
type helperProcess struct {
	cmd     *exec.Cmd
	control *net.UnixConn
	mode    Mode
	args0   string
	proxy   *proxy
	cgroup  *cgroup
	cleanup func()
	ended   chan struct{}
}

// probe tries whether a mode works here by setting it up without a program.
func (s *Sandbox) probe(m Mode) error {
	switch version := landlockVersion(); {
	case m == Seatbelt:
		return errors.New("only macOS has it")
	case m == Landlock && version == 0:
		return errors.New("the kernel has no Landlock: it is older than Linux 5.13, or was started without it (see /sys/kernel/security/lsm)")
	case m == Landlock && version < minLandlock:
		return fmt.Errorf("the kernel %s is too old: its Landlock has version %d, and the mode takes %d, which came with Linux 6.2", kernel(), version, minLandlock)
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTime)
	defer cancel()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer null.Close()
	c := Command{Limits: Limits{}.filled(defaultWall)}
	p, err := s.isolated(ctx, m, "", c, view{dir: "/"}, []*os.File{null, null, null})
	if release := kernel(); err != nil && m == Strong && older(release, 5, 13) {
		return fmt.Errorf("the kernel %s is too old, the mode takes Linux 5.13: %w", release, err)
	}
	if err != nil {
		return err
	}
	_, err = p.wait()
	return err
}

// minLandlock is the version that the helper needs for mode Landlock.
const minLandlock = 3

// landlockVersion returns the kernel's version of Landlock; 0 means none.
func landlockVersion() int {
	n, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(n)
}

// kernel returns the release of the kernel, such as "6.1.0-50-cloud-amd64"; empty if it
// is unknown.
func kernel() string {
	var name unix.Utsname
	_ = unix.Uname(&name)
	return unix.ByteSliceToString(name.Release[:])
}

// older reports whether a release comes before a version.
func older(release string, major, minor int) bool {
	var a, b int
	n, _ := fmt.Sscanf(release, "%d.%d", &a, &b)
	return n == 2 && (a < major || a == major && b < minor)
}

// isolated starts the helper and waits until the program runs. Without a path it only
// sets up the isolation.
func (s *Sandbox) isolated(ctx context.Context, m Mode, path string, c Command, v view, files []*os.File) (_ program,
	err error) {
	p := &helperProcess{mode: m, cleanup: func() {}, ended: make(chan struct{})}
	defer func() {
		if err != nil {
			p.end()
		}
	}()
	who := ownerOf(m, v)
	if m == Strong {
		v = v.seal()
	}
	spec := wire.Spec{
		Isolate: m == Strong, Probe: path == "", Dir: v.dir, Writable: v.writable, Readable: v.readable,
		Hidden: v.hidden, Links: v.links,
		HasFolder: v.workspace != nil, OldKernel: s.oldKernel, UID: uint64(who.uid), GID: uint64(who.gid),
		CPU: uint64(c.Limits.CPU / time.Second), Data: uint64(c.Limits.ProcessMemory), Memory: uint64(c.Limits.Memory),
		Processes: uint64(c.Limits.Processes), Tasks: 3 * uint64(c.Limits.Processes),
		FileSize: uint64(c.Limits.FileSize),
		Growth:   uint64(c.Limits.Disk), Files: uint64(c.Limits.Files), Scratch: scratchSize, Shared: sharedSize,
	}
	home := "/tmp"
	if m == Landlock {
		if home, err = os.MkdirTemp("", "etui-run-"); err != nil {
			return nil, err
		}
		p.cleanup = func() { removeAll(home) }
		if err := who.give(home); err != nil {
			return nil, err
		}
		spec.Writable = append(spec.Writable, home)
	}
	s.step()
	var folders []*os.File // for the helper
	if v.workspace != nil {
		folders = append(folders, v.workspace)
	}
	if who.change {
		if m == Strong {
			if folders, err = s.trees(who, v); err != nil {
				return nil, err
			}
			spec.HasTrees, spec.HasFolder = true, false
			defer func() {
				for _, t := range folders {
					t.Close()
				}
			}()
		} else if err := who.admit(v, home); err != nil {
			return nil, err
		}
		for _, f := range files {
			_ = f.Chown(who.uid, who.gid) // so that the program can open /dev/stdout; devices refuse this, rightly
		}
	}
	if m == Landlock {
		v.reach(&spec)
	}
	given := map[string]string{"PATH": v.path(), "HOME": home, "TMPDIR": home}
	if path != "" {
		p.args0 = c.Args[0]
		spec.Args = append([]string{path}, c.Args...)
	}
	if len(c.Network) > 0 && s.dial != nil {
		spec.Proxy = true
		addProxy(given)
	}
	spec.Env = environment(given, c.Env)
	if p.cgroup, err = s.newCgroup(c.Limits); err != nil {
		return nil, err
	}
	if p.cgroup != nil {
		spec.Memory, spec.Tasks = unwatched, spec.Tasks+2*helperTasks // the kernel's limits apply first
	}
	passed := folders
	if spec.Holds = c.Hold != nil; spec.Holds {
		passed = append(slices.Clip(folders), c.Hold)
	}
	if err := s.begin(p, who, files, passed); err != nil {
		return nil, err
	}
	s.step()
	giveUp := context.AfterFunc(ctx, p.stop)
	defer giveUp()
	if err := p.prepare(spec, func(l *os.File, token []byte) (*proxy,
		error) {
		return serveProxy(l, token, c.Network, s.dial)
	}); err != nil {
		p.stop()
		p.await() // the error is known already
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("starting %s in mode %s: %w", cmp.Or(p.args0, "the helper"), m, err)
	}
	return p, nil
}

// begin starts the helper.
func (s *Sandbox) begin(p *helperProcess, who owner, files, folders []*os.File) error {
	helper, err := s.helper.get(memfd)
	if err != nil {
		return err
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return err
	}
	defer theirs.Close()
	p.control = ours
	attr := &syscall.SysProcAttr{Setsid: true}
	if p.mode == Strong {
		attr.Cloneflags, attr.AmbientCaps = nameSpaces, builders
		attr.UidMappings = []syscall.SysProcIDMap{{ContainerID: who.uid, HostID: who.uid, Size: 1}}
		attr.GidMappings = []syscall.SysProcIDMap{{ContainerID: who.gid, HostID: who.gid, Size: 1}}
		attr.GidMappingsEnableSetgroups = who.change
	}
	if p.cgroup != nil {
		attr.UseCgroupFD, attr.CgroupFD = true, int(p.cgroup.folder.Fd())
	}
	if who.change {
		attr.Credential = &syscall.Credential{Uid: uint32(who.uid), Gid: uint32(who.gid)}
	}
	p.cmd = &exec.Cmd{
		Path: helperPath, Args: []string{"etui-sandbox"}, Env: []string{"GOMAXPROCS=2"}, Dir: "/",
		Stdin: files[0], Stdout: files[1], Stderr: files[2], ExtraFiles: append([]*os.File{theirs, helper}, folders...),
		SysProcAttr: attr,
	}
	if err := p.cmd.Start(); err != nil {
		ours.Close()
		var perr *os.PathError
		if errors.As(err, &perr) {
			err = perr.Err
		}
		return fmt.Errorf("the kernel refuses what mode %s needs: %w", p.mode, err)
	}
	return nil
}

// prepare sends the helper its instructions and waits until the program runs.
func (p *helperProcess) prepare(spec wire.Spec, serve func(*os.File, []byte) (*proxy, error)) error {
	if err := p.control.SetDeadline(time.Now().Add(startTime)); err != nil {
		return err
	}
	if _, err := p.control.Write(spec.Encode()); err != nil {
		return err
	}
	for {
		kind, body, passed, err := p.event()
		switch {
		case err != nil:
			return fmt.Errorf("the helper does not answer: %w", err)
		case kind == wire.Listening:
			if p.proxy, err = serve(passed, body); err != nil {
				return err
			}
		case kind == wire.Failed && len(body) > 0:
			number := syscall.Errno(body[0])
			if spec.Args != nil && string(body[1:]) == "running "+spec.Args[0] {
				return fmt.Errorf("%w: %s: %w", ErrNotFound, spec.Args[0], number)
			}
			return fmt.Errorf("%s: %w", body[1:], number)
		case kind == wire.Started || kind == wire.Ended && spec.Probe:
			return p.control.SetDeadline(time.Time{})
		}
	}
}

// event reads the helper's next event.
func (p *helperProcess) event() (kind byte, body []byte, passed *os.File, err error) {
	head, rights := make([]byte, wire.Head), make([]byte, unix.CmsgSpace(4))
	n, rn, _, _, err := p.control.ReadMsgUnix(head, rights)
	if err == nil && n < len(head) {
		_, err = io.ReadFull(p.control, head[n:])
	}
	if err != nil {
		return 0, nil, nil, err
	}
	size := int(binary.LittleEndian.Uint32(head[1:]))
	if size > 4096 {
		return 0, nil, nil, errors.New("its event is too long")
	}
	body = make([]byte, size)
	if _, err := io.ReadFull(p.control, body); err != nil {
		return 0, nil, nil, err
	}
	if messages, err := unix.ParseSocketControlMessage(rights[:rn]); err == nil && len(messages) == 1 {
		if fds, err := unix.ParseUnixRights(&messages[0]); err == nil && len(fds) == 1 {
			unix.CloseOnExec(fds[0])
			passed = os.NewFile(uintptr(fds[0]), "listener")
		}
	}
	return head[0], body, passed, nil
}

// ask asks the program to end.
func (p *helperProcess) ask() { _, _ = p.control.Write([]byte{wire.Ask}) } // it may have ended

// stop kills the program and its children: by the cgroup, or by the first process of
// the name space. Otherwise the helper kills them at the end of the stream, and is
// killed itself if it takes too long.
func (p *helperProcess) stop() {
	if p.cgroup.kill() {
		return
	}
	if p.mode == Strong {
		_ = p.cmd.Process.Kill() // it may have ended
		return
	}
	_ = p.control.CloseWrite() // it may have ended
	go func() {
		defer panics.Log(nil, "ending a program")
		select {
		case <-p.ended:
		case <-time.After(endTime):
			_ = p.cmd.Process.Kill()
		}
	}()
}

func (p *helperProcess) wait() (ending, error) {
	defer p.end()
	return p.await(), nil
}

// end removes what was made for the program, after its last process has ended.
func (p *helperProcess) end() {
	p.cgroup.remove()
	p.cleanup()
}

// await waits for the helper's last event and its end.
func (p *helperProcess) await() ending {
	e := p.last()
	_ = p.cmd.Wait() // its exit status means nothing
	e.limit = p.cgroup.limit(e)
	close(p.ended)
	p.control.Close()
	e.refused = p.proxy.close()
	return e
}

// last returns the helper's last event. A helper without one was killed together with
// the program.
func (p *helperProcess) last() ending {
	killed := ending{exit: -1, status: "signal: killed"}
	for {
		kind, body, _, err := p.event()
		if err != nil {
			return killed
		}
		if kind != wire.Ended {
			continue
		}
		last, err := wire.DecodeEnding(body)
		if err != nil {
			return killed
		}
		status := syscall.WaitStatus(last.Status)
		if status.Signaled() {
			return ending{exit: -1, status: "signal: " + status.Signal().String(), limit: Limit(last.Limit)}
		}
		return ending{exit: status.ExitStatus(), status: fmt.Sprintf("exit status %d", status.ExitStatus()),
			limit: Limit(last.Limit)}
	}
}

func socketPair() (*net.UnixConn, *os.File, error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	ours, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer ours.Close()
	c, err := net.FileConn(ours)
	if err != nil {
		theirs.Close()
		return nil, nil, err
	}
	return c.(*net.UnixConn), theirs, nil
}

// memfd copies the helper into memory and seals it against changes.
func memfd() (*os.File, error) {
	if len(helperProgram) == 0 {
		return nil, errors.New("etui has no helper for this architecture")
	}
	fd, err := unix.MemfdCreate("etui-sandbox", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING|unix.MFD_EXEC)
	if err == unix.EINVAL { // Linux before 6.3 does not know MFD_EXEC
		fd, err = unix.MemfdCreate("etui-sandbox", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	}
	if err != nil {
		return nil, fmt.Errorf("making memory for the helper: %w", err)
	}
	f := os.NewFile(uintptr(fd), "etui-sandbox")
	if _, err := io.Copy(f, strings.NewReader(helperProgram)); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS,
		unix.F_SEAL_SEAL|unix.F_SEAL_SHRINK|unix.F_SEAL_GROW|unix.F_SEAL_WRITE)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}
