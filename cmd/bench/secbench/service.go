package main

import (
	"compress/gzip"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// benchAnswerOf says how the service of a case answers: with Body, or, if Gen names a
// kind of malformed answer, with that.
type benchAnswerOf struct {
	Status   int            `json:"status"`
	Type     *string        `json:"content_type"` // empty: none at all
	Body     string         `json:"body"`
	Location string         `json:"location"`
	Gen      string         `json:"body_gen"`
	Gzip     bool           `json:"gzip"`
	Close    bool           `json:"close"`
	Then     *benchAnswerOf `json:"then"` // to all requests but the first
}

// benchService is an HTTP service that misbehaves as its case says.
type benchService struct {
	address string
	server  *http.Server
	answer  benchAnswerOf

	mu   sync.Mutex
	sent []http.Header
}

func startBenchService(ctx context.Context, answer *benchAnswerOf) (*benchService, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp4", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &benchService{address: l.Addr().String()}
	if answer != nil {
		s.answer = *answer
	}
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// dial connects to the service, whatever address was asked for.
func (s *benchService) dial(ctx context.Context, _ netip.AddrPort) (net.Conn, error) {
	return new(net.Dialer).DialContext(ctx, "tcp", s.address)
}

func (s *benchService) stop() { _ = s.server.Close() }

// seen are the headers of the requests so far.
func (s *benchService) seen() []http.Header {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sent
}

// ServeHTTP answers a request.
func (s *benchService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.sent = append(s.sent, r.Header)
	again := len(s.sent) > 1
	s.mu.Unlock()
	a := s.answer
	if a.Then != nil && again {
		a = *a.Then
	}
	a.write(w, r)
}

func (a benchAnswerOf) write(w http.ResponseWriter, r *http.Request) {
	if a.Close || a.Gen == "endless_headers" || a.Gen == "short_body" {
		a.hijack(w)
		return
	}
	if a.Location != "" {
		w.Header().Set("Location", a.Location)
	}
	if a.Type != nil {
		w.Header()["Content-Type"] = nil
		if *a.Type != "" {
			w.Header().Set("Content-Type", *a.Type)
		}
	}
	zip := a.Gzip || a.Gen == "gzip_bomb"
	if zip {
		w.Header().Set("Content-Encoding", "gzip")
	}
	if a.Gen == "silent" {
		<-r.Context().Done()
		return
	}
	if a.Status != 0 {
		w.WriteHeader(a.Status)
	}
	if zip {
		z := gzip.NewWriter(w)
		defer func() { _ = z.Close() }()
		a.body(r, func(p []byte) bool { _, err := z.Write(p); return err == nil })
		return
	}
	a.body(r, func(p []byte) bool {
		_, err := w.Write(p)
		return err == nil && http.NewResponseController(w).Flush() == nil
	})
}

// benchEnd bounds answers that never end.
const benchEnd = 60 * time.Second

func (a benchAnswerOf) body(r *http.Request, write func([]byte) bool) {
	end := time.Now().Add(benchEnd)
	switch a.Gen {
	case "endless":
		for p := []byte(strings.Repeat("x", 1<<16)); time.Now().Before(end) && write(p); {
		}
	case "gzip_bomb":
		p := make([]byte, 1<<20)
		for i := 0; i < 10240 && time.Now().Before(end) && write(p); i++ {
		}
	case "drip":
		for time.Now().Before(end) && write([]byte("x")) && sleep(r.Context(), time.Second) == nil {
		}
	case "deep_json":
		write([]byte(strings.Repeat("[", 100_000)))
	default:
		write([]byte(a.Body))
	}
}

// hijack sends answers that no HTTP server would send.
func (a benchAnswerOf) hijack(w http.ResponseWriter) {
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer func() { _ = c.Close() }()
	switch a.Gen {
	case "short_body":
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{\"a\":1")
	case "endless_headers":
		fmt.Fprint(c, "HTTP/1.1 200 OK\r\n")
		for end := time.Now().Add(benchEnd); time.Now().Before(end); {
			if _, err := fmt.Fprintf(c, "X-A: %s\r\n", strings.Repeat("y", 1000)); err != nil {
				return
			}
		}
	}
}
