package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Answer turns the answer of a provider into the result of Execute, without the
// secrets that r hides. The answer must be one JSON value of valid UTF-8, nested at
// most 128 levels deep; a JSON string becomes a text. The error wraps
// ErrExecutionFailed and says what is wrong.
func Answer(raw []byte, r Redactor) (any, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, fmt.Errorf("%w: the answer is empty, not JSON", ErrExecutionFailed)
	case len(raw) > MaxResult:
		return nil, fmt.Errorf("%w: the answer is longer than %d bytes", ErrExecutionFailed, MaxResult)
	case !utf8.Valid(raw):
		return nil, fmt.Errorf("%w: the answer is not valid UTF-8", ErrExecutionFailed)
	case depth(raw) > maxAnswerDepth:
		return nil, fmt.Errorf("%w: the answer is JSON that is more than %d levels deep", ErrExecutionFailed,
			maxAnswerDepth)
	}
	var value json.RawMessage
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("%w: the answer is not one JSON value: %w", ErrExecutionFailed, err)
	}
	value = r.JSON(value)
	if value[0] == '"' {
		var text string
		err := json.Unmarshal(value, &text)
		return text, err
	}
	return value, nil
}

const maxAnswerDepth = 128

// depth returns how deep lists and objects are nested.
func depth(raw []byte) (deepest int) {
	level, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch b := raw[i]; {
		case quoted && b == '\\':
			i++
		case b == '"':
			quoted = !quoted
		case quoted:
		case b == '{' || b == '[':
			level++
			deepest = max(deepest, level)
		case b == '}' || b == ']':
			level--
		}
	}
	return deepest
}
