package endpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
)

// Answer is an answer as far as it has arrived. The adapter adds the events to it.
type Answer struct {
	// Calls are the calls in their order, with the provider's names of the tools.
	Calls []*Call
	// Usage is what the provider counted; nil if it has not said so.
	Usage *model.Tokens
	// Stop is Length or Refused if the answer ended so, and empty otherwise.
	Stop model.Stop
	// Begun says that there was an event of an answer, and Complete that the answer may end
	// here, though the usage may follow.
	Begun, Complete bool
}

// Call is a call that is being assembled from pieces with the same index.
type Call struct {
	chat.Call
	Index int
}

// Ask sends a request whose tools have the given names, and returns the body of the answer.
type Ask func(ctx context.Context, req model.Request, names model.Names) (io.ReadCloser, error)

// Read adds an event to an answer and returns its text. The error [io.EOF] ends the answer.
type Read func(a *Answer, e Event) (text string, err error)

// Stream implements the method of [model.Model] with the two functions of an adapter.
func (e *Endpoint) Stream(ctx context.Context, req model.Request, ask Ask, read Read) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		names := model.NewNames(req)
		body, err := ask(ctx, req, names)
		if err != nil {
			yield(model.Event{}, e.failure(ctx, err))
			return
		}
		defer body.Close()
		var a Answer
		for text, err := range a.texts(body, read) {
			if err != nil {
				yield(model.Event{}, e.failure(ctx, err))
				return
			}
			if !yield(model.Event{Text: text}, nil) {
				return
			}
		}
		drain(body, cancel)
		for _, call := range a.calls(req, names) {
			if !yield(model.Event{Call: call}, nil) {
				return
			}
		}
		yield(model.Event{Stop: a.stop(), Usage: a.Usage}, nil)
	}
}

// texts reads a body to the end of the answer and yields the text as it arrives. A body
// that ends or fails before the answer does is an error.
func (a *Answer) texts(body io.Reader, read Read) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for event, err := range events(body) {
			if err != nil && a.Complete {
				return // only the usage is missing
			}
			var text string
			if err == nil {
				text, err = read(a, event)
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield("", err)
				return
			}
			if text != "" && !yield(text, nil) {
				return
			}
		}
		switch {
		case !a.Begun:
			yield("", errors.New("the server sent an empty answer, or one of another protocol"))
		case !a.Complete:
			yield("", io.ErrUnexpectedEOF)
		}
	}
}

// calls returns the calls, each with the tool's own name and an ID that is new to the
// conversation. If the answer hit its token limit, the last call may be incomplete: without
// complete arguments it is dropped, because repairing them would be guessing. A refused
// answer has no calls.
func (a *Answer) calls(req model.Request, names model.Names) []*chat.Call {
	if len(a.Calls) == 0 || a.Stop == model.Refused {
		return nil
	}
	used := map[string]bool{}
	for i := range req.Messages {
		for _, c := range req.Messages[i].Calls {
			used[c.ID] = true
		}
	}
	var whole []*chat.Call
	for i, c := range a.Calls {
		cut := a.Stop == model.Length && i == len(a.Calls)-1 && !json.Valid(c.Arguments)
		if cut || c.Name == "" {
			continue
		}
		c.Name = names.Own(c.Name)
		for n := len(used) + 1; c.ID == "" || used[c.ID]; n++ {
			c.ID = fmt.Sprintf("call_%d", n)
		}
		used[c.ID] = true
		whole = append(whole, &c.Call)
	}
	return whole
}

func (a *Answer) stop() model.Stop {
	switch {
	case a.Stop != "":
		return a.Stop
	case len(a.Calls) > 0:
		return model.ToolCalls
	}
	return model.Done
}
