package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"iter"
)

const (
	// maxRefusal limits how much of an error response is read.
	maxRefusal = 64 << 10
	// maxEvent limits one event, and an answer that is not streamed.
	maxEvent = 16 << 20
)

// event is one server-sent event.
type event struct {
	name string
	data []byte
}

// events reads a body: a stream of server-sent events, or one JSON value, which counts
// as one event. Comments are skipped. Beyond the standard, an event that is cut off by
// the end of the body counts, and so does a complete JSON value without an empty line
// before the next one.
func events(body io.Reader) iter.Seq2[event, error] {
	return func(yield func(event, error) bool) {
		r := bufio.NewReader(body)
		if isJSON(r) {
			data, err := io.ReadAll(io.LimitReader(r, maxEvent))
			yield(event{data: data}, err)
			return
		}
		lines := bufio.NewScanner(r)
		lines.Buffer(nil, maxEvent)
		var e event
		for lines.Scan() {
			field, value, _ := bytes.Cut(lines.Bytes(), []byte(":"))
			value = bytes.TrimPrefix(value, []byte(" "))
			ends := len(lines.Bytes()) == 0 || string(field) == "data" && json.Valid(e.data)
			if ends && len(e.data) > 0 {
				if !yield(e, nil) {
					return
				}
				e = event{}
			}
			switch string(field) {
			case "event":
				e.name = string(value)
			case "data":
				if len(e.data) > 0 {
					e.data = append(e.data, '\n')
				}
				e.data = append(e.data, value...)
			}
		}
		if err := lines.Err(); err != nil {
			yield(event{}, err)
			return
		}
		if len(e.data) > 0 {
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
