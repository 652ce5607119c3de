// Package platformtest is the base of servers that speak a platform's protocol in tests: it
// waits for changes, delivers what is not acknowledged, through a WebSocket or by requests,
// drops connections, and lets calls fail. A platform's own server adds the answers to calls.
package platformtest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Object is JSON.
type Object = map[string]any

// Server is a server without answers. Its methods are safe for concurrent use.
type Server struct {
	// URL is the server's address, and Client reaches it.
	URL    string
	Client *http.Client
	// Mux has the routes, which a platform's server adds.
	Mux *http.ServeMux
	// Same has the calls that fail as another one is to fail.
	Same map[string]string

	http *httptest.Server

	mu        sync.Mutex
	changed   chan struct{} // closed when something changes
	closed    bool
	serial    int
	faults    map[string][]func(http.ResponseWriter)
	calls     map[string][]Call
	queue     []*Delivery
	conns     []*websocket.Conn
	connected int
	posting   sync.WaitGroup
}

// Start starts a server. The caller closes it.
func Start() *Server {
	s := &Server{
		Client: &http.Client{Transport: &http.Transport{}}, Mux: http.NewServeMux(), Same: map[string]string{},
		changed: make(chan struct{}), faults: map[string][]func(http.ResponseWriter){}, calls: map[string][]Call{},
	}
	s.http = httptest.NewServer(s.Mux)
	s.URL = s.http.URL
	return s
}

// Close ends the server.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	s.Touch()
	s.mu.Unlock()
	s.Cut()
	s.posting.Wait()
	s.http.Close()
}

// Cut ends all connections. The client forgets those that it kept, or its next request might be
// sent into one that is just ending.
func (s *Server) Cut() {
	s.mu.Lock()
	for _, c := range s.conns {
		_ = c.CloseNow()
	}
	s.conns = nil
	s.mu.Unlock()
	s.http.CloseClientConnections()
	s.Client.CloseIdleConnections()
}

// Hold locks the server and returns what unlocks it.
func (s *Server) Hold() (release func()) {
	s.mu.Lock()
	return s.mu.Unlock
}

// Touch wakes those who wait for a change. The caller holds the server.
func (s *Server) Touch() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Changed is closed with the next change. The caller holds the server.
func (s *Server) Changed() <-chan struct{} { return s.changed }

// Next returns a new number, from 1. The caller holds the server.
func (s *Server) Next() int {
	s.serial++
	return s.serial
}

var errClosed = errors.New("the server is closed")

// Wait waits until done is true, which it asks after every change, or until the server is
// closed.
func (s *Server) Wait(ctx context.Context, done func() bool) error {
	for {
		s.mu.Lock()
		changed, closed := s.changed, s.closed
		s.mu.Unlock()
		switch {
		case done():
			return nil
		case closed:
			return errClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// FailNext lets the next call with a name fail, in the order of the failures.
func (s *Server) FailNext(call string, answer func(w http.ResponseWriter)) {
	defer s.Hold()()
	s.faults[call] = append(s.faults[call], answer)
}

// Failed answers a call that is to fail, and reports whether it was. The caller holds the
// server.
func (s *Server) Failed(w http.ResponseWriter, call string) bool {
	call = cmp.Or(s.Same[call], call)
	faults := s.faults[call]
	if len(faults) == 0 {
		return false
	}
	s.faults[call] = faults[1:]
	faults[0](w)
	return true
}

// Handler answers a call with a status and JSON, or with a [File]. It holds the server. The body is
// nil if it is no JSON.
type Handler = func(r *http.Request, body Object) (status int, answer any)

// File is an answer that is no JSON.
type File struct {
	Type string
	Data []byte
}

// Call is a call of an API.
type Call struct {
	Query url.Values
	Body  Object
}

// Routes lets handlers answer the calls of an API below a prefix, by patterns such as
// "GET posts/{post}". Guard answers calls that are refused, and 0 to all others.
func (s *Server) Routes(prefix string, routes map[string]Handler, guard Handler) {
	for pattern, handle := range routes {
		method, path, _ := strings.Cut(pattern, " ")
		s.Mux.HandleFunc(method+" "+prefix+path, func(w http.ResponseWriter, r *http.Request) {
			raw, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(raw))
			var body Object
			_ = json.Unmarshal(raw, &body)
			call := r.Method + " " + strings.TrimPrefix(r.URL.Path, prefix)
			defer s.Hold()()
			defer s.Touch()
			s.calls[call] = append(s.calls[call], Call{r.URL.Query(), body})
			if call != pattern {
				s.calls[pattern] = append(s.calls[pattern], Call{r.URL.Query(), body})
			}
			status, answer := guard(r, body)
			if status == 0 {
				if s.Failed(w, call) || s.Failed(w, pattern) {
					return
				}
				status, answer = handle(r, body)
			}
			if f, ok := answer.(File); ok {
				w.Header().Set("Content-Type", f.Type)
				_, _ = w.Write(f.Data) // the client may be gone
				return
			}
			Answer(w, status, answer)
		})
	}
}

// Called returns the calls of a pattern, or of a method and a path, oldest first.
func (s *Server) Called(call string) []Call {
	defer s.Hold()()
	return slices.Clone(s.calls[call])
}

// Answer answers with JSON.
func Answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the client may be gone
}

// Refuse answers with an error: JSON, or the page of a proxy if it is nil. The client is to wait for
// so many seconds, if any.
func Refuse(w http.ResponseWriter, status, wait int, v any) {
	if wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(wait))
	}
	if v == nil {
		http.Error(w, "the server is away", status)
		return
	}
	Answer(w, status, v)
}

// Request returns a request to the program that is tested.
func Request(ctx context.Context, method, to, contentType string, body []byte) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, to, bytes.NewReader(body))
	if err != nil {
		panic(err) // the test's own URL
	}
	r.Header.Set("Content-Type", contentType)
	return r
}

// Copies returns copies of the values that are wanted.
func Copies[T any](list []*T, wanted func(v *T) bool) (copies []T) {
	for _, v := range list {
		if wanted(v) {
			copies = append(copies, *v)
		}
	}
	return copies
}

// Find returns the first value that is wanted; nil if there is none.
func Find[T any](list []*T, wanted func(v *T) bool) *T {
	if i := slices.IndexFunc(list, wanted); i >= 0 {
		return list[i]
	}
	return nil
}

// Delivery is something that the platform delivers until it is acknowledged.
type Delivery struct {
	ID, Kind string
	Payload  any

	server *Server
	sent   int
	acked  bool
	answer []byte
}

// Sent returns how often it was sent.
func (d *Delivery) Sent() int {
	defer d.server.Hold()()
	return d.sent
}

// Acknowledged reports whether it was taken.
func (d *Delivery) Acknowledged() bool {
	defer d.server.Hold()()
	return d.acked
}

// Answer returns what came with the acknowledgement.
func (d *Delivery) Answer() string {
	defer d.server.Hold()()
	return string(d.answer)
}

// Queue delivers something. The caller holds the server.
func (s *Server) Queue(d *Delivery) *Delivery {
	d.server = s
	s.queue = append(s.queue, d)
	s.Touch()
	return d
}

// Deliveries returns all that was to be delivered. The caller holds the server.
func (s *Server) Deliveries() []*Delivery { return s.queue }

// Open returns what is not acknowledged. The caller holds the server.
func (s *Server) Open() (open []*Delivery) {
	for _, d := range s.queue {
		if !d.acked {
			open = append(open, d)
		}
	}
	return open
}

// Delivery returns the nth thing that was to be delivered, from 0.
func (s *Server) Delivery(n int) *Delivery {
	defer s.Hold()()
	return s.queue[n]
}

// Again delivers once more what was delivered last, before anything later.
func (s *Server) Again() {
	defer s.Hold()()
	s.queue[len(s.queue)-1].acked = false
	s.Touch()
}

// Acknowledge notes that a delivery was taken. The caller holds the server.
func (s *Server) Acknowledge(id string, answer []byte) {
	i := slices.IndexFunc(s.queue, func(d *Delivery) bool { return d.ID == id })
	if i >= 0 {
		s.queue[i].acked, s.queue[i].answer = true, answer
	}
	s.Touch()
}

// Post delivers by requests, one after another, until the server is closed. Each one is sent
// until it is taken. Request makes the request of a delivery that was sent n times before.
func (s *Server) Post(request func(d *Delivery, n int) *http.Request) {
	s.posting.Go(func() {
		for {
			var next *Delivery
			n := 0
			err := s.Wait(context.Background(), func() bool {
				defer s.Hold()()
				open := s.Open()
				if len(open) == 0 {
					return false
				}
				next, n = open[0], open[0].sent
				return true
			})
			s.mu.Lock()
			if next != nil {
				next.sent++
			}
			closed := s.closed
			s.mu.Unlock()
			if err != nil || closed {
				return
			}
			if status, answer, err := s.Do(request(next, n)); err == nil && status == http.StatusOK {
				s.mu.Lock()
				s.Acknowledge(next.ID, answer)
				s.mu.Unlock()
				continue
			}
			<-time.After(5 * time.Millisecond) // it is not ready yet
		}
	})
}

// Do makes a request to the program that is tested.
func (s *Server) Do(r *http.Request) (status int, answer []byte, err error) {
	res, err := s.Client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	return res.StatusCode, answer, err
}

// Accept opens a WebSocket, which Cut ends; nil if the client does not want one.
func (s *Server) Accept(w http.ResponseWriter, r *http.Request) *websocket.Conn {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil
	}
	conn.SetReadLimit(1 << 20)
	defer s.Hold()()
	s.conns = append(s.conns, conn)
	s.connected++
	s.Touch()
	return conn
}

// Conns returns the WebSockets that are open, the oldest first.
func (s *Server) Conns() []*websocket.Conn {
	defer s.Hold()()
	return slices.Clone(s.conns)
}

// Connected returns how many WebSockets there have been.
func (s *Server) Connected() int {
	defer s.Hold()()
	return s.connected
}

// Stream delivers through a WebSocket until it ends, again after some milliseconds. Send sends
// a delivery that was sent n times before, and hear takes what the client says.
func (s *Server) Stream(
	r *http.Request, conn *websocket.Conn,
	send func(ctx context.Context, d *Delivery, n int), hear func(ctx context.Context, data []byte),
) {
	defer func() { _ = conn.CloseNow() }()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		for {
			_, data, err := conn.Read(ctx)
			if err != nil {
				return
			}
			hear(ctx, data)
		}
	}()
	here := map[*Delivery]bool{} // what was sent on this connection
	for {
		s.mu.Lock()
		open := s.Open()
		due := slices.DeleteFunc(slices.Clone(open), func(d *Delivery) bool { return here[d] })
		counts := make([]int, len(due))
		for i, d := range due {
			here[d], counts[i] = true, d.sent
			d.sent++
		}
		if len(due) > 0 {
			s.Touch()
		}
		changed := s.changed
		s.mu.Unlock()
		for i, d := range due {
			send(ctx, d, counts[i])
		}
		again := make(<-chan time.Time)
		if len(open) > 0 {
			again = time.After(20 * time.Millisecond)
		}
		select {
		case <-changed:
		case <-again:
			clear(here)
		case <-gone:
			return
		}
	}
}

// Write sends JSON through a WebSocket.
func Write(ctx context.Context, conn *websocket.Conn, v any) {
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("a message of a test: %v", err))
	}
	_ = conn.Write(ctx, websocket.MessageText, text) // the client may be gone
}
