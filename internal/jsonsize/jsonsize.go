// Package jsonsize counts the values of a JSON text before anybody reads it: once it is read,
// each value takes many times its bytes. Three bytes are an empty object in a list.
package jsonsize

import (
	"errors"
	"io"
)

// Values returns about how many values a text has: one more than its commas and openings.
func Values(raw []byte) int {
	var c counter
	c.count(raw)
	return 1 + c.values
}

// ErrMany is the error of a [Reader] whose text has too many values.
var ErrMany = errors.New("there are too many values")

// Reader reads a text, and fails with [ErrMany] where it has more values than Most.
type Reader struct {
	From io.Reader
	Most int
	counter
}

// Read implements [io.Reader].
func (r *Reader) Read(p []byte) (int, error) {
	n, err := r.From.Read(p)
	if r.count(p[:n]); 1+r.values > r.Most {
		return 0, ErrMany
	}
	return n, err
}

// counter counts commas and openings outside of strings.
type counter struct {
	values        int
	text, escaped bool
}

func (c *counter) count(raw []byte) {
	for _, b := range raw {
		switch {
		case c.escaped:
			c.escaped = false
		case c.text:
			c.escaped, c.text = b == '\\', b != '"'
		case b == '"':
			c.text = true
		case b == ',' || b == '{' || b == '[':
			c.values++
		}
	}
}
