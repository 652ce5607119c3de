package sandbox

import (
	"bufio"
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox/internal/wire"
)

// proxy is an HTTP proxy for one program. It connects only to the hosts that the
// program was granted.
type proxy struct {
	listener net.Listener
	hosts    []string
	dial     func(ctx context.Context, network, address string) (net.Conn, error)
	ctx      context.Context //nolint:containedctx // ends with the proxy, as its connections do
	cancel   context.CancelFunc
	token    []byte // every connection begins with it; may be empty
	places   chan struct{}
	all      sync.WaitGroup

	mu      sync.Mutex
	refused []string // addresses that were not granted, each once
}

const (
	maxProxied  = 64               // connections at once; further ones wait
	maxRefused  = 10               // hosts that are reported; further ones are dropped
	proxyToken  = 5 * time.Second  // for the token, which comes with the connection
	proxyHeader = 30 * time.Second // for a request's header
)

// addProxy sets the variables by which programs find a proxy.
func addProxy(env map[string]string) {
	url := fmt.Sprintf("http://127.0.0.1:%d", wire.ProxyPort)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "ALL_PROXY", "all_proxy"} {
		env[name] = url
	}
	env["NO_PROXY"], env["no_proxy"] = "localhost,127.0.0.1,::1", "localhost,127.0.0.1,::1"
	env["NODE_USE_ENV_PROXY"] = "1"
}

// serveProxy serves on a listener that the helper made in the program's network. The
// token keeps other programs out where they can reach it.
func serveProxy(listener *os.File, token []byte, hosts []string,
	dial func(ctx context.Context, network, address string) (net.Conn, error)) (*proxy, error) {
	if listener == nil {
		return nil, errors.New("the helper sent no listener")
	}
	defer listener.Close()
	l, err := net.FileListener(listener)
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, token: token, hosts: hosts, dial: dial, places: make(chan struct{}, maxProxied)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.all.Go(func() {
		defer panics.Log(nil, "accepting connections of a program")
		p.accept()
	})
	return p, nil
}

// close ends all connections and returns the hosts that were refused. It does nothing
// on a nil proxy.
func (p *proxy) close() (refused []string) {
	if p == nil {
		return nil
	}
	p.cancel()
	p.listener.Close()
	p.all.Wait()
	return p.refused
}

// note records a refused host. A text that is no host is not repeated: the program
// could say anything with it.
func (p *proxy) note(host string) {
	if checkHost(host) != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.refused) < maxRefused && !slices.Contains(p.refused, host) {
		p.refused = append(p.refused, host)
	}
}

func (p *proxy) accept() {
	for {
		c, err := p.listener.Accept()
		if err != nil {
			return
		}
		select {
		case p.places <- struct{}{}:
		case <-p.ctx.Done():
			c.Close()
			return
		}
		p.all.Go(func() {
			defer panics.Log(nil, "serving a connection of a program")
			defer func() { <-p.places }()
			release := context.AfterFunc(p.ctx, func() { c.Close() })
			defer release()
			defer c.Close()
			if p.knows(c) {
				p.serve(c)
			}
		})
	}
}

// knows reports whether a connection begins with the token.
func (p *proxy) knows(c net.Conn) bool {
	_ = c.SetDeadline(time.Now().Add(proxyToken)) // reading a closed connection fails
	said := make([]byte, len(p.token))
	_, err := io.ReadFull(c, said)
	return err == nil && subtle.ConstantTimeCompare(said, p.token) == 1
}

// serve answers one request and connects it to its host.
func (p *proxy) serve(c net.Conn) {
	_ = c.SetDeadline(time.Now().Add(proxyHeader)) // reading a closed connection fails
	head := &io.LimitedReader{R: c, N: 64 << 10}
	in := bufio.NewReader(head)
	req, err := http.ReadRequest(in)
	head.N = math.MaxInt64 // a body may be longer
	if err != nil {
		refuse(c, http.StatusBadRequest, "this is an HTTP proxy")
		return
	}
	host := req.URL.Host
	if req.Method == http.MethodConnect {
		host = req.Host
	} else if req.URL.Scheme != "http" {
		refuse(c, http.StatusBadRequest, "this is an HTTP proxy")
		return
	}
	address := withPort(host, req.Method == http.MethodConnect)
	if !granted(p.hosts, address) {
		p.note(address)
		refuse(c, http.StatusForbidden,
			fmt.Sprintf("%s is not among the hosts that this program may reach: %s", host, printable.List(p.hosts)))
		return
	}
	out, err := p.dial(p.ctx, "tcp", address)
	if err != nil {
		refuse(c, http.StatusBadGateway, fmt.Sprintf("%s cannot be reached: %v", host, err))
		return
	}
	defer out.Close()
	release := context.AfterFunc(p.ctx, func() { out.Close() })
	defer release()
	_ = c.SetDeadline(time.Time{})
	if req.Method == http.MethodConnect {
		if _, err := io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
			return
		}
		tunnel(c, io.MultiReader(buffered(in), c), out)
		return
	}
	forward(c, req, out)
}

// buffered returns the bytes that were read beyond the request.
func buffered(in *bufio.Reader) io.Reader { return io.LimitReader(in, int64(in.Buffered())) }

// tunnel copies bytes both ways until both ends have closed.
func tunnel(c net.Conn, in io.Reader, out net.Conn) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer panics.Log(nil, "copying for a program")
		_, _ = io.Copy(out, in) // either end may close at any time
		closeWrite(out)
	}()
	_, _ = io.Copy(c, out)
	closeWrite(c)
	<-done
}

func closeWrite(c net.Conn) {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite() // either end may close at any time
		return
	}
	c.Close()
}

// forward sends one request and returns its answer. The next request needs a new
// connection, which is checked again.
func forward(c net.Conn, req *http.Request, out net.Conn) {
	for _, name := range []string{"Proxy-Connection", "Proxy-Authorization", "Connection"} {
		req.Header.Del(name)
	}
	req.Close = true
	if err := req.Write(out); err != nil {
		refuse(c, http.StatusBadGateway, "the connection was lost")
		return
	}
	_, _ = io.Copy(c, out) // either end may close at any time
}

// refuse answers with the reason, also in the status line: programs show nothing else
// of an answer to CONNECT.
func refuse(c net.Conn, code int, why string) {
	why = strings.ToValidUTF8(strings.NewReplacer("\r", " ", "\n", " ").Replace(why), "?")
	fmt.Fprintf(c, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s\n", code, why, len(why)+1, why)
}
