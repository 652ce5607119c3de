// Package wire reads and writes the JSON of tools without reflection. It serves the
// code that `etui tools gen` generates.
package wire

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Reader walks through a JSON value. Its methods return zero values after the
// first error, which [Reader.End] returns. The zero Reader is at its end.
type Reader struct {
	data string
	at   int
	name string // of the current field
	err  error
}

// Read returns a reader of a JSON value and first checks that the value is valid.
// Empty data counts as an empty object. The data is copied once; strings that are read
// share that copy and keep it in memory.
func Read(data []byte) Reader {
	switch {
	case len(data) == 0:
		return Reader{data: "{}"}
	case !json.Valid(data):
		return Reader{err: errors.New("the arguments are not JSON")}
	}
	return Reader{data: string(data)}
}

// End returns the first error.
func (r *Reader) End() error { return r.err }

// fail stops the reader at the value that begins at an offset. From then on, every
// list ends at once.
func (r *Reader) fail(at int, want string) {
	r.at = at
	r.peek()
	r.broken(fmt.Errorf("%s is needed, not %.40s", want, r.token()))
	r.data, r.at = "", 0
}

// broken keeps the first error, with the name of its field.
func (r *Reader) broken(err error) {
	switch {
	case r.err != nil || err == nil:
	case r.name == "":
		r.err = fmt.Errorf("the arguments: %w", err)
	default:
		r.err = fmt.Errorf("%s: %w", r.name, err)
	}
}

// peek returns the first byte of the next value; 0 at the end.
func (r *Reader) peek() byte {
	for ; r.at < len(r.data); r.at++ {
		switch c := r.data[r.at]; c {
		case ' ', '\t', '\n', '\r':
		default:
			return c
		}
	}
	return 0
}

// Object enters an object; [Reader.Field] iterates over it.
func (r *Reader) Object() { r.enter('{', "an object") }

// Array enters an array; [Reader.Element] iterates over it.
func (r *Reader) Array() { r.enter('[', "an array") }

func (r *Reader) enter(open byte, what string) {
	if r.peek() != open {
		r.fail(r.at, what)
		return
	}
	r.at++
}

// Element moves to the next element and reports whether there is one.
func (r *Reader) Element() bool { return r.next(']') }

func (r *Reader) next(end byte) bool {
	switch r.peek() {
	case 0:
		return false
	case end:
		r.at++
		return false
	case ',':
		r.at++
	}
	return r.err == nil
}

// Field moves to the next field of an object and returns its name.
func (r *Reader) Field() (name string, ok bool) {
	if !r.next('}') {
		return "", false
	}
	r.peek()
	r.name = unquoted(r.token())
	r.peek()
	r.at++ // the colon
	return r.name, true
}

// Null reports whether the value is null; if so, it skips it.
func (r *Reader) Null() bool {
	if r.peek() != 'n' {
		return false
	}
	r.at += len("null")
	return true
}

// Skip skips a value.
func (r *Reader) Skip() {
	if r.err == nil {
		r.peek()
		r.token()
	}
}

// Raw returns a copy of a value, unparsed.
func (r *Reader) Raw() json.RawMessage {
	if r.err != nil {
		return nil
	}
	r.peek()
	return json.RawMessage(r.token())
}

// token returns the value at the current offset.
func (r *Reader) token() string {
	begin, depth := r.at, 0
	for r.at < len(r.data) {
		switch c := r.data[r.at]; c {
		case '"':
			r.quoted()
		case '{', '[':
			depth++
			r.at++
		case '}', ']':
			depth--
			r.at++
		case ',', ':', ' ', '\t', '\n', '\r':
			r.at++
		default:
			r.word()
		}
		if depth == 0 {
			break
		}
	}
	return r.data[begin:r.at]
}

func (r *Reader) quoted() {
	for r.at++; r.data[r.at] != '"'; r.at++ {
		if r.data[r.at] == '\\' {
			r.at++
		}
	}
	r.at++
}

// word skips a number, true, false or null.
func (r *Reader) word() {
	for ; r.at < len(r.data); r.at++ {
		switch r.data[r.at] {
		case ',', ':', '}', ']', ' ', '\t', '\n', '\r':
			return
		}
	}
}

// String reads a text.
func (r *Reader) String() string {
	if r.peek() != '"' {
		r.fail(r.at, "a text")
		return ""
	}
	return unquoted(r.token())
}

// unquoted decodes a quoted string.
func unquoted(raw string) string {
	if inner := raw[1 : len(raw)-1]; strings.IndexByte(inner, '\\') < 0 && utf8.ValidString(inner) {
		return inner
	}
	var text string
	_ = json.Unmarshal([]byte(raw), &text) // it is valid
	return text
}

// Bool reads true or false.
func (r *Reader) Bool() bool {
	switch r.peek() {
	case 't':
		r.at += len("true")
		return true
	case 'f':
		r.at += len("false")
		return false
	}
	r.fail(r.at, "true or false")
	return false
}

// Int reads an integer of at most the given number of bits. It may be written as 1e3
// or 5.0.
func (r *Reader) Int(bits int) int64 {
	at := r.at
	text := r.number()
	if n, err := strconv.ParseInt(text, 10, bits); err == nil {
		return n
	}
	// Floats above 2^53 are not exact.
	x, err := strconv.ParseFloat(text, 64)
	if limit := math.Ldexp(1, min(bits-1, 53)); err != nil || x != math.Trunc(x) || x < -limit || x >= limit {
		r.fail(at, fmt.Sprintf("a whole number of %d bits", bits))
		return 0
	}
	return int64(x)
}

// Uint reads an integer that is not negative.
func (r *Reader) Uint(bits int) uint64 {
	at := r.at
	text := r.number()
	if n, err := strconv.ParseUint(text, 10, bits); err == nil {
		return n
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil || x != math.Trunc(x) || x < 0 || x >= math.Ldexp(1, min(bits, 53)) {
		r.fail(at, fmt.Sprintf("a whole number of %d bits that is not negative", bits))
		return 0
	}
	return uint64(x)
}

// Float reads a number.
func (r *Reader) Float(bits int) float64 {
	at := r.at
	x, err := strconv.ParseFloat(r.number(), bits)
	if err != nil {
		r.fail(at, fmt.Sprintf("a number of %d bits", bits))
		return 0
	}
	return x
}

// Number reads a number as written.
func (r *Reader) Number() json.Number {
	at := r.at
	text := r.number()
	if text == "" {
		r.fail(at, "a number")
	}
	return json.Number(text)
}

// number returns the number at the current offset; empty if there is none.
func (r *Reader) number() string {
	if c := r.peek(); c != '-' && (c < '0' || c > '9') {
		return ""
	}
	return r.token()
}

// Duration reads a duration such as "1m30s".
func (r *Reader) Duration() time.Duration {
	at := r.at
	d, err := time.ParseDuration(r.String())
	if err != nil && r.err == nil {
		r.fail(at, `a time such as "1m30s"`)
	}
	return d
}

// Text reads a string into a value that can unmarshal it.
func (r *Reader) Text(v encoding.TextUnmarshaler) {
	if text := r.String(); r.err == nil {
		r.broken(v.UnmarshalText([]byte(text)))
	}
}

// JSON reads a value into a value that can unmarshal it.
func (r *Reader) JSON(v json.Unmarshaler) {
	raw := r.Raw()
	if r.err == nil {
		r.broken(v.UnmarshalJSON(raw))
	}
}

// Any reads a value of any kind, as encoding/json does.
func (r *Reader) Any() (v any) {
	if raw := r.Raw(); r.err == nil {
		r.broken(json.Unmarshal(raw, &v))
	}
	return v
}

// Bytes reads base64.
func (r *Reader) Bytes() (b []byte) {
	if raw := r.Raw(); r.err == nil {
		r.broken(json.Unmarshal(raw, &b))
	}
	return b
}

// Field appends the name of a field, with a comma before it unless it is the first.
func Field(b []byte, name string) []byte {
	if b[len(b)-1] != '{' {
		b = append(b, ',')
	}
	return append(String(b, name), ':')
}

// Bool appends true or false.
func Bool[T ~bool](b []byte, v T) []byte { return strconv.AppendBool(b, bool(v)) }

// Int appends an integer.
func Int[T ~int | ~int8 | ~int16 | ~int32 | ~int64](b []byte, v T) []byte {
	return strconv.AppendInt(b, int64(v), 10)
}

// Uint appends an unsigned integer.
func Uint[T ~uint | ~uint8 | ~uint16 | ~uint32 | ~uint64 | ~uintptr](b []byte, v T) []byte {
	return strconv.AppendUint(b, uint64(v), 10)
}

// Float appends a number; NaN and infinities become null.
func Float[T ~float32 | ~float64](b []byte, v T) []byte {
	if x := float64(v); math.IsNaN(x) || math.IsInf(x, 0) {
		return append(b, "null"...)
	}
	bits := 64
	if float64(T(1)/3) != 1.0/3 { // true of 32 bits, also for named types
		bits = 32
	}
	return strconv.AppendFloat(b, float64(v), 'g', -1, bits)
}

// String appends a quoted string. Invalid UTF-8 is replaced.
func String[T ~string](b []byte, v T) []byte {
	b = append(b, '"')
	for at := range len(v) {
		if c := v[at]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return append(escaped(append(b, v[:at]...), string(v[at:])), '"')
		}
	}
	return append(append(b, v...), '"')
}

// escaped appends a string with escapes, without quotes.
func escaped(b []byte, text string) []byte {
	for _, c := range text {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case c == '\n':
			b = append(b, '\\', 'n')
		case c == '\t':
			b = append(b, '\\', 't')
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = utf8.AppendRune(b, c)
		}
	}
	return b
}

// Value appends the JSON that encoding/json produces for a value, or null if it fails.
func Value(b []byte, v any) []byte {
	if v == nil {
		return append(b, "null"...)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, raw...)
}
