// Package secret holds texts that must not be shown, and removes them from others.
//
// A [Value] is such a text: it never prints itself. [Set] is the set of those that a
// program knows, and a [Redactor] replaces them by "(hidden)" in results, errors, logs
// and records. It also finds the forms in which programs usually write them:
//
//   - base64 with either alphabet, with or without padding, in the middle of other
//     data and wrapped into lines;
//   - hexadecimal in either case, with spaces, colons or hyphens between;
//   - hexadecimal or base64 of these two;
//   - percent-encoded, with + for a space, and with the escapes of JSON, Go, HTML
//     and their mixtures, several times over;
//   - backwards.
//
// A redactor ignores values of fewer than [Shortest] bytes, which would be found
// everywhere. It does not find a value that is compressed, encrypted, cut into pieces
// (as in the columns of a hex dump) or shifted by a program that wants to hide it: do
// not give secrets to a program that must not have them.
//
// Callers hide secrets at the edges: package agent in messages, turn in results and in what models
// read, server in each answer, audit in records, and [Set.Writer] in the log.
package secret

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strconv"
	"strings"
)

// Value is a text that is never shown.
type Value string

const hidden = "(hidden)"

func (v Value) String() string {
	if v == "" {
		return ""
	}
	return hidden
}

// GoString hides the value from %#v.
func (v Value) GoString() string { return strconv.Quote(v.String()) }

// MarshalJSON hides the value.
func (v Value) MarshalJSON() ([]byte, error) { return json.Marshal(v.String()) }

// MarshalYAML hides the value.
func (v Value) MarshalYAML() (any, error) { return v.String(), nil }

// Parts returns the value and the secrets in it: the text after the scheme in
// "Bearer x", and the password in "Basic x".
func (v Value) Parts() []Value {
	scheme, rest, found := strings.Cut(strings.TrimSpace(string(v)), " ")
	if rest = strings.TrimSpace(rest); !found || strings.Contains(rest, " ") {
		return []Value{v}
	}
	parts := []Value{v, Value(rest)}
	if strings.EqualFold(scheme, "basic") {
		plain, _ := base64.StdEncoding.DecodeString(rest) // anything else has no password
		_, password, _ := strings.Cut(string(plain), ":")
		parts = append(parts, Value(password))
	}
	return parts
}

var telling = regexp.MustCompile(`(?i)auth|cookie|credential|key|pass|secret|session|signature|token`)

// Names reports whether the name of a header or a variable says that it holds a secret.
func Names(name string) bool { return telling.MatchString(name) }
