// Package chat holds the words of a conversation: messages, the calls an
// assistant asks for, their results, and the facts about who is asking.
//
// It is data only. Nothing here does I/O, and every other package may import
// it. Values are plain structs: copy them freely, but treat slices inside a
// value that came from elsewhere as read-only.
package chat

import (
	"encoding/json"
	"slices"
	"time"
)

// Role tells who speaks in a [Message].
type Role string

// The roles. The system prompt is not a message: it travels beside them.
const (
	User      Role = "user"
	Assistant Role = "assistant"
	Tool      Role = "tool"
)

// Message is one entry of a conversation.
type Message struct {
	Role Role `json:"role"`
	// Text is what was said. It may be empty in an assistant's message that
	// only asks for calls, and in a tool's message.
	Text string `json:"text,omitempty"`
	// Note is the host's own words to the model, put in front of a user's text:
	// the time, the tools announced with this message. It is stored with the
	// message, so that a later request repeats the same bytes.
	Note string `json:"note,omitempty"`
	// Tools are the names of the tools that Note announces.
	Tools []string `json:"tools,omitempty"`
	// Calls are the tool calls an assistant's message asks for.
	Calls []Call `json:"calls,omitempty"`
	// Result is what a call gave; only in messages of role [Tool].
	Result *Result `json:"result,omitempty"`
	// Why is what the tools of a user's message were selected by, as JSON; nil when
	// that is not known. It is for operators: it names tools that the user may not
	// see. Models never see it.
	Why json.RawMessage `json:"why,omitempty"`
	// Time is when the message was made; zero when unknown. Models never see it.
	Time time.Time `json:"time,omitzero"`
}

// Call is one tool call an assistant asks for.
type Call struct {
	// ID ties the call to its result. It is unique within a conversation.
	ID string `json:"id"`
	// Name is the tool's name as the model wrote it, which may be wrong.
	Name string `json:"name"`
	// Arguments are the JSON text the model wrote, which may be broken.
	Arguments json.RawMessage `json:"arguments,omitempty"`
}

// Result is what a call gave: one part for the model and one for the user.
type Result struct {
	// CallID and Name say which call this answers. A tool leaves them empty;
	// whoever runs the call fills them in.
	CallID string `json:"call_id,omitempty"`
	Name   string `json:"name,omitempty"`
	// Text is what the model reads.
	Text string `json:"text"`
	// Tools are the names of the tools that Text describes. A provider that defers
	// tools loads them instead of showing Text.
	Tools []string `json:"tools,omitempty"`
	// Failed says that the call did not do what it was asked to; Text tells the
	// model why.
	Failed bool `json:"failed,omitempty"`
	// Pending says that the work goes on after the call: Text tells the model so,
	// and the outcome arrives later as a message of its own.
	Pending bool `json:"pending,omitempty"`
	// Images are pictures that the model sees beside Text, in the turn that asked for
	// them. They are not stored, and a model that sees none has Text alone.
	Images []File `json:"-"`
	// View is what the user is shown; nil means nothing beside the answer.
	View *View `json:"view,omitempty"`
}

// View is the part of a result that is made for people, not for the model.
type View struct {
	Text  string          `json:"text,omitempty"`
	Data  json.RawMessage `json:"data,omitempty"`
	Files []File          `json:"files,omitempty"`
	// Error is a failure in words for the user.
	Error string `json:"error,omitempty"`
}

// File is something a tool hands to the user.
type File struct {
	Name      string `json:"name"`
	MediaType string `json:"media_type,omitempty"`
	Data      []byte `json:"data,omitempty"`
}

// Facts are what is known about one question: who asks, where and when.
// Visibility is decided from them and from nothing else. The zero value is a
// caller about whom nothing is known.
type Facts struct {
	Agent   string            `json:"agent,omitempty"`
	Channel string            `json:"channel,omitempty"`
	Chat    string            `json:"chat,omitempty"`
	User    string            `json:"user,omitempty"`
	Roles   []string          `json:"roles,omitempty"`
	Session string            `json:"session,omitempty"`
	Skill   string            `json:"skill,omitempty"`
	Attrs   map[string]string `json:"attrs,omitempty"`
	// Time is the moment of the question. It is passed in, never read from a
	// clock, so that a decision can be repeated.
	Time time.Time `json:"time,omitzero"`
}

// HasRole reports whether the caller has the role.
func (f Facts) HasRole(role string) bool { return slices.Contains(f.Roles, role) }
