// Package row is how stores keep a message: as one JSON text.
package row

import (
	"encoding/json"
	"fmt"
	"strings"

	jsonv1 "github.com/go-json-experiment/json/v1" // decodes as encoding/json does, in half the time

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
)

const (
	// MaxKey is how long the key of a session may be, in bytes.
	MaxKey = 512
	// maxMessage is how long a stored message may be, in bytes.
	maxMessage = 8 << 20
)

// CheckKey refuses a key that is too long.
func CheckKey(key session.Key) error {
	if len(key) > MaxKey {
		return fmt.Errorf("the session's key has %d bytes, at most %d are allowed", len(key), MaxKey)
	}
	return nil
}

// ID is how the state of a session, as it is stored, holds the ID of an await; empty for none.
func ID(id string) string {
	if id == "" {
		return ""
	}
	text, _ := json.Marshal(id) // a text
	return `"id":` + string(text)
}

// Step is what becomes part of a session, as it is stored.
type Step struct {
	Key      session.Key
	State    string
	Open     bool
	Messages []chat.Message
	Rows     []string // of the messages
}

// NewStep returns a step, or says why it cannot be stored.
func NewStep(key session.Key, state session.State, messages []chat.Message) (*Step, error) {
	if err := CheckKey(key); err != nil {
		return nil, err
	}
	saved, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	rows := make([]string, len(messages))
	for i, m := range messages {
		if rows[i], err = encode(m); err != nil {
			return nil, fmt.Errorf("a message of session %q: %w", key, err)
		}
		if len(rows[i]) > maxMessage {
			return nil, fmt.Errorf("a message of session %q has %d bytes, at most %d can be stored", key, len(rows[i]), maxMessage)
		}
	}
	return &Step{key, string(saved), state.Open(), messages, rows}, nil
}

// row is a stored message: chat.Message as JSON, except for its calls.
type row struct {
	chat.Message
	Calls []call `json:"calls,omitempty"`
}

// call is a call whose arguments are stored byte for byte, as text. As JSON they would
// come back with other spaces, the next request would differ from the last and miss the
// provider's cache, and broken arguments could not be stored.
type call struct {
	ID      string `json:"id"`
	Name    string `json:"name"`
	Written string `json:"written,omitempty"`
	// Arguments holds the arguments in files of version 1.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

func encode(m chat.Message) (string, error) {
	m.Files = chat.WithoutData(m.Files)
	r := row{Message: m}
	for _, c := range m.Calls {
		r.Calls = append(r.Calls, call{ID: c.ID, Name: c.Name, Written: string(c.Arguments)})
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(r)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// DecodeState reads the stored state of a session.
func DecodeState(key session.Key, raw []byte) (s session.State, err error) {
	if err = jsonv1.Unmarshal(raw, &s); err != nil {
		return session.State{}, fmt.Errorf("the state of session %q: %w", key, err)
	}
	return s, nil
}

// Decode reads a stored message.
func Decode(raw []byte) (chat.Message, error) {
	var r row
	if err := jsonv1.Unmarshal(raw, &r); err != nil {
		return chat.Message{}, err
	}
	for _, c := range r.Calls {
		if c.Written != "" {
			c.Arguments = json.RawMessage(c.Written)
		}
		r.Message.Calls = append(r.Message.Calls, chat.Call{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return r.Message, nil
}
