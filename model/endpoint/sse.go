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

// foreign is something else in place of an answer.
type foreign struct{ says string }

func (f foreign) Error() string { return "the server sent no answer, but " + f.says }

// Event is a server-sent event of an answer.
type Event struct {
	// Name is the event's type; empty if the server gave none.
	Name string
	// Data are JSON, if the server keeps to its protocol.
	Data []byte
}

// events reads a body: a stream of server-sent events, or JSON values, each of which is an
// event. Comments are skipped. More lenient than the standard, it accepts an event
// that the end of the body cuts off, and a line with a complete JSON value without an
// empty line before the next one. An error ends the events. A web page or another text is one: its
// words tell what answered in place of the provider.
func events(body io.Reader) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		r := bufio.NewReaderSize(body, 2<<10)
		if mark, err := r.Peek(3); err == nil && string(mark) == "\ufeff" {
			_, _ = r.Discard(3) // they were read
		}
		switch first(r) {
		case '{', '[':
			values(r, yield)
			return
		case '<':
			page, _ := io.ReadAll(io.LimitReader(r, maxRefusal)) // its beginning is enough
			yield(Event{}, foreign{ReadRefusal(page).Message})
			return
		}
		var e Event
		stray := "" // the first line of another text
		begun := false
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
				begun = true
				if !yield(e, nil) {
					return
				}
				e, several = Event{}, false
			}
			switch string(field) {
			case "", "id", "retry":
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
			default:
				if stray == "" {
					stray = string(line[:min(len(line), maxDetail)])
				}
			}
		}
		switch {
		case len(e.Data) > 0:
			yield(e, nil)
		case !begun && stray != "":
			yield(Event{}, foreign{"the text: " + stray})
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
			if len(line) > 0 {
				whole := bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
				for one := range bytes.SplitSeq(whole, []byte("\r")) { // the standard lets it end lines, too
					if !yield(one, nil) {
						return
					}
				}
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

// first returns the first byte that is no blank; 0 if there is none.
func first(r *bufio.Reader) byte {
	for {
		next, err := r.ReadByte()
		if err != nil {
			return 0
		}
		if next != ' ' && next != '\t' && next != '\r' && next != '\n' {
			_ = r.UnreadByte() // it was read
			return next
		}
	}
}

// values yields JSON values one after the other. The reader passes over anything after the last
// one.
func values(r io.Reader, yield func(Event, error) bool) {
	limited := &io.LimitedReader{R: r, N: maxEvent + 1}
	d := json.NewDecoder(limited)
	for begun := false; ; begun = true {
		var value json.RawMessage
		err := d.Decode(&value)
		switch syntax := (*json.SyntaxError)(nil); {
		case err == nil:
			limited.N = maxEvent + 1
		case limited.N <= 0:
			err = errTooLarge
		case begun && (errors.Is(err, io.EOF) || errors.As(err, &syntax)):
			return
		}
		if !yield(Event{Data: value}, err) || err != nil {
			return
		}
	}
}
