package modeltest

import (
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Reply is one answer of a script. The zero value is an empty answer.
type Reply struct {
	// Thinking is thought aloud before the answer, where a model's reader does not
	// see it.
	Thinking string
	// Text is what is said, in pieces that are sent one after the other.
	Text []string
	// Calls are asked for then, by the names that the provider was told. A call
	// without ID gets one. Arguments are sent as they are, broken or not.
	Calls []chat.Call
	// Stop says why the answer ends; empty means model.ToolCalls when there are
	// Calls, else model.Done. With model.Refused the text is a refusal.
	Stop model.Stop
	// Usage is what is counted.
	Usage model.Tokens

	// Status, when it is 400 or more, makes this an error of that HTTP status.
	Status int
	// Message is what the error says; empty means the status' name.
	Message string
	// Code is the error's type or code; empty means the provider's for the status.
	Code string
	// TooLong makes it the provider's error for a request that does not fit. The
	// status is then 400.
	TooLong bool
	// Late sends the error in the midst of an answer that began well, after Text.
	Late bool
	// Header is sent beside the usual.
	Header map[string]string

	// Split is how many bytes are sent at once, whatever they are a part of; 0 means
	// whole events.
	Split int
	// Drop ends the connection after Text, within the answer.
	Drop bool
	// Hold stops after Text and waits until the client has gone, or Close.
	Hold bool
	// Raw, when not empty, is the whole body, sent in place of all else.
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
