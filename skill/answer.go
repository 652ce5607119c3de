package skill

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// MaxAnswer is how many bytes a provider may answer.
const MaxAnswer = 1 << 20

// Answer returns what a provider has answered as the result of Execute: the answer
// must be one JSON value of valid UTF-8, and a JSON string is a text. The error
// wraps ErrExecutionFailed and says what is wrong.
func Answer(raw []byte) (any, error) {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0:
		return nil, fmt.Errorf("%w: the answer is empty, not JSON", ErrExecutionFailed)
	case len(raw) > MaxAnswer:
		return nil, fmt.Errorf("%w: the answer is longer than %d bytes", ErrExecutionFailed, MaxAnswer)
	case !utf8.Valid(raw):
		return nil, fmt.Errorf("%w: the answer is not valid UTF-8", ErrExecutionFailed)
	case raw[0] == '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, fmt.Errorf("%w: the answer is not one JSON value: %w", ErrExecutionFailed, err)
		}
		return text, nil
	}
	var value json.RawMessage
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil, fmt.Errorf("%w: the answer is not one JSON value: %w", ErrExecutionFailed, err)
	}
	return value, nil
}
