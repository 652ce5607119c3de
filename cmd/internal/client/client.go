// Package client speaks the API of a gateway, for the commands.
package client

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net"
	"net/http"
	"time"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/wire"
)

// Client talks to a gateway: a running one, or one in this process, which it reaches
// without a network.
type Client struct {
	// Where names the gateway for people: its URL, or "this process".
	Where string
	// Workspace is the folder of the gateway's workspace; empty if it is unknown.
	Workspace string
	// Language is the one that the person reads; empty means English.
	Language string

	url   string
	admin string // where the admin API is
	key   string
	http  *http.Client
}

// here is where a gateway in this process is.
const here = "this process"

// New returns a client of the gateway at a URL. Its admin API is at another one, or
// empty for the same.
func New(url, admin, key string) *Client {
	return &Client{Where: url, url: url, admin: cmp.Or(admin, url), key: key, http: &http.Client{}}
}

// Local returns a client of a gateway in this process: of its handler.
func Local(handler http.Handler, key string) *Client {
	c := New("http://localhost", "", key)
	c.Where, c.http.Transport = here, direct{handler}
	return c
}

// Here reports whether the gateway is in this process.
func (c *Client) Here() bool { return c.Where == here }

// Admin returns the address of the gateway's admin API, where the console is.
func (c *Client) Admin() string { return c.admin }

// HTTP returns the gateway's address, and what reaches it with the client's key.
func (c *Client) HTTP() (address string, web *http.Client) {
	return c.url, &http.Client{Transport: keyTransport{c.http, c.key}}
}

// keyTransport sends requests with a key.
type keyTransport struct {
	http *http.Client
	key  string
}

func (k keyTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	if k.key != "" {
		r.Header.Set("Authorization", "Bearer "+k.key)
	}
	resp, err := k.http.Do(r)
	if err != nil || resp.StatusCode < http.StatusBadRequest {
		return resp, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return nil, err
	}
	var p wire.Problem
	// Refusals of /mcp have a number for a code; the others of the protocol are its own answers.
	err = json.Unmarshal(body, &p)
	if p.Error.Message != "" && (err == nil || resp.StatusCode == http.StatusNotFound ||
		resp.StatusCode == http.StatusUnauthorized) {
		return nil, refusal(resp.StatusCode, p)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// Error is what a gateway answers instead of a result.
type Error struct {
	Status  int
	Message string
	// Code says for programs what went wrong.
	Code string
}

func (e *Error) Error() string { return e.Message }

// IsGateway reports whether an etui listens at a URL.
func IsGateway(ctx context.Context, url string) bool {
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

// Do sends a request and decodes the answer.
func (c *Client) Do(ctx context.Context, method, path string, body, into any) error {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(into); err != nil {
		return phrase.Errorf("the gateway at %s gave no JSON: %w", c.Where, err)
	}
	return nil
}

// Text returns what is at a path, as text.
func (c *Client) Text(ctx context.Context, path string) (string, error) {
	resp, err := c.send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return string(text), err
}

func (c *Client) send(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, cmp.Or(method, http.MethodGet), c.url+path, reader)
	operator := err == nil && server.AccessOf(req) == server.Operator
	if operator {
		req, err = http.NewRequestWithContext(ctx, req.Method, c.admin+path, reader)
	}
	if err != nil {
		return nil, err
	}
	if c.key != "" {
		req.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.Language != "" {
		req.Header.Set("Accept-Language", c.Language)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, phrase.Errorf("the gateway at %s does not answer: %w", c.Where, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var p wire.Problem
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&p) != nil || p.Error.Message == "" {
		return nil, phrase.Errorf("the gateway at %s answered with status %d", c.Where, resp.StatusCode)
	}
	if operator && p.Error.Code == wire.NoRoute {
		return nil, phrase.Errorf("the gateway at %s does not serve this there: operators use the address of its admin API, from its own machine; run the command in its workspace without --url", c.Where)
	}
	return nil, refusal(resp.StatusCode, p)
}

// In says what of the gateway's answer has a text in a language.
func (e *Error) In(lang string) string { return phrase.Reword(lang, e.Error()) }

func refusal(status int, p wire.Problem) *Error {
	if status == http.StatusUnauthorized {
		p.Error.Message += "; set ETUI_API_KEY to one"
	}
	return &Error{status, p.Error.Message, p.Error.Code}
}

// Status returns what runs, as operators read it.
func (c *Client) Status(ctx context.Context) (s api.Status, err error) {
	return s, c.Do(ctx, http.MethodGet, "/api/status", nil, &s)
}

// InForce reports whether a gateway with a status could use its configuration as it is now; the error
// says why not.
func InForce(s api.Status) error {
	if file := s.Configuration; file != nil && file.Error != "" {
		return phrase.Errorf("the gateway goes on with the rules and skills of %s, since the configuration changed and cannot be used: %s", file.Since.Format(time.DateTime), file.Error)
	}
	return nil
}

// Chat sends a message and yields what happens.
func (c *Client) Chat(ctx context.Context, m api.Message) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		m.StopWithConnection = true
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
				yield(api.Event{}, phrase.Errorf("the gateway at %s gave no JSON: %w", c.Where, err))
				return
			}
			if e.Error != "" {
				yield(api.Event{}, &Error{Message: e.Error, Code: e.Code})
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		switch err := lines.Err(); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			yield(api.Event{}, phrase.Errorf("the gateway at %s stopped before the reply was complete; it resumes the turn when it starts again", c.Where))
		case err != nil:
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
	req = req.WithContext(context.WithValue(req.Context(), http.LocalAddrContextKey,
		net.Addr(&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})))
	go func() {
		err := panics.Try(nil, "answering a request in this process",
			func() error { d.handler.ServeHTTP(w, req); return nil })
		if err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
		w.WriteHeader(http.StatusOK)
		_ = writer.CloseWithError(err) // a pipe's does not fail
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
