package server

import (
	"errors"
	"io"
	"net/http"
	"time"
)

const (
	// slowest is how long a body may take to arrive, and a part of an answer to be taken.
	// Then the connection ends.
	slowest = 30 * time.Second
	// pacePerSecond is how many bytes of a body give it another second.
	pacePerSecond = 32 << 10
)

// pace bounds how slowly the body of a request arrives, also of one that is refused: the
// server reads what is left of it. The deadline ends with the body, since the turn of a
// message may take longer.
func pace(w http.ResponseWriter, r *http.Request) {
	if r.Body == nil || r.Body == http.NoBody {
		return
	}
	b := &pacedBody{ReadCloser: r.Body, connection: http.NewResponseController(w), began: time.Now()}
	if b.until(b.began.Add(slowest)) == nil { // else there is no connection
		r.Body = b
	}
}

type pacedBody struct {
	io.ReadCloser
	connection *http.ResponseController
	began      time.Time
	got        time.Duration // what the bytes that came are worth
}

func (b *pacedBody) until(t time.Time) error { return b.connection.SetReadDeadline(t) }

func (b *pacedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.got += time.Duration(n) * time.Second / pacePerSecond
	switch {
	case errors.Is(err, io.EOF):
		_ = b.until(time.Time{}) // it worked before
	case err == nil:
		_ = b.until(b.began.Add(slowest + b.got))
	}
	return n, err
}
