package modeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/etui-run/etui/model"
)

// Key is the API key that the servers accept.
const Key = "sk-modeltest-0815-4711"

// Server plays a script in place of a provider, one reply per valid request. It is
// safe for concurrent use, but concurrent requests get their replies in no particular
// order.
type Server struct {
	// URL is the server's address; empty without a protocol.
	URL string

	protocol protocol
	listener *httptest.Server
	client   *http.Transport
	closing  context.CancelFunc
	closed   context.Context //nolint:containedctx // ends with the server
	gone     chan struct{}

	mu       sync.Mutex
	script   []Reply
	requests []Request
	problems []string
}

// Request is a request that the server received.
type Request struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// protocol is a provider's protocol.
type protocol interface {
	// base is the path of an adapter's base URL.
	base() string
	// check returns what is wrong with a request, and the HTTP status for it.
	check(Request) (status int, err error)
	// fail writes an error's body.
	fail(Reply) []byte
	// answer writes an answer up to the end of its text; end writes the rest.
	answer(*stream, Reply)
	end(*stream, Reply)
	// late writes an error in the middle of an answer.
	late(*stream, Reply)
	// cached returns the part of a body that a prompt cache compares.
	cached(body []byte) []byte
}

// Protocol starts a server that plays a script: [OpenAI], [Anthropic] or
// [Direct].
type Protocol func(script ...Reply) *Server

// Direct returns a server without a protocol. Models without one, such as package
// fake's, play its Script, and the suite skips its HTTP cases.
func Direct(script ...Reply) *Server {
	return &Server{script: script, closing: func() {}}
}

// serve starts a server on a free local port.
func serve(p protocol, script []Reply) *Server {
	s := &Server{protocol: p, script: script, gone: make(chan struct{}, 1024),
		client: http.DefaultTransport.(*http.Transport).Clone()}
	s.closed, s.closing = context.WithCancel(context.Background())
	s.client.Proxy = nil
	s.listener = httptest.NewServer(s)
	s.URL = s.listener.URL + p.base()
	return s
}

// Close stops the server and closes its connections. It may be called twice.
func (s *Server) Close() {
	s.closing()
	if s.listener != nil {
		s.client.CloseIdleConnections()
		s.listener.Close()
	}
}

// Transport returns a transport for this server: it retries after a millisecond, and
// Close closes its connections.
func (s *Server) Transport() http.RoundTripper {
	return model.Transport(model.TransportConfig{Wait: time.Millisecond, Base: s.client})
}

// Script returns the replies that have not been played.
func (s *Server) Script() []Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.script)
}

// Requests returns the requests so far, oldest first, including refused ones.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Problems returns what was wrong with the requests: violations that the provider
// would reject, and requests without a reply in the script. A test expects none.
func (s *Server) Problems() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.problems)
}

// Gone receives once per reply with Hold after its client has disconnected.
func (s *Server) Gone() <-chan struct{} { return s.gone }

// Kept returns how much of a request a prompt cache can reuse for the next one: the
// smallest share of a request's bytes that is a prefix of the next request, from 0 to
// 1. With fewer than two requests it is 1.
func (s *Server) Kept() float64 {
	kept := 1.0
	requests := s.Requests()
	for i := 1; i < len(requests); i++ {
		before, after := s.protocol.cached(requests[i-1].Body), s.protocol.cached(requests[i].Body)
		same := 0
		for same < min(len(before), len(after)) && before[same] == after[same] {
			same++
		}
		kept = min(kept, float64(same)/float64(max(len(before), 1)))
	}
	return kept
}

// ServeHTTP answers a request according to the script.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has disconnected
	}
	req := Request{r.Method, r.URL.Path, r.Header.Clone(), body}
	reply := s.next(req)
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	switch {
	case reply.Raw != "":
		s.raw(w, reply)
	case reply.Status >= http.StatusBadRequest && !reply.Late:
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(reply.Status)
		_, _ = w.Write(s.protocol.fail(reply)) // the client may have disconnected
	default:
		s.stream(w, r, reply)
	}
}

// next records and checks a request, and takes its reply.
func (s *Server) next(req Request) Reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, req)
	status, err := s.protocol.check(req)
	if err == nil && len(s.script) == 0 {
		status, err = http.StatusNotImplemented, errors.New("the script has no reply left")
	}
	if err != nil {
		if status != http.StatusUnauthorized {
			s.problems = append(s.problems, fmt.Sprintf("request %d: %v", len(s.requests), err))
		}
		return Reply{Status: status, Message: err.Error()}
	}
	reply := s.script[0]
	s.script = s.script[1:]
	if reply.TooLong {
		reply.Status = http.StatusBadRequest
	}
	return reply
}

func (s *Server) raw(w http.ResponseWriter, reply Reply) {
	kind := reply.Type
	if kind == "" {
		kind = "text/event-stream"
	}
	w.Header().Set("Content-Type", kind)
	if reply.Status != 0 {
		w.WriteHeader(reply.Status)
	}
	(&stream{w, reply.Split}).send([]byte(reply.Raw))
	if reply.Drop {
		panic(http.ErrAbortHandler)
	}
}

// stream sends an answer event by event.
func (s *Server) stream(w http.ResponseWriter, r *http.Request, reply Reply) {
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	out := &stream{w, reply.Split}
	s.protocol.answer(out, reply)
	switch {
	case reply.Late:
		s.protocol.late(out, reply)
	case reply.Drop:
		panic(http.ErrAbortHandler)
	case reply.Hold:
		select {
		case <-r.Context().Done():
			s.gone <- struct{}{}
		case <-s.closed.Done():
		}
	default:
		s.protocol.end(out, reply)
	}
}

// stream writes to a client; after the client disconnects it does nothing.
type stream struct {
	http.ResponseWriter
	split int
}

func (s *stream) send(raw []byte) {
	size := s.split
	if size <= 0 {
		size = max(len(raw), 1)
	}
	for part := range slices.Chunk(raw, size) {
		_, _ = s.Write(part)
		_ = http.NewResponseController(s.ResponseWriter).Flush()
	}
}

// event sends a server-sent event; name may be empty.
func (s *stream) event(name string, data any) {
	var b bytes.Buffer
	if name != "" {
		fmt.Fprintf(&b, "event: %s\n", name)
	}
	fmt.Fprintf(&b, "data: %s\n\n", marshal(data))
	s.send(b.Bytes())
}
