package server_test

import (
	"context"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/model/fake"
	"github.com/etui-run/etui/server"
)

// serve serves a handler until end is called, and returns what connects to it.
func serve(h http.Handler) (connect func() net.Conn, end func()) {
	p := pipes{make(chan net.Conn)}
	web := &http.Server{Handler: h} //nolint:gosec // the deadlines of the handler are what is tested
	go func() { _ = web.Serve(p) }()
	return func() net.Conn {
			here, there := net.Pipe()
			p.connections <- there
			return here
		}, func() {
			close(p.connections)
			_ = web.Close()
			synctest.Wait()
		}
}

func post(path, body string, length int) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer right\r\n"+
		"Content-Length: %d\r\n\r\n%s", path, length, body)
}

// doors are requests to each of the APIs that run turns.
var doors = map[string]string{
	"/v1/chat/completions": `{"model":"main","stream":true,"messages":[{"role":"user","content":"hi"}]}`,
	"/v1/completions":      `{"model":"main","prompt":"hi"}`,
	"/v1/responses":        `{"model":"main","stream":true,"store":false,"input":"hi"}`,
	"/v1/messages":         `{"model":"main","max_tokens":5,"messages":[{"role":"user","content":"hi"}]}`,
}

// TestHalfOpen: connections whose requests do not end change nothing for others, and are closed.
func TestHalfOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := make([]fake.Step, len(doors))
		for i := range steps {
			steps[i].Text = "done"
		}
		connect, end := serve(newServer(t, server.Config{Key: "right"}, func(c *engine.Config) {
			c.Registry = catalog.NewRegistry(nil)
			c.Agents[0].Model = fake.New(steps...)
		}))
		defer end()
		var refused atomic.Int32
		var open sync.WaitGroup
		for path := range doors {
			for range 250 {
				c := connect()
				open.Go(func() {
					_, _ = io.WriteString(c, post(path, `{"mod`, 1<<20))
					if answer, _ := io.ReadAll(c); strings.HasPrefix(string(answer), "HTTP/1.1 408") {
						refused.Add(1)
					}
				})
			}
		}
		synctest.Wait()
		began := time.Now()
		for path, body := range doors {
			c := connect()
			go func() { _, _ = io.WriteString(c, post(path, body, len(body))) }()
			if answer, _ := io.ReadAll(c); !strings.Contains(string(answer), "done") || time.Since(began) > time.Second {
				t.Errorf("%s answers %q after %v", path, answer, time.Since(began))
			}
		}
		open.Wait()
		if refused.Load() != 1000 || time.Since(began) > time.Minute {
			t.Errorf("%d are refused after %v", refused.Load(), time.Since(began))
		}
	})
}

// endless is a model that answers when nobody waits any more.
type endless struct {
	asked chan struct{}
	gone  chan struct{}
}

func (endless) Info() model.Info { return model.Info{Name: "endless"} }

func (e endless) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		e.asked <- struct{}{}
		<-ctx.Done()
		e.gone <- struct{}{}
		yield(model.Event{}, ctx.Err())
	}
}

// TestVanishedClients: a client that goes away ends its turn, through each of the APIs.
func TestVanishedClients(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := endless{make(chan struct{}), make(chan struct{})}
		connect, end := serve(newServer(t, server.Config{Key: "right"}, func(c *engine.Config) {
			c.Registry = catalog.NewRegistry(nil)
			c.Agents[0].Model = m
		}))
		defer end()
		for path, body := range doors {
			c := connect()
			go func() { _, _ = io.WriteString(c, post(path, body, len(body))) }()
			go func() { _, _ = io.Copy(io.Discard, c) }()
			<-m.asked
			began := time.Now()
			_ = c.Close()
			if <-m.gone; time.Since(began) > 11*time.Second {
				t.Errorf("%s: the turn ends after %v", path, time.Since(began))
			}
		}
	})
}
