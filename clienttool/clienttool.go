// Package clienttool has the tools that a client brings with its message: a coding agent's "read
// this file", say. The model sees them beside those of etui. A call of one is handed to the client,
// and its result comes with the next message. They never run in etui and have no rights there; no
// rule or approval knows them.
//
// It is data with checks, and stores and runs nothing.
package clienttool

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/tool"
)

// The limits of what a client brings. A message beyond them is refused.
const (
	MaxTools   = 1024    // in a message
	MaxSize    = 2 << 20 // bytes of all definitions together
	MaxName    = 128     // bytes
	MaxDepth   = 64      // of parameters
	MaxResults = 256     // in a message
	MaxResult  = 1 << 20 // bytes
	maxID      = 200     // bytes of the ID of a call
	perTool    = 64      // bytes of a definition beside its texts
)

// The IDs of calls are "call_", the token and a random part. Some providers take no more than 40 bytes.
const (
	idPrefix = "call_"
	idLength = 34

	tokenFrom = len(idPrefix)
	tokenTo   = tokenFrom + 16
)

// Wait is how long a turn waits for the results of a client.
const Wait = 24 * time.Hour

// None is the choice of no tool.
const None = "none"

// Tool is a function that the client can run.
type Tool struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	// Parameters is a JSON Schema of type object; nil means that the tool takes no arguments.
	Parameters json.RawMessage `json:"parameters,omitempty"`
}

// Offer is what a client brings with a message. The zero value brings nothing.
type Offer struct {
	Tools []Tool `json:"tools,omitempty"`
	// None says that the model may call none of them in this turn, Required that it must call one
	// before it answers, and Only, when not empty, the one that it must call.
	None     bool   `json:"none,omitempty"`
	Required bool   `json:"required,omitempty"`
	Only     string `json:"only,omitempty"`
	// Serial says that the client takes one call at a time.
	Serial bool `json:"serial,omitempty"`
	// Selected says that the model sees those that fit its message, as with the tools of etui.
	Selected bool `json:"-"`
	// Token is what the IDs of the calls have in common; empty means random ones. A client whose
	// conversation etui does not keep is known by it when it brings results.
	Token string `json:"-"`

	checked bool // hundreds of tools take a part of a millisecond
}

// Choose takes a choice of the tools as OpenAI's protocols write it, and reports whether it is known.
func (o *Offer) Choose(choice string) bool {
	switch choice {
	case "", "auto":
	case None:
		o.None = true
	case "required", "any":
		o.Required = true
	default:
		return false
	}
	return true
}

// Keep leaves only the tools with these names.
func (o *Offer) Keep(names map[string]bool) {
	o.Tools = slices.DeleteFunc(o.Tools, func(t Tool) bool { return !names[t.Name] })
}

// Check reports the first thing in o that is beyond the limits, or that no model accepts. An offer that has
// passed is not checked again: its tools must not change then.
func (o *Offer) Check() error {
	if o.checked {
		return nil
	}
	if len(o.Tools) > MaxTools {
		return fmt.Errorf("it brings %d tools, at most %d are accepted", len(o.Tools), MaxTools)
	}
	size, known := 0, make(map[string]bool, len(o.Tools))
	for i, t := range o.Tools {
		if err := t.check(); err != nil {
			return fmt.Errorf("tool %d: %w", i+1, err)
		}
		if known[t.Name] {
			return fmt.Errorf("tool %d: there are two tools called %q", i+1, t.Name)
		}
		known[t.Name] = true
		size += t.size()
	}
	switch {
	case size > MaxSize:
		return fmt.Errorf("its tools have %d bytes together, at most %d are accepted", size, MaxSize)
	case o.Only != "" && !known[o.Only]:
		return fmt.Errorf("it wants a call of %q, which is not among its tools", o.Only)
	}
	o.checked = true
	return nil
}

func (t Tool) check() error {
	switch {
	case t.Name == "" || len(t.Name) > MaxName:
		return fmt.Errorf("its name has %d bytes; 1 to %d are accepted", len(t.Name), MaxName)
	case strings.ContainsFunc(t.Name, func(r rune) bool {
		return r == ' ' || r == utf8.RuneError ||
			!unicode.IsPrint(r)
	}):
		return fmt.Errorf("its name %q has a blank, or a character that nobody sees", t.Name)
	}
	switch deepest, _ := look(t.Parameters, false); {
	case deepest > MaxDepth:
		return fmt.Errorf("the parameters of %s are nested deeper than %d", t.Name, MaxDepth)
	case deepest == 0 && !t.plain(), deepest > 0 && bytes.TrimSpace(t.Parameters)[0] != '{':
		return fmt.Errorf("the parameters of %s are not a JSON Schema of an object", t.Name)
	}
	return nil
}

// plain reports whether a tool takes no arguments.
func (t Tool) plain() bool {
	return len(t.Parameters) == 0 || string(bytes.TrimSpace(t.Parameters)) == "null"
}

// look returns how deep JSON is nested, and whether it is an object with a type, at which it may end. A request
// has hundreds of schemas, so it reads bytes and makes no values.
func look(raw json.RawMessage, untilTyped bool) (deepest int, typed bool) {
	depth := 0
	for i := 0; i < len(raw); i++ {
		switch raw[i] {
		case '{', '[':
			depth++
			deepest = max(deepest, depth)
		case '}', ']':
			depth--
		case '"':
			from := i + 1
			i = closing(raw, from)
			if depth == 1 && i < len(raw) && string(raw[from:i]) == "type" {
				if typed = typed || bytes.HasPrefix(bytes.TrimLeft(raw[i+1:], " \t\r\n"), []byte(":")); typed &&
					untilTyped {
					return deepest, typed
				}
			}
		}
	}
	return deepest, typed
}

// closing returns where the quote is that ends a string of JSON, or the length of raw.
func closing(raw []byte, from int) int {
	for at := from; ; at++ {
		next := bytes.IndexByte(raw[at:], '"')
		if next < 0 {
			return len(raw)
		}
		at += next
		escapes := 0
		for at-escapes > from && raw[at-escapes-1] == '\\' {
			escapes++
		}
		if escapes%2 == 0 {
			return at
		}
	}
}

func (t Tool) size() int { return len(t.Name) + len(t.Description) + len(t.Parameters) + perTool }

// definition returns a tool as models read it. Parameters without a type, as some clients send them,
// are those of an object.
func (t Tool) definition() tool.Definition {
	d := tool.Definition{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
	if t.plain() {
		d.Parameters = nil
		return d
	}
	var head map[string]json.RawMessage
	if _, typed := look(t.Parameters, true); !typed && json.Unmarshal(t.Parameters, &head) == nil {
		head["type"] = json.RawMessage(`"object"`)
		d.Parameters, _ = json.Marshal(head) // it was read from JSON
	}
	return d
}

// NewID returns the ID of a call for the client. Nobody can guess it.
func (o Offer) NewID() string {
	token := o.Token
	if token == "" {
		token = NewToken()
	}
	return (idPrefix + token + rand.Text())[:idLength]
}

// NewToken returns a token that no other conversation has.
func NewToken() string { return rand.Text()[:tokenTo-tokenFrom] }

// TokenOf returns the token of the newest call in a conversation that [Offer.NewID] made; empty if
// there is none.
func TokenOf(messages []chat.Message) string {
	for _, m := range slices.Backward(messages) {
		for _, c := range m.Calls {
			if token := tokenIn(c.ID); token != "" {
				return token
			}
		}
	}
	return ""
}

func tokenIn(id string) string {
	other := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < '2' || r > '7') } // as rand.Text writes
	if len(id) != idLength || !strings.HasPrefix(id, idPrefix) || strings.ContainsFunc(id[tokenFrom:], other) {
		return ""
	}
	return id[tokenFrom:tokenTo]
}

// CheckResults reports the first thing in the results of a client that is beyond the limits.
func CheckResults(results []chat.Result) error {
	if len(results) > MaxResults {
		return fmt.Errorf("it brings %d results, at most %d are accepted", len(results), MaxResults)
	}
	for i, r := range results {
		switch {
		case r.CallID == "" || len(r.CallID) > maxID:
			return fmt.Errorf("result %d: the ID of its call has %d bytes; 1 to %d are accepted", i+1, len(r.CallID),
				maxID)
		case len(r.Text) > MaxResult:
			return fmt.Errorf("the result of call %q has %d bytes, at most %d are accepted", r.CallID, len(r.Text),
				MaxResult)
		}
	}
	return nil
}
