package login

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/etui-run/etui/internal/panics"
)

// handTime is how long a browser is awaited.
const handTime = 20 * time.Second

// Hand opens a link that is a secret, as [Browse] does. On Linux other users read the arguments of programs, so
// the browser gets the address of a page that sends it on, once, and answers programs of this user alone. Hand ends
// when the browser has the link, cannot be started or does not come within 20 seconds.
func Hand(ctx context.Context, link string) error {
	path, err := exec.LookPath("xdg-open")
	if runtime.GOOS != "linux" || err != nil {
		Browse(ctx, link)
		return nil
	}
	page, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return err
	}
	waiting, done := context.WithTimeout(ctx, handTime)
	defer done()
	secret := "/" + rand.Text()
	server := &http.Server{
		ReadHeaderTimeout: 5 * time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != secret || !mine(r.RemoteAddr, page.Addr().String()) {
				http.NotFound(w, r)
				return
			}
			w.Header().Set("Cache-Control", "no-store")
			http.Redirect(w, r, link, http.StatusSeeOther)
			done()
		}),
	}
	go func() {
		defer panics.Log(nil, "handing a link to the browser")
		_ = server.Serve(page) // until Shutdown
	}()
	browser := exec.CommandContext(context.WithoutCancel(ctx), path, "http://"+page.Addr().String()+secret)
	err = browser.Start()
	if err == nil {
		go func() {
			defer panics.Log(nil, "opening a browser")
			if browser.Wait() != nil { // no browser came
				done()
			}
		}()
		<-waiting.Done()
	}
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer stop()
	return errors.Join(err, server.Shutdown(last))
}

// mine reports whether a program of this user has the end of a connection over IPv4, as /proc/net/tcp says.
// One end can have connections that are over, whose user is unknown, so the other end counts, too. The kernel
// writes the table in pieces, and can leave out a line while others come and go.
func mine(from, to string) bool {
	from, to = end(from), end(to)
	for range 5 {
		table, err := os.ReadFile("/proc/net/tcp") //nolint:forbidigo // the kernel's own
		if err != nil {
			return false
		}
		for line := range strings.Lines(string(table)) {
			// The number, this end, the other end, the state, queues, a timer, tries, the user.
			if f := strings.Fields(line); len(f) > 7 && f[1] == from && f[2] == to {
				return f[7] == strconv.Itoa(os.Getuid())
			}
		}
	}
	return false
}

// end is an address as the kernel writes it.
func end(address string) string {
	at, err := netip.ParseAddrPort(address)
	if err != nil || !at.Addr().Is4() {
		return ""
	}
	ip := at.Addr().As4()
	return fmt.Sprintf("%08X:%04X", binary.NativeEndian.Uint32(ip[:]), at.Port())
}
