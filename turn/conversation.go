package turn

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/workflow"
)

// conversation is what a turn was given, what has been said in it, and the state beside that.
// Each piece of it leaves the turn as a step.
type conversation struct {
	config  *Config
	ctx     context.Context //nolint:containedctx // a turn lives as long as the call of Run that made it
	in      Input
	yield   func(Event, error) bool
	state   session.State
	was     session.State  // before the turn
	sent    []chat.Message // to the model, with its next request
	before  []chat.Message // of the session: what is sent before the newest message of the user, as the store has it
	own     []chat.Message // from that message on
	called  int            // calls of the turn before the round
	waits   bool           // calls may wait for approval
	begun   time.Time
	opened  bool // the turn has begun, so that it is to be closed if it fails
	stopped bool
	next    Step // as far as it is known: its first message, which the inbox has until then, and how it ends the turn
	done    End
}

// suspended reports whether the host leaves the turn open.
func (c *conversation) suspended() bool { return errors.Is(context.Cause(c.ctx), ErrSuspended) }

// halted reports whether a person stopped the turn.
func (c *conversation) halted() bool { return errors.Is(context.Cause(c.ctx), ErrStopped) }

// flow is the run of a workflow; before the turn has a state of its own, the session's.
func (c *conversation) flow() *session.Flow {
	if c.state.Flow != nil {
		return c.state.Flow
	}
	return c.in.Session.Flow
}

// flows reports whether a workflow runs in the session.
func (c *conversation) flows() bool { return c.in.Plan != nil && c.flow().Runs() }

// charge counts tokens that the turn has used.
func (c *conversation) charge(used model.Tokens, price model.Price) {
	c.done.Usage.Add(used)
	sum := used.Input + used.Output
	if c.in.MaxTokens > 0 {
		c.state.Tokens += sum
	}
	f := c.state.Flow
	if f == nil || !c.flows() {
		return
	}
	f.Tokens += sum
	f.AllTokens += sum
	if price != (model.Price{}) {
		f.Cost += price.Of(used)
	} else {
		f.Unpriced += sum
	}
}

// spent reports whether the turn has used the tokens that it may.
func (c *conversation) spent() bool { return c.in.MaxTokens > 0 && c.state.Tokens >= c.in.MaxTokens }

// count counts the steps and calls in the stored messages of the turn.
func (c *conversation) count() {
	messages := c.sent
	c.done.Steps, c.called = c.state.Turn.Steps, c.state.Turn.Calls
	for _, m := range messages[lastQuestion(messages)+1:] {
		if m.Role == chat.Assistant {
			c.done.Steps++
			c.called += len(m.Calls)
		}
		if slices.ContainsFunc(m.Calls, func(call chat.Call) bool { return call.Client }) {
			c.done.Steps = 0 // the client decided to go on
		}
	}
}

// emit yields an event, and reports whether the turn goes on.
func (c *conversation) emit(e Event) bool {
	if !c.stopped && !c.yield(e, nil) {
		c.stopped = true
	}
	return !c.stopped
}

// remember makes messages part of the conversation.
func (c *conversation) remember(messages ...chat.Message) bool {
	for _, m := range messages {
		if m.Role == chat.User { // what the turn has had so far may give way to what follows
			for i := range c.own {
				c.own[i].Files = chat.WithoutData(c.own[i].Files)
			}
			c.before, c.own = append(slices.Clip(c.before), withoutImages(c.own)...), nil
		}
		m.Spent = nil // a request tells a model nothing of it
		c.own, c.sent = append(c.own, m), append(c.sent, m)
	}
	c.touch()
	return c.store(messages...)
}

// store yields a step.
func (c *conversation) store(messages ...chat.Message) bool {
	if len(c.next.Messages) > 0 {
		messages, c.next.Messages = append(c.next.Messages, messages...), nil
	}
	c.state.Sent += len(messages)
	step := c.next
	step.State, step.Messages = c.state.Clone(), withoutImages(messages)
	if step.Done != nil {
		step.Done.Flow = c.state.Flow.Brief()
	}
	return c.emit(Event{Step: &step})
}

// touch records when the model was last asked.
func (c *conversation) touch() {
	if !c.in.Facts.Time.IsZero() {
		c.state.Front.Used = c.in.Facts.Time.Add(time.Since(c.begun)).Round(time.Second)
	}
}

// finish ends the turn with an answer.
func (c *conversation) finish(answer chat.Message) {
	c.done.Reply = answer.Text
	c.leaveFlow()
	var told []chat.Message
	c.state, told = closed(c.state, c.in.Facts.Time)
	c.next.Done = &c.done
	if c.remember(append([]chat.Message{answer}, told...)...) {
		c.emit(Event{Done: &c.done})
	}
}

// leaveFlow gives the session its skill back when a run has ended, and drops what only the
// run needed.
func (c *conversation) leaveFlow() {
	f := c.state.Flow
	if f == nil || f.Outcome == "" || c.in.Plan == nil {
		return
	}
	c.state.Skill = f.Before
	f.Results, f.Earlier, f.Files, f.Before = nil, nil, nil, ""
}

// fail ends the turn with an error.
func (c *conversation) fail(err error) {
	err = c.config.Secrets.Redactor().Error(err)
	if c.opened && c.halted() {
		c.halt("")
		return
	}
	if c.opened && !c.suspended() {
		var left, told []chat.Message
		if errors.Is(err, model.ErrTooLong) || errors.Is(err, model.ErrRequest) {
			left = append(left, c.refusal(err))
			if c.done.Steps == 1 && (len(c.before) == 0 || !errors.Is(err, model.ErrTooLong)) {
				c.takeBack()
			}
		}
		c.state, told = closed(c.state, c.in.Facts.Time)
		c.next.Failed = err
		c.store(append(left, told...)...)
	}
	if !c.stopped {
		c.stopped = true
		c.yield(Event{}, err)
	}
}

// drop leaves out so many of the oldest messages that were sent until now.
func (c *conversation) drop(count int) {
	c.in.dropped, c.before = prompt.Live(c.before[:count]), c.before[count:]
	c.in.kept = prompt.Live(c.before)
	c.state.Sent -= count
	c.in.cut += count
}

// refusal is the message that ends a turn whose request the provider refused. The turn
// is not sent again, except for this message when calls had run.
func (c *conversation) refusal(err error) chat.Message {
	lang, why := c.in.Facts.Language, model.ErrRequest
	if errors.Is(err, model.ErrTooLong) {
		why = model.ErrTooLong
	}
	text := phrase.In(lang, "This message could not be answered: %v.", why)
	var ran []string
	for _, m := range c.sent[lastQuestion(c.sent):] {
		for _, call := range m.Calls {
			ran = append(ran, reached(call))
		}
	}
	if len(ran) > 0 {
		text += " " + phrase.In(lang, "These calls had been made: %s.", strings.Join(ran, ", "))
	}
	return chat.Message{Role: chat.Assistant, Text: text, Refused: true, Time: c.in.Facts.Time}
}

// takeBack makes the next request begin as the last one before the turn did, which the
// provider may still have in its cache: the message alone was refused, and it is not sent
// again. Once calls have run, the provider has what began with them.
func (c *conversation) takeBack() {
	was := c.was
	if was.Front.Mode == "" { // nothing was sent before
		return
	}
	c.state.Sent, c.state.Summary = c.state.Sent+c.in.cut, was.Summary
	c.state.Declared, c.state.Offered, c.state.Front = was.Declared, was.Offered, was.Front
	c.state.Directory, c.state.SkillList = was.Directory, was.SkillList
}

// halt ends a turn that a person stopped. Said is what the model had said.
func (c *conversation) halt(said string) {
	note := stopNote(c.in.Facts.Language, c.sent, c.state.Turn.Calls)
	c.done.Stopped = true
	if c.flows() {
		workflow.End(c.state.Flow, workflow.Stopped, "a person stopped it")
	}
	text := note
	if said != "" {
		note = "\n\n" + note
		text = said + note
	}
	c.emit(Event{Text: note})
	c.finish(chat.Message{Role: chat.Assistant, Text: text})
	c.stopped = true
}
