package sandbox_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/etui-run/etui/sandbox"
)

// inside is a command that runs one of the tests of this file as a program.
func inside(t testing.TB, test string, args ...string) sandbox.Command {
	t.Helper()
	p := newPlace(t)
	program, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.ws, "tests"), program, 0o755); err != nil {
		t.Fatal(err)
	}
	c := p.command("")
	c.Args = append([]string{"./tests", "-test.run=^" + test + "$", "-test.v=false"}, args...)
	c.Env, c.Network = map[string]string{"INSIDE": test, "GORACE": atOnce}, []string{"api.test"}
	c.Limits.ProcessMemory = 1 << 50 // the race detector wants a great deal of addresses
	return c
}

// atOnce makes a test binary that was built with -race end at once: otherwise it sleeps
// for a second.
const atOnce = "atexit_sleep_ms=0"

// isInside reports whether a test is the program.
func isInside(t *testing.T) bool { return os.Getenv("INSIDE") == t.Name() }

// TestWallNetworkHolds tries all ways to a service of this machine that a program
// with a network may think of, which is none but the proxy.
func TestWallNetworkHolds(t *testing.T) {
	target := unreachable(t)
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			c := inside(t, "TestInsideAttacks")
			c.Env["TARGET"], c.Env["MODE"] = strconv.Itoa(target.Addr().(*net.TCPAddr).Port), string(m)
			s := granting(t, m, func(address string) string {
				t.Errorf("dialed %s", address)
				return target.Addr().String()
			})
			if got, out := run(t, s, c); got.Exit != 0 {
				t.Errorf("%+v\n%s", got.Status, out)
			}
		})
	}
}

func TestInsideAttacks(t *testing.T) {
	if !isInside(t) {
		return // it is a program of TestWallNetworkHolds
	}
	port, _ := strconv.Atoi(os.Getenv("TARGET"))
	local := [4]byte{127, 0, 0, 1}
	target, proxy := &unix.SockaddrInet4{Port: port, Addr: local}, &unix.SockaddrInet4{Port: 3128, Addr: local}
	want := func(name string, err error, wanted ...error) {
		t.Helper()
		if os.Getenv("MODE") != "strong" && !slices.Contains(wanted, err) { // there the network is its own
			t.Errorf("%s: %v, want %v", name, err, wanted)
		}
	}
	for name, kind := range map[string][3]int{
		"udp": {unix.AF_INET, unix.SOCK_DGRAM, 0}, "udp6": {unix.AF_INET6, unix.SOCK_DGRAM, 0}, "unix": {unix.AF_UNIX, unix.SOCK_STREAM, 0},
		"netlink": {unix.AF_NETLINK, unix.SOCK_RAW, 0}, "mptcp": {unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP}, "raw": {unix.AF_INET, unix.SOCK_RAW, 1},
	} {
		_, err := unix.Socket(kind[0], kind[1], kind[2])
		want(name, err, unix.EPERM)
	}
	tcp := func() int {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
		if err != nil {
			t.Fatal(err)
		}
		return fd
	}
	want("connect", unix.Connect(tcp(), target), unix.ECONNREFUSED)
	want("far away", unix.Connect(tcp(), &unix.SockaddrInet4{Port: 80, Addr: [4]byte{192, 0, 2, 1}}), unix.ENETUNREACH)
	want("the proxy's port elsewhere", unix.Connect(tcp(), &unix.SockaddrInet4{Port: 3128, Addr: [4]byte{192, 0, 2, 1}}), unix.ENETUNREACH)
	want("bind", unix.Bind(tcp(), &unix.SockaddrInet4{Addr: local}), unix.EPERM)
	want("listen", unix.Listen(tcp(), 1), unix.EPERM)
	want("no socket", unix.Connect(0, proxy), unix.ENOTSOCK)
	want("no file", unix.Connect(999, proxy), unix.EBADF)
	connect := func(fd int, address *unix.RawSockaddrInet4, length uintptr) error {
		_, _, errno := unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(address)), length)
		return errno
	}
	want("no address", connect(tcp(), nil, 16), unix.EFAULT)
	want("short address", connect(tcp(), &unix.RawSockaddrInet4{}, 3), unix.EINVAL)

	fast := func(fd int) {
		_, err := unix.SendmsgN(fd, []byte("x"), nil, target, unix.MSG_FASTOPEN)
		want("sendmsg", err, unix.EOPNOTSUPP)
		want("sendto", unix.Sendto(fd, []byte("x"), unix.MSG_FASTOPEN, target), unix.EOPNOTSUPP)
		_, _, errno := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), 0, 1, unix.MSG_FASTOPEN|unix.MSG_DONTWAIT, 0, 0)
		want("sendmmsg", errno, unix.EOPNOTSUPP)
		want("option", unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_FASTOPEN_CONNECT, 1), unix.ENOPROTOOPT)
		want("connect fast", unix.Connect(fd, target), unix.ECONNREFUSED)
		_ = unix.Sendto(fd, []byte("x"), 0, target)
	}
	fast(tcp())
	want("options of IP", unix.SetsockoptString(tcp(), unix.IPPROTO_IP, unix.IP_OPTIONS, "\x83\x07\x04\x7f\x00\x00\x01"), unix.ENOPROTOOPT)
	want("another protocol", unix.SetsockoptString(tcp(), unix.IPPROTO_TCP, unix.TCP_ULP, "tls"), unix.ENOPROTOOPT)

	fd, before := tcp(), count(t)
	if err := unix.Connect(fd, proxy); err != nil {
		t.Fatal(err)
	}
	if now := count(t); now != before {
		t.Errorf("%d files are open, %d were", now, before)
	}
	if err := errors.Join(unix.SetsockoptInt(fd, unix.IPPROTO_TCP, unix.TCP_NODELAY, 1), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_KEEPALIVE, 1)); err != nil {
		t.Error(err)
	}
	where, _ := unix.Getpeername(fd)
	want("the proxy's door", unix.Connect(tcp(), where), unix.ECONNREFUSED)
	fast(fd)
	want("disconnecting", connect(fd, &unix.RawSockaddrInet4{}, 16), unix.EAFNOSUPPORT)
	want("a second time", unix.Connect(fd, target), unix.ECONNREFUSED)

	keeps(t, proxy)
	swaps(tcp, port)
}

// count is how many files the program has open.
func count(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

// keeps checks that the flags of a socket outlive its connecting.
func keeps(t *testing.T, proxy unix.Sockaddr) {
	t.Helper()
	for _, flags := range []int{0, unix.SOCK_NONBLOCK, unix.SOCK_CLOEXEC, unix.SOCK_NONBLOCK | unix.SOCK_CLOEXEC} {
		fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|flags, 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.Connect(fd, proxy); err != nil && err != unix.EINPROGRESS {
			t.Error(err)
		}
		status, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		own, _ := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
		if status&unix.O_NONBLOCK != flags&unix.SOCK_NONBLOCK || (own&unix.FD_CLOEXEC != 0) != (flags&unix.SOCK_CLOEXEC != 0) {
			t.Errorf("made with %#x, now %#x and %#x", flags, status, own)
		}
		unix.Close(fd)
	}
}

// swaps connects while other threads change the address and the socket.
func swaps(tcp func() int, port int) {
	at := &unix.RawSockaddrInet4{Family: unix.AF_INET, Addr: [4]byte{127, 0, 0, 1}}
	fd := tcp()
	var done atomic.Bool
	var all sync.WaitGroup
	swap := func(port int) { // atomic, so that what is found is one or the other
		word := (*uint32)(unsafe.Pointer(at))
		atomic.StoreUint32(word, uint32(unix.AF_INET)|uint32(port>>8)<<16|uint32(port&0xff)<<24)
	}
	all.Go(func() {
		for !done.Load() {
			swap(3128)
			swap(port)
		}
	})
	all.Go(func() {
		for !done.Load() {
			other := tcp()
			_ = unix.Dup3(other, fd, 0)
			unix.Close(other)
		}
	})
	for range 500 {
		_, _, _ = unix.Syscall(unix.SYS_CONNECT, uintptr(fd), uintptr(unsafe.Pointer(at)), 16)
		_, _ = unix.Write(fd, []byte("x"))
	}
	done.Store(true)
	all.Wait()
}

// TestWallNetworkIsItsOwn: another program of this machine finds the door, and it
// stays closed.
func TestWallNetworkIsItsOwn(t *testing.T) {
	c := newPlace(t).command(`exec 3<>/dev/tcp/127.0.0.1/3128; s=$(readlink /proc/self/fd/3); s=${s#*[}; echo "${s%]}"; read line`)
	c.Network = []string{"api.test"}
	p, err := granting(t, sandbox.Landlock, func(string) string { return "" }).Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	conn, err := net.Dial("tcp", peer(t, p.Stdout))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	fmt.Fprint(conn, "CONNECT api.test:443 HTTP/1.1\r\nHost: api.test\r\n\r\n")
	if answer, err := io.ReadAll(conn); len(answer) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("it answers %q, %v", answer, err)
	}
}

// peer is what a socket, whose number a program tells, is connected to.
func peer(t *testing.T, r io.Reader) string {
	t.Helper()
	number, err := bufio.NewReader(r).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	all, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for line := range strings.Lines(string(all)) {
		if strings.Contains(line, " "+strings.TrimSpace(number)+" ") {
			words = strings.Fields(line)
		}
	}
	if len(words) < 3 {
		t.Fatalf("the socket %q is connected to nothing:\n%s", number, all)
	}
	port, err := strconv.ParseUint(strings.TrimPrefix(words[2], "0100007F:"), 16, 16)
	if err != nil {
		t.Fatal(err)
	}
	return net.JoinHostPort("127.0.0.1", strconv.FormatUint(port, 10))
}

// TestWallNetworkClient is an everyday client, that makes many connections at once.
func TestWallNetworkClient(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "hello from "+r.Host) }))
	defer server.Close()
	for _, m := range walls {
		t.Run(string(m), func(t *testing.T) {
			s := granting(t, m, func(string) string { return server.Listener.Addr().String() })
			if got, out := run(t, s, inside(t, "TestInsideClient")); got.Exit != 0 {
				t.Errorf("%+v\n%s", got.Status, out)
			}
		})
	}
}

func TestInsideClient(t *testing.T) {
	if !isInside(t) {
		return // it is a program of TestWallNetworkClient
	}
	get := func(url string) (int, string, error) {
		r, err := http.Get(url)
		if err != nil {
			return 0, "", err
		}
		defer r.Body.Close()
		body, err := io.ReadAll(r.Body)
		return r.StatusCode, string(body), err
	}
	var all sync.WaitGroup
	for range 200 {
		all.Go(func() {
			if _, body, err := get("http://api.test/"); err != nil || body != "hello from api.test" {
				t.Error(body, err)
			}
		})
	}
	all.Wait()
	if code, body, err := get("http://other.test/"); code != http.StatusForbidden || !strings.Contains(body, "other.test is not among the hosts") {
		t.Error(code, body, err)
	}
}

// BenchmarkNetwork is what a connection to the proxy costs a program.
func BenchmarkNetwork(b *testing.B) {
	for _, m := range []sandbox.Mode{sandbox.Strong, sandbox.Landlock} {
		b.Run(string(m), func(b *testing.B) {
			c := inside(b, "none", "-test.bench=^BenchmarkInside$", "-test.benchtime="+strconv.Itoa(b.N)+"x")
			c.Env["INSIDE"] = "BenchmarkInside"
			s, err := sandbox.New(sandbox.Config{Mode: m, Dial: new(net.Dialer).DialContext})
			if err != nil {
				b.Fatal(err)
			}
			if got, err := s.Run(b.Context(), c); err != nil || got.Exit != 0 {
				b.Fatal(got, err)
			}
		})
	}
}

func BenchmarkInside(b *testing.B) {
	if os.Getenv("INSIDE") != b.Name() {
		b.SkipNow() // it is the program of BenchmarkNetwork
	}
	for range b.N {
		c, err := net.Dial("tcp", "127.0.0.1:3128")
		if err != nil {
			b.Fatal(err)
		}
		c.Close()
	}
}
