// Package nearjson reads JSON as models write it: nearly.
package nearjson

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/kaptinlin/jsonrepair"
)

// maxArguments is the most bytes that a call's arguments may have.
const maxArguments = 1 << 20

// maxRepair is the most bytes of arguments that are repaired: the time for that grows with
// the square of the length.
const maxRepair = 16 << 10

var (
	errTooLong   = errors.New("longer than 1 MiB")
	errNotJSON   = errors.New("not JSON")
	errCutOff    = errors.New("not JSON: they end in the middle of a text")
	errTooBroken = errors.New("not JSON, and longer than 16 KiB, up to which mistakes are repaired")
	errNotObject = errors.New("not a JSON object")
)

// Object returns a call's arguments as a JSON object. It repairs mistakes that have only
// one reading (trailing commas, single quotes, a missing last brace, a code fence), but
// not text that was cut off, because its end is unknown, nor the text in a JSON string:
// Valid has tried that once.
func Object(args json.RawMessage) (json.RawMessage, error) {
	args = bytes.TrimSpace(bytes.TrimPrefix(args, []byte("\ufeff")))
	if slices.Contains(nothing, string(args)) {
		return json.RawMessage("{}"), nil
	}
	if len(args) > maxArguments {
		return nil, errTooLong
	}
	args, quoted := unquoted(args)
	if quoted && !json.Valid(args) && !cutOff(args) && len(args) <= maxRepair {
		return nil, errNotJSON
	}
	args, err := Value(args)
	if err != nil {
		return nil, err
	}
	if args[0] != '{' {
		return nil, errNotObject
	}
	if key, ok := duplicate(args); ok {
		return nil, fmt.Errorf("ambiguous: duplicate key %q", key)
	}
	return args, nil
}

// nothing is what models write for no arguments.
var nothing = []string{"", "null", "None", "nil", "undefined"}

// tripled matches a text in Python's other quotes, in which each character stands for itself.
var tripled = regexp.MustCompile(`(?s)"""(.*?)"""`)

// Value returns a JSON value with the same mistakes repaired.
func Value(text []byte) (json.RawMessage, error) {
	text = bytes.TrimSpace(text)
	switch {
	case json.Valid(text):
		return text, nil
	case cutOff(text):
		return nil, errCutOff
	case len(text) > maxRepair:
		return nil, errTooBroken
	}
	repaired, err := jsonrepair.Repair(tripled.ReplaceAllStringFunc(string(text), func(t string) string {
		quoted, _ := json.Marshal(t[len(`"""`) : len(t)-len(`"""`)]) // a string
		return string(quoted)
	}))
	if err != nil || !json.Valid([]byte(repaired)) {
		return nil, errNotJSON
	}
	return bytes.TrimSpace([]byte(repaired)), nil
}

// unquoted returns the text in a JSON string: some servers send the object in one.
func unquoted(args json.RawMessage) (_ json.RawMessage, quoted bool) {
	var text string
	if len(args) > 0 && args[0] == '"' && json.Unmarshal(args, &text) == nil {
		return bytes.TrimSpace([]byte(text)), true
	}
	return args, false
}

// duplicate finds a key that an object of valid JSON has twice. JSON parsers differ in the value that
// they take, so that a tool might read another one than was judged.
func duplicate(args json.RawMessage) (key string, found bool) {
	var syntax *jsontext.SyntacticError
	d := jsontext.NewDecoder(bytes.NewReader(args), jsontext.AllowInvalidUTF8(true))
	if errors.As(d.SkipValue(), &syntax) && errors.Is(syntax.Err, jsontext.ErrDuplicateName) {
		return syntax.JSONPointer.LastToken(), true
	}
	return "", false
}

// cutOff reports whether JSON ends inside a text in double quotes, or after a
// number, word or colon that could have gone on.
func cutOff(args []byte) bool {
	inside := false
	for i := 0; i < len(args); i++ {
		switch {
		case inside && args[i] == '\\':
			i++
		case args[i] == '"':
			inside = !inside
		}
	}
	if inside {
		return true
	}
	last := bytes.TrimRight(args, " \t\r\n`")
	if len(last) == 0 {
		return false
	}
	c := last[len(last)-1]
	return c != '}' && c != ']' && c != '"' && c != '\'' && c != ',' && c != ';'
}

// Valid returns arguments that a conversation can hold: unchanged when they are JSON,
// repaired when possible, else as a JSON string of the text, so that the model sees its
// mistake. Nothing is repaired after ctx ended: an answer can hold many calls.
func Valid(ctx context.Context, args json.RawMessage) json.RawMessage {
	if len(bytes.TrimSpace(args)) == 0 {
		return json.RawMessage("{}")
	}
	if len(args) <= maxArguments && json.Valid(args) {
		text, quoted := unquoted(bytes.TrimSpace(args))
		if !quoted || json.Valid(text) {
			return args
		}
		args = text
	}
	if ctx.Err() == nil {
		if repaired, err := Object(args); err == nil {
			return repaired
		}
	}
	text, _ := json.Marshal(string(args)) // never fails for a string
	return text
}
