package turn

import (
	"slices"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/clienttool"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// This file hands the calls of the client's tools over, and takes their results. The calls of a
// round that are etui's own run first, and their results are stored with it.

// handed returns the calls of the round whose results the client has to bring. A client that takes
// one call at a time gets the first one; the others have results then.
func (c *calls) handed() (open []chat.Call) {
	for _, call := range c.round.answer.Calls {
		if call.Client && !answered(c.conv.sent, call) {
			open = append(open, call)
		}
	}
	return open
}

// handOver ends the turn for now: it waits for the results of the client. Results are those of the
// round's other calls.
func (c *calls) handOver(open []chat.Call, results []chat.Message) {
	c.keepIntent()
	if c.conv.in.Client.Serial {
		for _, call := range open[1:] {
			results = append(results, answer(call, tool.Failure(
				"%s was not called: the client takes one call at a time; make this one again after the result of the first",
				call.Name,
			)))
		}
		open = open[:1]
	}
	f, until := c.conv.in.Facts, time.Time{}
	if !f.Time.IsZero() {
		until = f.Time.Add(clienttool.Wait).Round(time.Second)
	}
	for _, call := range open {
		c.front.gate().record(c.conv.ctx, audit.Decision{
			Tool: call.Name, Source: "client", Allowed: true, Reason: "it is the client's tool, which runs the call itself",
		}, call.Arguments)
		c.conv.state.Awaits = append(c.conv.state.Awaits, session.Await{
			Call: call.ID, Tool: call.Name, User: f.Record(), For: session.Client, Until: until,
		})
	}
	c.conv.done.Handed, c.conv.done.Reply = open, c.round.answer.Text
	c.conv.done.State, c.conv.done.StateOf = c.round.answer.State, c.round.answer.StateOf
	c.conv.next.Done = &c.conv.done
	if c.conv.remember(results...) {
		c.conv.emit(Event{Done: &c.conv.done})
	}
	c.conv.stopped = true
}

// given takes the results that the client has brought out of the input, as messages, in the order of
// their calls. The calls wait no longer.
func (c *conversation) given() (given []chat.Message) {
	s := &c.state
	if s.Turn.ID == "" {
		s = &c.in.Session.State
	}
	for _, call := range unanswered(c.in.Session.Messages) {
		i := slices.IndexFunc(c.in.Results, func(r chat.Result) bool { return r.CallID == call.ID })
		if i >= 0 && s.Waits(call.ID, session.Client) {
			s.Awaits = without(s.Awaits, call.ID)
			given = append(given, answer(call, c.in.Results[i]))
		}
	}
	return given
}
