package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/wire"
)

// client talks to a gateway: one that runs, or one that was made for this
// command and is reached without a network.
type client struct {
	url   string
	admin string // where the admin API is
	key   string
	http  *http.Client
	where string // for people: the URL, or "this process"
	close func() error
}

// thisProcess is where a gateway is that was made for a command.
const thisProcess = "this process"

// connect finds the gateway for a command. With --url it is that one; else the
// one that serves the workspace, if it runs; else, where no workspace is named and
// this folder is none, the one on the default address; else one is made in this
// process. Stored says whether the command changes the workspace's state.
func (a *app) connect(ctx context.Context, stored bool) (*client, error) {
	nothing := func() error { return nil }
	if a.url != "" {
		u, err := url.Parse(a.url)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, usagef("--url %q is no address such as http://127.0.0.1:3884", a.url)
		}
		at := strings.TrimSuffix(a.url, "/")
		return &client{url: at, admin: at, key: os.Getenv("ETUI_API_KEY"), http: &http.Client{}, where: a.url, close: nothing}, nil
	}
	w, err := a.open()
	if err != nil {
		return nil, err
	}
	remote := func(url, admin string) *client {
		return &client{url: url, admin: cmp.Or(admin, url), key: string(w.config.API.Key), http: &http.Client{}, where: url, close: nothing}
	}
	if i := running(w.state); i.URL != "" {
		return remote(i.URL, i.Admin), nil
	}
	if a.workspace == "" && !w.found && !w.hasSkills() {
		if url := "http://" + w.config.Listen; isGateway(ctx, url) {
			return remote(url, ""), nil
		}
	}
	var unlock func() error
	if stored {
		if unlock, err = lockState(w.state, "", ""); err != nil {
			return nil, err
		}
	}
	w.config.Log.Level = quieter(w.config.Log.Level)
	b, err := a.build(ctx, w, stored, a.logger(w.config.Log))
	if err != nil {
		if unlock != nil {
			err = errors.Join(err, unlock())
		}
		return nil, err
	}
	return &client{
		url: "http://localhost", admin: "http://localhost", key: string(w.config.API.Key), where: thisProcess,
		http: &http.Client{Transport: direct{b.server}},
		close: func() error {
			err := b.Close()
			if unlock != nil {
				err = errors.Join(err, unlock())
			}
			return err
		},
	}, nil
}

// quieter leaves out what only a server's operator wants to read.
func quieter(level string) string {
	if level == "info" {
		return "warn"
	}
	return level
}

// isGateway reports whether an etui listens at a URL.
func isGateway(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var h server.Health
	return json.NewDecoder(io.LimitReader(resp.Body, 1<<16)).Decode(&h) == nil && h.Service == "etui"
}

// do sends a request and decodes the answer.
func (c *client) do(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return fmt.Errorf("the gateway at %s gave no JSON: %w", c.where, err)
	}
	return nil
}

func (c *client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(raw)
	}
	base := c.url
	if strings.HasPrefix(path, "/admin/") {
		base = c.admin
	}
	req, err := http.NewRequestWithContext(ctx, method, base+path, reader)
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("the gateway at %s does not answer: %w", c.where, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var p wire.Problem
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&p) != nil || p.Error.Message == "" {
		return nil, fmt.Errorf("the gateway at %s answered with status %d", c.where, resp.StatusCode)
	}
	if resp.StatusCode == http.StatusNotFound {
		return nil, usagef("%s", p.Error.Message)
	}
	return nil, errors.New(p.Error.Message)
}

// inForce reports whether the gateway could use its configuration as it is now;
// the error says why not.
func (c *client) inForce(ctx context.Context) error {
	var s api.Status
	if err := c.do(ctx, http.MethodGet, "/api/status", nil, &s); err != nil {
		return err
	}
	if file := s.Configuration; file != nil && file.Error != "" {
		return fmt.Errorf("the gateway goes on with the rules and skills of %s, since the configuration changed and cannot be used: %s", file.Since.Format(time.DateTime), file.Error)
	}
	return nil
}

// chat sends a message and yields what happens.
func (c *client) chat(ctx context.Context, m api.Message) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.send(ctx, http.MethodPost, "/api/chat", m)
		if err != nil {
			yield(api.Event{}, err)
			return
		}
		defer resp.Body.Close()
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(make([]byte, 64<<10), 64<<20)
		for lines.Scan() {
			var e api.Event
			if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
				yield(api.Event{}, fmt.Errorf("the gateway at %s gave no JSON: %w", c.where, err))
				return
			}
			if e.Error != "" {
				yield(api.Event{}, errors.New(e.Error))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(api.Event{}, err)
		}
	}
}

// direct is a transport that calls a handler in this process, as if the request
// had come over a loopback address.
type direct struct{ handler http.Handler }

func (d direct) RoundTrip(req *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	w := &response{body: writer, header: http.Header{}, begun: make(chan struct{})}
	if req.Body == nil {
		req.Body = http.NoBody
	}
	req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey, net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})))
	go func() {
		d.handler.ServeHTTP(w, req)
		w.WriteHeader(http.StatusOK)
		_ = writer.Close() // a pipe's Close does not fail
	}()
	select {
	case <-w.begun:
	case <-req.Context().Done():
		_ = reader.Close() // the handler must not wait for a reader; a pipe's Close does not fail
		return nil, req.Context().Err()
	}
	return &http.Response{
		Status: http.StatusText(w.status), StatusCode: w.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: reader, Request: req, ContentLength: -1,
	}, nil
}

// response is what the handler writes to. Only its goroutine uses it, but for
// what is set before begun is closed.
type response struct {
	body   *io.PipeWriter
	header http.Header
	sent   http.Header
	status int
	begun  chan struct{}
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	if r.status == 0 {
		r.status, r.sent = status, r.header.Clone()
		close(r.begun)
	}
}

func (r *response) Write(p []byte) (int, error) {
	r.WriteHeader(http.StatusOK)
	return r.body.Write(p)
}

// Flush implements http.Flusher: nothing is held back.
func (r *response) Flush() { r.WriteHeader(http.StatusOK) }
