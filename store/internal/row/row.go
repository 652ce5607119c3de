// Package row is how stores keep a message: as one JSON text.
package row

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv1 "github.com/go-json-experiment/json/v1" // decodes as encoding/json does, in half the time

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store"
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
			return nil, fmt.Errorf("a message of session %q has %d bytes, at most %d can be stored", key, len(rows[i]),
				maxMessage)
		}
	}
	return &Step{key, string(saved), state.Open(), messages, rows}, nil
}

// Version is the version that a migration makes: the number at the beginning of its name.
func Version(file string) int {
	n, _, _ := strings.Cut(path.Base(file), "_")
	version, _ := strconv.Atoi(n) // 0 for a file that a test would find at once
	return version
}

// Missing returns those of the migrations, in their order, that a database of a version needs;
// 0 is an empty one. The first migration makes a whole schema.
func Missing(files []string, have int) ([]string, error) {
	first, last := Version(files[0]), Version(files[len(files)-1])
	switch {
	case have > last:
		return nil, fmt.Errorf("it was written by a newer etui (version %d, this one knows %d); use that one", have,
			last)
	case have > 0 && have < first:
		return nil, fmt.Errorf("it was written by an etui before the first release (version %d, this one knows %d); use that one", have, first)
	}
	return slices.DeleteFunc(slices.Clone(files), func(file string) bool { return Version(file) <= have }), nil
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
	// Client and State are those of [chat.Call].
	Client bool            `json:"client,omitempty"`
	State  json.RawMessage `json:"state,omitempty"`
}

// Item reads an item of the inbox from its columns: id, session, user, key, digest, priority, state,
// reason, tries, holder, message, result, and when it was accepted and ended, in milliseconds.
func Item[R interface{ Scan(to ...any) error }](r R) (i store.Item, err error) {
	var accepted, ended int64
	var message, result []byte
	err = r.Scan(&i.ID, &i.Session, &i.User, &i.Key, &i.Digest, &i.Priority, &i.State, &i.Reason, &i.Tries, &i.Holder,
		&message, &result, &accepted, &ended)
	i.Message, i.Result, i.Accepted = message, result, time.UnixMilli(accepted)
	if ended != 0 {
		i.Ended = time.UnixMilli(ended)
	}
	return i, err
}

func encode(m chat.Message) (string, error) {
	m.Files = chat.WithoutData(m.Files)
	r := row{Message: m}
	for _, c := range m.Calls {
		r.Calls = append(r.Calls, call{ID: c.ID, Name: c.Name, Written: string(c.Arguments), Client: c.Client,
			State: c.State})
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
		made := chat.Call{ID: c.ID, Name: c.Name, Client: c.Client, State: c.State}
		if c.Written != "" {
			made.Arguments = json.RawMessage(c.Written)
		}
		r.Message.Calls = append(r.Message.Calls, made)
	}
	return r.Message, nil
}
