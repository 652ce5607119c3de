package endpoint

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// maxEvent limits one event, and a body that is not a stream. A larger one is an error.
const maxEvent = 16 << 20

var errTooLarge = fmt.Errorf("the server sent an event of more than %d MB", maxEvent>>20)

const (
	// maxRest and maxDrain bound what drain reads, and how long it waits for that.
	maxRest  = 4 << 10
	maxDrain = 50 * time.Millisecond
)

// drain reads the end of a body of which the last event was read, so that its connection can
// serve the next request. If the end does not come at once, cancel must end the reading.
func drain(body io.Reader, cancel func()) {
	defer time.AfterFunc(maxDrain, cancel).Stop()
	_, _ = io.CopyN(io.Discard, body, maxRest) // if it fails, the connection is not used again
}

// Event is a server-sent event of an answer.
type Event struct {
	// Name is the event's type; empty if the server gave none.
	Name string
	// Data are JSON, if the server keeps to its protocol.
	Data []byte
}

// events reads a body: a stream of server-sent events, or one JSON object, which is taken
// as one event. Comments are skipped. More lenient than the standard, it accepts an event
// that the end of the body cuts off, and a line with a complete JSON value without an
// empty line before the next one. An error ends the events.
func events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := bufio.NewReader(body)
		if mark, err := r.Peek(3); err == nil && string(mark) == "\ufeff" {
			_, _ = r.Discard(3) // they were read
		}
		if isJSON(r) {
			data, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
			if err == nil && len(data) > maxEvent {
				err = errTooLarge
			}
			yield(Event{Data: data}, err)
			return
		}
		var e Event
		several := false // the event has several lines of data
		for line, err := range lines(r) {
			if err != nil {
				yield(Event{}, err)
				return
			}
			field, value, _ := bytes.Cut(line, []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			ends := len(line) == 0 || string(field) == "data" && !several && json.Valid(e.Data)
			if ends && len(e.Data) > 0 {
				if !yield(e, nil) {
					return
				}
				e, several = Event{}, false
			}
			switch string(field) {
			case "event":
				e.Name = string(value)
			case "data":
				if len(e.Data)+len(value) >= maxEvent {
					yield(Event{}, errTooLarge)
					return
				}
				if several = len(e.Data) > 0; several {
					e.Data = append(e.Data, '\n')
				}
				e.Data = append(e.Data, value...)
			}
		}
		if len(e.Data) > 0 {
			yield(e, nil)
		}
	}
}

// lines reads the lines of a stream without their ends; the last one may lack an end. A
// line is valid until the next one. Other than with a bufio.Scanner, the time for a line
// grows only with its length.
func lines(r *bufio.Reader) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		var line []byte
		for {
			part, err := r.ReadSlice('\n')
			line = append(line, part...)
			switch {
			case len(line) > maxEvent:
				yield(nil, errTooLarge)
				return
			case errors.Is(err, bufio.ErrBufferFull):
				continue
			}
			if len(line) > 0 && !yield(bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), nil) {
				return
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(nil, err)
				}
				return
			}
			line = line[:0]
		}
	}
}

// isJSON reports whether a body begins like a JSON object.
func isJSON(r *bufio.Reader) bool {
	for {
		next, err := r.ReadByte()
		if err != nil {
			return false
		}
		if next != ' ' && next != '\t' && next != '\r' && next != '\n' {
			return r.UnreadByte() == nil && next == '{'
		}
	}
}
