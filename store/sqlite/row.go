package sqlite

import (
	"encoding/json"
	"strings"

	"github.com/etui-run/etui/chat"
)

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

func decode(raw []byte) (chat.Message, error) {
	var r row
	if err := json.Unmarshal(raw, &r); err != nil {
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
