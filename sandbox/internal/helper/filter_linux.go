package main

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// call is a system call that is refused, always or for certain arguments.
type call struct {
	number uint32
	answer uint32 // what the filter returns
	when   []all  // any of these; empty: always
}

// all are conditions that hold together.
type all []cond

// cond is about the lower half of an argument, or the upper one.
type cond struct {
	arg   uint32
	bits  bool // some of the bits of value are set; else the argument is value
	value uint32
	not   bool
	upper bool
}

func is(arg, value uint32) cond   { return cond{arg: arg, value: value} }
func isnt(arg, value uint32) cond { return cond{arg: arg, value: value, not: true} }
func has(arg, bits uint32) cond   { return cond{arg: arg, value: bits, bits: true} }
func hasnt(arg, bits uint32) cond { return cond{arg: arg, value: bits, bits: true, not: true} }

func errno(e uint32) uint32 { return unix.SECCOMP_RET_ERRNO | e }

var (
	eperm  = errno(uint32(unix.EPERM))
	enosys = errno(uint32(unix.ENOSYS))
)

// newSpaces are the flags that create name spaces, in which a process regains
// capabilities that expose much more of the kernel.
const newSpaces = unix.CLONE_NEWNS | unix.CLONE_NEWCGROUP | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER |
	unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWTIME

// otherUser are the mode bits that give a program the user or group of its file.
const otherUser = unix.S_ISUID | unix.S_ISGID

// filter installs the filter for this thread and its children.
func (h *helper) filter() error {
	program := assemble(h.calls())
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	flags := uintptr(unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)
	if !h.spec.Isolate {
		flags |= unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV // a signal must not repeat a call that changes files
	}
	fd, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, flags, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, fd, setNotifyFlags, wakeAtOnce) // Linux 6.6; without it an answer takes twice the time
	go h.decide(int(fd))
	return nil
}

// calls returns the refused calls. They are of four kinds: calls that only attacks on
// the kernel need; calls that reach processes of others; network beyond the
// program's own; and files that would run with their owner's rights.
func (h *helper) calls() (list []call) {
	always := func(answer uint32, numbers ...uint32) {
		for _, n := range numbers {
			list = append(list, call{n, answer, nil})
		}
	}
	when := func(number, answer uint32, conditions ...all) {
		list = append(list, call{number, answer, conditions})
	}
	always(eperm,
		unix.SYS_ACCT, unix.SYS_ADD_KEY, unix.SYS_BPF, unix.SYS_CHROOT, unix.SYS_CLOCK_ADJTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_SETTIME,
		unix.SYS_DELETE_MODULE, unix.SYS_FANOTIFY_INIT, unix.SYS_FINIT_MODULE, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSOPEN,
		unix.SYS_FSPICK, unix.SYS_INIT_MODULE, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_KCMP,
		unix.SYS_KEXEC_FILE_LOAD, unix.SYS_KEXEC_LOAD, unix.SYS_KEYCTL, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_MIGRATE_PAGES, unix.SYS_MOUNT,
		unix.SYS_MOUNT_SETATTR, unix.SYS_MOVE_MOUNT, unix.SYS_MOVE_PAGES, unix.SYS_NAME_TO_HANDLE_AT, unix.SYS_NFSSERVCTL,
		unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_OPEN_TREE, unix.SYS_OPEN_TREE_ATTR, unix.SYS_PERF_EVENT_OPEN, unix.SYS_PIDFD_GETFD,
		unix.SYS_PIVOT_ROOT, unix.SYS_PROCESS_MADVISE, unix.SYS_PROCESS_MRELEASE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV,
		unix.SYS_PTRACE, unix.SYS_QUOTACTL, unix.SYS_QUOTACTL_FD, unix.SYS_REBOOT, unix.SYS_REQUEST_KEY, unix.SYS_SETDOMAINNAME,
		unix.SYS_SETHOSTNAME, unix.SYS_SETNS, unix.SYS_SETTIMEOFDAY, unix.SYS_SWAPOFF, unix.SYS_SWAPON, unix.SYS_SYSLOG, unix.SYS_UMOUNT2,
		unix.SYS_USERFAULTFD, unix.SYS_VHANGUP,
		// Shared memory and queues that no limit counts.
		unix.SYS_SHMGET, unix.SYS_MSGGET, unix.SYS_MQ_OPEN, unix.SYS_MEMFD_SECRET,
	)
	always(eperm, oldCalls...)
	// Programs fall back to other calls for these.
	always(enosys, unix.SYS_CLONE3, unix.SYS_OPENAT2, unix.SYS_IO_URING_SETUP, unix.SYS_MEMFD_CREATE,
		unix.SYS_IO_SETUP) // the whole machine shares fs.aio-max-nr

	when(unix.SYS_CLONE, eperm, all{has(0, newSpaces&^0xff|unix.CLONE_NEWTIME)})
	when(unix.SYS_UNSHARE, eperm, all{has(0, newSpaces)})
	// The files of a thread that shares none with its process are in no list of the watch.
	when(unix.SYS_CLONE, eperm, all{has(0, unix.CLONE_THREAD), hasnt(0, unix.CLONE_FILES)})
	when(unix.SYS_UNSHARE, eperm, all{has(0, unix.CLONE_FILES)})
	when(unix.SYS_CLOSE_RANGE, enosys, all{has(2, unix.CLOSE_RANGE_UNSHARE)})
	when(unix.SYS_PERSONALITY, eperm, all{isnt(0, 0), isnt(0, 0xffffffff), isnt(0, noRandom)})
	when(unix.SYS_SECCOMP, eperm, all{has(1, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER)})
	always(unix.SECCOMP_RET_USER_NOTIF, unix.SYS_FALLOCATE) // see allocate
	ioctls := []uint32{unix.TIOCSTI, unix.TIOCLINUX, unix.TIOCSETD, unix.TIOCCONS, fioSetOwn, siocSetOwn, reserve, reserve64, zeroRange}
	if !h.spec.Isolate {
		ioctls = append(ioctls, unix.FS_IOC_SETFLAGS, fsSetXattr) // of files that may only be read
	}
	for _, request := range ioctls {
		when(unix.SYS_IOCTL, eperm, all{is(1, request)})
	}
	h.others(when)
	h.sockets(when, always)
	for _, c := range modes {
		when(c.number, eperm, c.when...)
	}
	if !h.spec.Isolate {
		always(errno(uint32(unix.ENOTSUP)), unix.SYS_SETXATTR, unix.SYS_LSETXATTR, unix.SYS_FSETXATTR, unix.SYS_REMOVEXATTR, unix.SYS_LREMOVEXATTR,
			unix.SYS_FREMOVEXATTR, unix.SYS_SETXATTRAT, unix.SYS_REMOVEXATTRAT,
			unix.SYS_GETXATTR, unix.SYS_LGETXATTR, unix.SYS_FGETXATTR, unix.SYS_GETXATTRAT,
			unix.SYS_LISTXATTR, unix.SYS_LLISTXATTR, unix.SYS_FLISTXATTR, unix.SYS_LISTXATTRAT) // of files outside
		always(eperm, unix.SYS_SEMGET, unix.SYS_FILE_SETATTR, unix.SYS_FILE_GETATTR)
		for number := range decided {
			always(unix.SECCOMP_RET_USER_NOTIF, number)
		}
		for number := range observing {
			always(unix.SECCOMP_RET_USER_NOTIF, number)
		}
		shares(when)
	}
	return list
}

const (
	setNotifyFlags = 0x40082104 // SECCOMP_IOCTL_NOTIF_SET_FLAGS
	wakeAtOnce     = 1          // SECCOMP_USER_NOTIF_FD_SYNC_WAKE_UP
)

// noRandom is ADDR_NO_RANDOMIZE, which debuggers set for their children.
const noRandom = 0x40000

const (
	fsSetXattr = 0x401c5820 // FS_IOC_FSSETXATTR
	reserve    = 0x40305828 // FS_IOC_RESVSP: fallocate by another name
	reserve64  = 0x4030582a // FS_IOC_RESVSP64
	zeroRange  = 0x40305839 // FS_IOC_ZERO_RANGE
	fioSetOwn  = 0x8901     // FIOSETOWN
	siocSetOwn = 0x8902     // SIOCSPGRP
)

// others refuses calls that reach other processes than the caller. Signals among the
// program's own processes are allowed: a name space or Landlock confines them.
func (h *helper) others(when func(uint32, uint32, ...all)) {
	for _, number := range []uint32{unix.SYS_PRLIMIT64, unix.SYS_SCHED_SETAFFINITY, unix.SYS_SCHED_SETATTR, unix.SYS_SCHED_SETPARAM, unix.SYS_SCHED_SETSCHEDULER} {
		when(number, eperm, all{isnt(0, 0)})
	}
	for _, number := range []uint32{unix.SYS_SETPRIORITY, unix.SYS_IOPRIO_SET} {
		first := uint32(0) // PRIO_PROCESS
		if number == unix.SYS_IOPRIO_SET {
			first = 1 // IOPRIO_WHO_PROCESS
		}
		when(number, eperm, all{isnt(0, first)}, all{isnt(1, 0)})
	}
	if h.spec.Isolate {
		return
	}
	// The thread that starts the program is in the program's Landlock domain; a
	// signal to it would end the helper.
	pid, tid := uint32(unix.Getpid()), uint32(unix.Gettid())
	for _, number := range []uint32{unix.SYS_KILL, unix.SYS_TKILL, unix.SYS_RT_SIGQUEUEINFO, unix.SYS_PIDFD_OPEN} {
		when(number, eperm, all{is(0, pid)}, all{is(0, tid)})
	}
	for _, number := range []uint32{unix.SYS_TGKILL, unix.SYS_RT_TGSIGQUEUEINFO} {
		when(number, eperm, all{is(0, pid)}, all{is(1, tid)})
	}
	when(unix.SYS_PIDFD_SEND_SIGNAL, enosys)
	// Signals that files send would bypass the helper.
	for _, command := range []uint32{unix.F_SETOWN, unix.F_SETOWN_EX, unix.F_SETSIG} {
		when(unix.SYS_FCNTL, eperm, all{is(1, command)})
	}
	if landlockVersion(h.spec.OldKernel) < scopesSignals {
		for number := range signals {
			when(number, unix.SECCOMP_RET_USER_NOTIF)
		}
	}
}

// sockets refuses families that no name space confines. Without a name space it
// leaves only pairs of sockets, of types that cannot be redirected, and TCP sockets
// that only the helper can connect.
func (h *helper) sockets(when func(uint32, uint32, ...all), always func(uint32, ...uint32)) {
	family := errno(uint32(unix.EAFNOSUPPORT))
	if h.spec.Isolate {
		when(unix.SYS_SOCKET, family,
			all{isnt(0, unix.AF_UNIX), isnt(0, unix.AF_INET), isnt(0, unix.AF_INET6), isnt(0, unix.AF_NETLINK)},
			all{is(0, unix.AF_NETLINK), isnt(2, unix.NETLINK_ROUTE)})
		when(unix.SYS_SOCKETPAIR, family, all{isnt(0, unix.AF_UNIX)})
		return
	}
	always(eperm, unix.SYS_BIND, unix.SYS_LISTEN)
	when(unix.SYS_SOCKETPAIR, family, all{isnt(0, unix.AF_UNIX)}, noSocketOf(unix.SOCK_STREAM, unix.SOCK_SEQPACKET))
	if h.proxy == nil {
		always(eperm, unix.SYS_SOCKET, unix.SYS_CONNECT)
		return
	}
	when(unix.SYS_SOCKET, eperm,
		all{isnt(0, unix.AF_INET), isnt(0, unix.AF_INET6)}, noSocketOf(unix.SOCK_STREAM), all{isnt(2, 0), isnt(2, unix.IPPROTO_TCP)})
	always(unix.SECCOMP_RET_USER_NOTIF, unix.SYS_CONNECT)
	// With this flag sending connects, too.
	fastOpen := errno(uint32(unix.EOPNOTSUPP))
	when(unix.SYS_SENDTO, fastOpen, all{has(3, unix.MSG_FASTOPEN)})
	when(unix.SYS_SENDMSG, fastOpen, all{has(2, unix.MSG_FASTOPEN)})
	when(unix.SYS_SENDMMSG, fastOpen, all{has(3, unix.MSG_FASTOPEN)})
	// Refuse options that redirect a connection or reach deep into the kernel; the
	// options of IP that remain are harmless.
	when(unix.SYS_SETSOCKOPT, errno(uint32(unix.ENOPROTOOPT)),
		all{isnt(1, unix.SOL_SOCKET), isnt(1, unix.IPPROTO_TCP), isnt(1, unix.IPPROTO_IP), isnt(1, unix.IPPROTO_IPV6)},
		all{is(1, unix.IPPROTO_IP), isnt(2, unix.IP_TOS), isnt(2, unix.IP_TTL), isnt(2, unix.IP_RECVERR)},
		all{is(1, unix.IPPROTO_IPV6), isnt(2, unix.IPV6_V6ONLY), isnt(2, unix.IPV6_TCLASS), isnt(2, unix.IPV6_UNICAST_HOPS)},
		all{is(1, unix.IPPROTO_TCP), is(2, unix.TCP_FASTOPEN_CONNECT)},
		all{is(1, unix.IPPROTO_TCP), is(2, unix.TCP_FASTOPEN)},
		all{is(1, unix.IPPROTO_TCP), is(2, unix.TCP_REPAIR)},
		all{is(1, unix.IPPROTO_TCP), is(2, unix.TCP_ULP)})
}

// noSocketOf matches sockets of other types.
func noSocketOf(types ...uint32) (list all) {
	for _, t := range types {
		for _, flags := range []uint32{0, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK} {
			list = append(list, isnt(1, t|flags))
		}
	}
	return list
}

// modes are the calls that could make a file run as its owner.
var modes = append([]call{
	{unix.SYS_FCHMOD, 0, []all{{has(1, otherUser)}}},
	{unix.SYS_FCHMODAT, 0, []all{{has(2, otherUser)}}},
	{unix.SYS_FCHMODAT2, 0, []all{{has(2, otherUser)}}},
	{unix.SYS_OPENAT, 0, []all{{has(2, creates), has(3, otherUser)}}},
	{unix.SYS_MKNODAT, 0, []all{{has(2, otherUser)}}},
}, oldModes...)

// creates are the flags with which open uses its mode argument.
const creates = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY

// newest is the last call that the list was made for: that of Linux 6.17. A later one, which
// nobody has judged, is one that the kernel does not have: programs fall back to another.
const newest = unix.SYS_FILE_SETATTR

// assemble makes a program of the list. Other calls up to the newest are allowed; calls of
// another architecture kill the process.
func assemble(list []call) []unix.SockFilter {
	const load, jump, ret = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_K, unix.BPF_RET | unix.BPF_K
	code := []unix.SockFilter{
		{Code: load, K: 4}, // the architecture
		{Code: jump | unix.BPF_JEQ, K: arch, Jt: 1},
		{Code: ret, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: load, K: 0}, // the call
		{Code: jump | unix.BPF_JGE, K: foreign, Jf: 1},
		{Code: ret, K: unix.SECCOMP_RET_KILL_PROCESS},
		{Code: jump | unix.BPF_JGT, K: newest, Jf: 1},
		{Code: ret, K: enosys},
	}
	for _, c := range list {
		var body []unix.SockFilter
		for _, together := range c.when {
			for i, k := range together {
				at := 16 + 8*k.arg
				if k.upper {
					at += 4
				}
				op := uint16(unix.BPF_JEQ)
				if k.bits {
					op = unix.BPF_JSET
				}
				// If it does not hold, skip the rest of these conditions and their return.
				test := unix.SockFilter{Code: jump | op, K: k.value, Jf: uint8(2*(len(together)-1-i)) + 1}
				if k.not {
					test.Jt, test.Jf = test.Jf, 0
				}
				body = append(body, unix.SockFilter{Code: load, K: at}, test)
			}
			body = append(body, unix.SockFilter{Code: ret, K: c.answer})
		}
		if len(c.when) == 0 {
			body = append(body, unix.SockFilter{Code: ret, K: c.answer})
		} else {
			body = append(body, unix.SockFilter{Code: load, K: 0}) // the next entries compare the call again
		}
		code = append(code, unix.SockFilter{Code: jump | unix.BPF_JEQ, K: c.number, Jf: uint8(len(body))})
		code = append(code, body...)
	}
	return append(code, unix.SockFilter{Code: ret, K: unix.SECCOMP_RET_ALLOW})
}
