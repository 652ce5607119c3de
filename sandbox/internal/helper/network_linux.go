package main

import (
	"errors"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox/internal/wire"
)

// A program that was granted hosts finds a proxy of etui's on 127.0.0.1. If it has a
// network of its own, the proxy listens there. Otherwise it may make TCP sockets, and
// the kernel forwards its connect calls to the helper: for the proxy's address only,
// the helper makes the connection and replaces the program's socket with it.

// loopback gives the private network its loopback interface.
func (h *helper) loopback() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	lo, err := unix.NewIfreq("lo")
	if err != nil {
		return err
	}
	lo.SetUint16(unix.IFF_UP | unix.IFF_RUNNING)
	return unix.IoctlIfreq(fd, unix.SIOCSIFFLAGS, lo)
}

// backlog is how many connections may wait for the proxy: enough for a program that
// opens all of them at once.
const backlog = 1024

// listenForProxy makes a listener for the proxy and passes it to etui. On the
// machine's own network it has a random port, and a token keeps other programs out.
func (h *helper) listenForProxy() error {
	l, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer unix.Close(l)
	at := &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}
	if h.spec.Isolate {
		at.Port = wire.ProxyPort
	}
	if err := unix.Bind(l, at); err != nil {
		return err
	}
	if err := unix.Listen(l, backlog); err != nil {
		return err
	}
	var token []byte
	if !h.spec.Isolate {
		if h.proxy, err = newDoor(l); err != nil {
			return err
		}
		token = h.proxy.token[:]
	}
	return unix.Sendmsg(wire.Control, wire.Message(wire.Listening, token), unix.UnixRights(l), nil, 0)
}

// door is the address of the proxy on the machine's own network.
type door struct {
	port  int
	token [wire.TokenSize]byte // what every connection begins with
}

func newDoor(listener int) (*door, error) {
	d := &door{}
	name, err := unix.Getsockname(listener)
	if err != nil {
		return nil, err
	}
	at, ok := name.(*unix.SockaddrInet4)
	if !ok {
		return nil, unix.EAFNOSUPPORT
	}
	d.port = at.Port
	_, err = unix.Getrandom(d.token[:], 0) // never returns fewer bytes for so few
	return d, err
}

// addition is struct seccomp_notif_addfd.
type addition struct {
	id       uint64
	flags    uint32
	source   uint32
	number   uint32
	newFlags uint32
}

const addFile = 0x40182103 // SECCOMP_IOCTL_NOTIF_ADDFD

// connect answers the program's connect calls. The program's address is only compared;
// the helper connects to its own copy of the proxy's address.
func (h *helper) connect(listener int, q *question) error {
	family, err := wanted(q)
	if err != nil {
		return err
	}
	flags, err := socketFlags(q)
	if err != nil {
		return err
	}
	if err := asked(listener, q); err != nil {
		return err
	}
	fd, err := h.proxy.open(family)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if flags&unix.O_NONBLOCK == 0 {
		if err := unix.SetNonblock(fd, false); err != nil {
			return err
		}
	}
	add := addition{
		id: q.id, flags: unix.SECCOMP_ADDFD_FLAG_SETFD, source: uint32(fd), number: uint32(q.data.args[0]), newFlags: flags & unix.O_CLOEXEC,
	}
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(listener), addFile, uintptr(unsafe.Pointer(&add))); errno != 0 {
		return errno
	}
	return nil
}

// connectTime bounds connecting to the proxy, in milliseconds. That does not wait for
// accept.
const connectTime = 2000

// open makes a connection to the proxy, still in non-blocking mode.
func (d *door) open(family int) (fd int, err error) {
	fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return -1, err
	}
	defer func() {
		if err != nil {
			unix.Close(fd)
		}
	}()
	var at unix.Sockaddr = &unix.SockaddrInet4{Port: d.port, Addr: [4]byte{127, 0, 0, 1}}
	if family == unix.AF_INET6 {
		at = &unix.SockaddrInet6{Port: d.port, Addr: mapped}
	}
	if err = unix.Connect(fd, at); errors.Is(err, unix.EINPROGRESS) {
		_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, connectTime)
	}
	if err != nil {
		return -1, err
	}
	if n, err := unix.Write(fd, d.token[:]); err != nil || n < len(d.token) {
		return -1, unix.ECONNREFUSED
	}
	return fd, nil
}

// mapped is 127.0.0.1 as an IPv6 address.
var mapped = [16]byte{10: 0xff, 11: 0xff, 12: 127, 15: 1}

// wanted reads the address of a connect call. It returns an error for any other
// address than the proxy's.
func wanted(q *question) (family int, err error) {
	var buf [28]byte // struct sockaddr_in6; sockaddr_in has 16 bytes
	length := min(int(uint32(q.data.args[2])), len(buf))
	if length < 16 {
		return 0, unix.EINVAL
	}
	if err := readMemory(int(q.pid), q.data.args[1], buf[:length]); err != nil {
		return 0, unix.EFAULT
	}
	family = int(buf[0]) | int(buf[1])<<8
	port := int(buf[2])<<8 | int(buf[3])
	address := mapped
	switch {
	case family == unix.AF_INET:
		copy(address[12:], buf[4:8])
	case family == unix.AF_INET6 && length == len(buf):
		copy(address[:], buf[8:24])
	default:
		return 0, unix.EAFNOSUPPORT
	}
	switch {
	case address == mapped && port == wire.ProxyPort:
		return family, nil
	case address[12] == 127 && [12]byte(address[:12]) == [12]byte(mapped[:12]), address == [16]byte{15: 1}:
		return 0, unix.ECONNREFUSED
	}
	return 0, unix.ENETUNREACH
}

// socketFlags returns the flags of the program's socket.
func socketFlags(q *question) (uint32, error) {
	process, number := "/proc/"+decimal(uint64(q.pid)), decimal(uint64(uint32(q.data.args[0])))
	var buf [512]byte
	n, err := unix.Readlink(process+"/fd/"+number, buf[:])
	switch {
	case err == unix.ENOENT:
		return 0, unix.EBADF
	case err != nil:
		return 0, err
	case n < len("socket:") || string(buf[:len("socket:")]) != "socket:":
		return 0, unix.ENOTSOCK
	}
	text := value(read(process+"/fdinfo/"+number, buf[:]), "flags:")
	var flags uint32
	for _, c := range text {
		flags = flags<<3 | uint32(c-'0') // they are octal
	}
	return flags, nil
}
