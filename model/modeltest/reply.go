package modeltest

import (
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Reply is one answer of a script. The zero value is an empty answer.
type Reply struct {
	// Thinking comes before the answer, hidden from the reader.
	Thinking string
	// Text is sent piece by piece.
	Text []string
	// Calls follow, with the names that the provider received. A call without an ID
	// gets one. Arguments are sent as they are, malformed or not.
	Calls []chat.Call
	// Stop is why the answer ends; empty means model.ToolCalls if there are Calls,
	// else model.Done. With model.Refused the text is a refusal.
	Stop model.Stop
	// Usage is the provider's count.
	Usage model.Tokens

	// Status, if 400 or more, makes this an error with that HTTP status.
	Status int
	// Message is the error's message; empty means the name of the status.
	Message string
	// Code is the error's type or code; empty means the provider's default for the
	// status.
	Code string
	// TooLong makes this the provider's error for a request that does not fit, with
	// status 400.
	TooLong bool
	// Late sends the error after Text, in the middle of an answer that began well.
	Late bool
	// Header is sent in addition to the usual headers.
	Header map[string]string

	// Split is the number of bytes sent at once, regardless of boundaries; 0 sends
	// whole events.
	Split int
	// Drop closes the connection after Text, before the end of the answer.
	Drop bool
	// Hold stops after Text until the client disconnects or Close is called.
	Hold bool
	// Raw, if not empty, is the whole body and replaces everything else.
	Raw string
	// Type is the media type of Raw; empty means that of a stream.
	Type string
}

// stop is why the reply ends.
func (r Reply) stop() model.Stop {
	switch {
	case r.Stop != "":
		return r.Stop
	case len(r.Calls) > 0:
		return model.ToolCalls
	}
	return model.Done
}
