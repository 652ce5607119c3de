// Package plainjson reads and writes JSON as people and models write it: numbers keep their digits,
// and no sign is escaped for HTML.
package plainjson

import (
	"bytes"
	"encoding/json"
)

// Encode writes a value on one line.
func Encode(value any) (json.RawMessage, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(value)
	return bytes.TrimRight(b.Bytes(), "\n"), err
}

// Decode reads the first value of a text. Its numbers are of type [json.Number].
func Decode(raw []byte) (value any, err error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	err = d.Decode(&value)
	return value, err
}
