// Package sse reads the server-sent events of providers, whose data are JSON.
package sse

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
)

// maxEvent limits one event, and a body that is not a stream. A larger one is an error.
const maxEvent = 16 << 20

var errTooLarge = fmt.Errorf("the server sent an event of more than %d MB", maxEvent>>20)

// Event is one server-sent event.
type Event struct {
	// Name is the event's type; empty if the server gave none.
	Name string
	Data []byte
}

// Events reads a body: a stream of server-sent events, or one JSON object, which counts
// as one event. Comments are skipped. Beyond the standard, an event that is cut off by
// the end of the body counts, and so does a complete JSON value without an empty line
// before the next one. An error ends the events.
func Events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := bufio.NewReader(body)
		if isJSON(r) {
			data, err := io.ReadAll(io.LimitReader(r, maxEvent+1))
			if err == nil && len(data) > maxEvent {
				err = errTooLarge
			}
			yield(Event{Data: data}, err)
			return
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		var e Event
		for lines.Scan() {
			field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			ends := len(lines.Bytes()) == 0 || string(field) == "data" && json.Valid(e.Data)
			if ends && len(e.Data) > 0 {
				if !yield(e, nil) {
					return
				}
				e = Event{}
			}
			switch string(field) {
			case "event":
				e.Name = string(value)
			case "data":
				if len(e.Data)+len(value) >= maxEvent {
					yield(Event{}, errTooLarge)
					return
				}
				if len(e.Data) > 0 {
					e.Data = append(e.Data, '\n')
				}
				e.Data = append(e.Data, value...)
			}
		}
		if err := lines.Err(); err != nil {
			if errors.Is(err, bufio.ErrTooLong) {
				err = errTooLarge
			}
			yield(Event{}, err)
			return
		}
		if len(e.Data) > 0 {
			yield(e, nil)
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
