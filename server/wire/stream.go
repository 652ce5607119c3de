package wire

import (
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// patience is how long a stream waits for a first event or a failure, which then has
	// a status of its own. After that the stream begins.
	patience = 250 * time.Millisecond
	// keepAlive is how long a stream may be silent before something is sent: less than
	// the usual limits of proxies.
	keepAlive = 10 * time.Second
)

// Stream writes server-sent events. It begins soon, and keeps the connection alive while the
// model thinks. It is safe for concurrent use.
type Stream struct {
	head, alive string

	mu    sync.Mutex // guards what follows
	w     http.ResponseWriter
	flush *http.ResponseController
	begun bool
	timer *time.Timer // nil when it has ended
}

// NewStream returns a stream that begins with head. Alive is what is sent in silence. Call Close
// when the handler ends.
func NewStream(w http.ResponseWriter, head, alive string) *Stream {
	s := &Stream{head: head, alive: alive, w: w, flush: http.NewResponseController(w)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timer = time.AfterFunc(patience, s.silence)
	return s
}

// Close ends what keeps the stream alive.
func (s *Stream) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// silence begins a silent stream, or sends a sign of life.
func (s *Stream) silence() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer == nil {
		return
	}
	if !s.begun {
		_ = s.begin() // if the client has gone, the next event fails, too
		return
	}
	_ = s.write(s.alive)
}

// Begun reports whether something was sent. It is called after Close.
func (s *Stream) Begun() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun
}

// Event writes an event after the beginning of the stream. Most protocols name their events; an
// empty name is left out.
func (s *Stream) Event(name string, data []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.begin(); err != nil {
		return err
	}
	return s.write(Event(name, data))
}

// Event returns an event as it is written.
func Event(name string, data []byte) string {
	text := "data: " + string(data) + "\n\n"
	if name != "" {
		text = "event: " + name + "\n" + text
	}
	return text
}

// begin writes the head, once. The caller holds the lock.
func (s *Stream) begin() error {
	if s.begun {
		return nil
	}
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-cache")
	s.w.Header().Set("X-Accel-Buffering", "no") // proxies must not wait for more
	return s.write(s.head)
}

// write writes a part of the stream at once. The caller holds the lock.
func (s *Stream) write(part string) error {
	if s.timer != nil {
		s.timer.Reset(keepAlive)
	}
	if _, err := io.WriteString(s.w, part); err != nil {
		return err
	}
	return s.flush.Flush()
}
