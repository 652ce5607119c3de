package turn

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/tool"
)

// Phase is how far the last turn of a session has come.
type Phase string

// The phases.
const (
	// Finished: there is no open turn.
	Finished Phase = "done"
	// Asked: the model has to answer the question, or the results of calls.
	Asked Phase = "asked"
	// Calling: calls have no result yet. The first of them may have run.
	Calling Phase = "calling"
	// Waiting: an approval must come first, the outcome of a call that goes on, or the results of
	// the client.
	Waiting Phase = "waiting"
)

// PhaseOf derives the phase from what is stored of a session.
func PhaseOf(s session.Session) Phase {
	open := unanswered(s.Messages)
	approval := slices.ContainsFunc(open, func(c chat.Call) bool {
		return s.Waits(c.ID, session.Approval) || s.Waits(c.ID, session.Client)
	})
	switch {
	case s.Turn.ID != "" && approval, s.Turn.ID == "" && len(s.Awaits) > 0:
		return Waiting
	case s.Turn.ID == "":
		return Finished
	case len(open) > 0:
		return Calling
	}
	return Asked
}

// verdict returns what a person's answer means, and why.
func verdict(a session.Answer) (effect rules.Effect, text string) {
	effect, text = rules.Deny, "declined"
	switch {
	case a.Approved:
		effect, text = rules.Allow, "approved"
	case a.Withdrawn:
		text = "withdrawn"
	}
	if a.By != "" {
		text += " by " + a.By
	}
	if a.Reason != "" {
		text += ": " + a.Reason
	}
	return effect, text
}

// ErrSuspended is the cause with which a host cancels the context of a turn to leave the
// turn open, so that another process can resume it. With any other cause the turn ends.
var ErrSuspended = session.ErrSuspended

// Awaits is the error of a call that waits for an approval.
type Awaits struct{ session.Await }

func (*Awaits) Error() string { return "the call awaits approval" }

// decisionOn returns a person's decision about a call of the turn; nil if there is none.
func decisionOn(answers []session.Answer, call string) *session.Answer {
	return answerTo(answers, call, false)
}

// replyTo returns a person's answer to the question of a call; nil if there is none.
func replyTo(answers []session.Answer, call string) *session.Answer {
	return answerTo(answers, call, true)
}

func answerTo(answers []session.Answer, call string, question bool) *session.Answer {
	for i, a := range slices.Backward(answers) { // the last one: a call may have several questions
		if a.Call == call && question == (a.Question != "") {
			return &answers[i]
		}
	}
	return nil
}

// Close ends the open turn of a session without running it. It returns the state and
// the messages to store: results for the calls that have none, and the outcomes that
// came meanwhile. The tools of c tell which calls are safe; the first call of another
// kind may have run.
func Close(s session.Session, c *catalog.Catalog, why string, now time.Time) (session.State, []chat.Message) {
	var left []chat.Message
	for i, call := range unanswered(s.Messages) {
		result := tool.Failure("the call was not run: %s", why)
		switch {
		case call.Client:
			result = tool.Failure("the client gave no result: %s", why)
		case s.Waits(call.ID, session.Approval):
			result = tool.Failure("the call was not approved: %s", why)
			if w := awaited(s.Awaits, call.ID); w.Apart != nil {
				result = tool.Text("The call has not run: it still waits for an answer (" + w.ID + ") while the conversation goes on. " +
					"Its outcome comes as a message of its own. Do not call it again for that; if the user asks, it is not decided yet.")
			}
		case i == 0 && (slices.Contains(s.Turn.Once, call.ID) || !safe(c, call)):
			result = unknown(call)
		}
		left = append(left, answer(call, result))
	}
	state, told := closed(s.State, now)
	return counted(state, append(left, told...))
}

// Leave ends the open turn of a session that waits for people. Its calls wait on.
func Leave(s session.Session, c *catalog.Catalog, now time.Time) (session.State, []chat.Message) {
	s.Awaits = apart(s)
	return Close(s, c, "a new message came first", now)
}

// safe reports whether a call changes nothing. A call of a tool that is gone may have
// changed something.
func safe(c *catalog.Catalog, call chat.Call) bool {
	_, there := c.Get(reached(call))
	return repeats(c, call) == tool.Safe && (there || selection.Meta(reached(call)))
}

// closed returns a state without its open turn, and the outcomes that came meanwhile.
func closed(s session.State, now time.Time) (session.State, []chat.Message) {
	s = s.Clone()
	s.Turn = session.Turn{}
	s.Awaits = slices.DeleteFunc(s.Awaits, func(a session.Await) bool {
		return a.For == session.Approval && a.Apart == nil || a.For == session.Client
	})
	return tell(s, now)
}

// maxApart is how many calls of a session wait apart. One more ends when its conversation goes on.
const maxApart = 20

// apart returns the awaits of a session whose calls wait on while its conversation goes on.
func apart(s session.Session) []session.Await {
	list, n := slices.Clone(s.Awaits), 0
	for _, a := range list {
		if a.Apart != nil {
			n++
		}
	}
	for _, call := range unanswered(s.Messages) {
		if a := awaited(list, call.ID); a != nil && n < maxApart {
			a.Apart = &session.ApartCall{Call: call, Request: s.Turn.Request}
			n++
		}
	}
	return list
}

// awaited returns what waits for people's answer about a call; nil if nothing does.
func awaited(list []session.Await, call string) *session.Await {
	i := slices.IndexFunc(list, func(a session.Await) bool { return a.Call == call && a.For == session.Approval })
	if i < 0 {
		return nil
	}
	return &list[i]
}

// resumes reports whether the input takes up the session's open turn.
func (in Input) resumes() bool {
	return in.Text == "" && len(in.Files) == 0 && in.Outcome == nil && in.Session.Turn.ID != ""
}

// lastRound returns the index of the last answer with calls after the last message of
// the user; -1 if there is none.
func lastRound(messages []chat.Message) int {
	for i, m := range slices.Backward(messages) {
		switch {
		case m.Role == chat.User:
			return -1
		case len(m.Calls) > 0:
			return i
		}
	}
	return -1
}

// unanswered returns the calls of the last round that have no result.
func unanswered(messages []chat.Message) []chat.Call {
	at := lastRound(messages)
	if at < 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(messages[at].Calls), func(c chat.Call) bool { return answered(messages[at+1:], c) })
}

func answered(messages []chat.Message, c chat.Call) bool {
	return slices.ContainsFunc(messages, func(m chat.Message) bool { return m.Result != nil && m.Result.CallID == c.ID })
}

// maxResumed is how often a turn is resumed after its process ended unexpectedly. After that, the
// turn itself is probably what ends the process.
const maxResumed = 3

// resume continues the session's open turn where its stored steps end. Stored messages
// stay as they are; etui selects again from the current tools.
func (t *run) resume() {
	c, f := t.conv, t.front
	c.in.Again = true
	asked := lastQuestion(c.in.Session.Messages)
	if asked >= 0 {
		c.in.Text = c.in.Session.Messages[asked].Text
	}
	if c.flows() {
		c.in.Text = t.flow.phaseQuestion()
	}
	c.in = f.runner.know(c.in)
	newest := max(0, lastQuestion(c.in.stored))
	c.before, c.own = c.in.stored[:newest], slices.Clone(c.in.stored[newest:])
	if f.summarize(); c.stopped {
		return
	}
	f.take(c.in, f.choose(c.in))
	kept, at := c.in.kept, lastRound(c.in.kept)
	if at < 0 || len(unanswered(kept)) == 0 {
		at = len(kept)
	}
	sent, err := f.build(kept[:at], chat.Message{Time: c.in.Facts.Time})
	if err != nil {
		c.fail(err) // nothing has run, so the turn stays open
		return
	}
	c.opened = true
	c.sent = append(sent[:len(sent)-1], kept[at:]...)
	f.show()
	c.count()
	crashed := len(c.in.Answers)+len(c.in.Results) == 0 && !c.in.Left && !c.in.Unstored
	if at < len(kept) {
		t.calls.reopen(kept[at], crashed)
	}
	given := c.given()
	c.state.Turn.Item = c.in.Item
	if crashed {
		c.state.Turn.Resumed++
	}
	c.state.Sent = len(c.in.stored)
	c.emit(Event{Selection: f.selected})
	c.sent, c.own = append(c.sent, given...), append(c.own, given...)
	c.store(given...) // before anything runs: an approved call no longer waits
	if c.state.Turn.Resumed > maxResumed {
		t.abandon()
	}
}

// lastQuestion returns the index of the newest message of the user; -1 if there is none.
func lastQuestion(messages []chat.Message) int {
	for i, m := range slices.Backward(messages) {
		if m.Role == chat.User {
			return i
		}
	}
	return -1
}

// reopen begins a round with the calls of a stored answer that have no result. The first
// of them may have run before the process ended, unless it awaits approval. Crashed says that the
// process ended unexpectedly.
func (c *calls) reopen(answer chat.Message, crashed bool) {
	c.conv.called -= len(answer.Calls)
	c.round = &round{answer: answer, stored: true, jobs: c.jobs(answer.Calls)}
	c.round.jobs = slices.DeleteFunc(c.round.jobs, func(j *job) bool { return answered(c.conv.sent, j.call) })
	state := &c.conv.state
	if len(c.round.jobs) == 0 { // the rest are the client's
		return
	}
	first := c.round.jobs[0]
	call := first.call
	said := decisionOn(state.Turn.Answers, call.ID)
	first.broken = !state.Waits(call.ID, session.Approval) && (said == nil || said.Approved) &&
		replyTo(state.Turn.Answers, call.ID) == nil
	switch {
	case !crashed:
		state.Turn.Marked = nil
	case first.broken && (slices.Contains(state.Turn.Once, call.ID) ||
		c.conv.marks(call) >= marksOf(repeats(c.front.selector.Catalog(), call))):
		state.Turn.Ended = append(state.Turn.Ended, call.ID)
	}
	for _, said := range c.conv.in.Answers {
		c.heed(said, awaited(state.Awaits, said.Call), said.Call)
	}
}

// heed takes what people say about what waits, if it does, for a call of the turn.
func (c *calls) heed(said session.Answer, a *session.Await, call string) {
	if a == nil {
		return
	}
	state := &c.conv.state
	said.Question, said.Resume, said.Hash, said.Digest, said.Call = a.Question, a.Resume, a.Hash, a.Digest, call
	state.Turn.Answers = append(state.Turn.Answers, said)
	if said.Approved && said.Lasts == session.ForSession && a.Question == "" {
		granted := append(state.Granted, session.Grant{Tool: a.Tool, Hash: a.Hash, User: a.User, By: said.By})
		state.Granted = granted[max(0, len(granted)-maxGranted):]
	}
	state.Awaits = without(state.Awaits, a.Call)
}

// takeUp begins the turn with a call that waited apart until people decided about it. The call gets an
// ID of its own: the one that it had has a result.
func (c *calls) takeUp(call chat.Call) {
	waited := call.ID
	call.ID = c.conv.newID(nil, 0)
	for _, said := range c.conv.in.Answers {
		c.heed(said, awaited(c.conv.was.Awaits, waited), call.ID)
	}
	c.intend(chat.Message{Role: chat.Assistant, Calls: []chat.Call{call}, Time: c.conv.in.Facts.Time})
	c.keepIntent()
}

// maxGranted is how many approvals for a session it keeps, the newest ones.
const maxGranted = 100

// unknown returns the result of a call that may have run before the process ended and
// must not run twice, and logs it for the operator.
func (c *calls) unknown(call chat.Call) chat.Result {
	c.conv.config.Log.WarnContext(c.conv.ctx, "outcome of a call unknown",
		"tool", reached(call), "user", c.conv.in.Facts.User, "session", c.conv.in.Session.Key)
	return unknown(call)
}

func unknown(c chat.Call) chat.Result {
	r := tool.Failure("The program ended before %s gave a result. Whether it did what it was asked to is unknown, so it was not run again. Tell the user, and find out before you repeat it.", reached(c))
	r.View.Error = fmt.Sprintf("It is unknown whether %s did its work: the program ended before it gave a result. It was not run again.", reached(c))
	r.Unknown = true
	return r
}

// IDLength is how many letters and digits the ID of an approval has.
const IDLength = 6

// await suspends the turn until a person answers. The jobs are the ones that ran last.
func (c *calls) await(jobs []*job, results []chat.Message) {
	c.keepIntent()
	state := &c.conv.state
	for _, j := range jobs {
		if j.awaits == nil {
			continue
		}
		a := *j.awaits
		answers := slices.Clone(state.Turn.Answers)
		state.Turn.Answers = slices.DeleteFunc(answers, func(said session.Answer) bool { // it is asked again
			return said.Call == j.call.ID && said.Question == "" && a.Question == ""
		})
		a.Call, a.User, a.For = j.call.ID, c.conv.in.Facts.Record(), session.Approval
		a.ID = strings.ToLower(rand.Text()[:IDLength])
		if until := time.Now().Add(c.conv.config.Expire).Round(time.Second); c.conv.config.Expire > 0 &&
			(a.Until.IsZero() || until.Before(a.Until)) {
			a.Until = until
		}
		same := func(b session.Await) bool { return b.Call == a.Call && b.For == a.For }
		if i := slices.IndexFunc(state.Awaits, same); i >= 0 {
			a = state.Awaits[i] // people know it by its ID
		} else {
			state.Awaits = append(state.Awaits, a)
		}
		c.conv.done.Awaits = append(c.conv.done.Awaits, a)
	}
	c.conv.next.Done = &c.conv.done
	if !c.conv.remember(results...) {
		return
	}
	for i := range c.conv.done.Awaits {
		c.conv.emit(Event{Await: &c.conv.done.Awaits[i]})
	}
	c.conv.emit(Event{Done: &c.conv.done})
	c.conv.stopped = true
}

// settle closes the open turn that a new message replaces, and returns the messages to
// store before the new question.
func (t *run) settle() []chat.Message {
	c := t.conv
	var left []chat.Message
	if s := &c.in.Session; s.Turn.ID != "" {
		given := c.given()
		s.Messages = append(slices.Clip(s.Messages), given...)
		if c.waits && !c.flows() && s.Turn.Request != nil {
			s.Awaits = apart(*s)
		}
		s.State, left = Close(*s, t.front.selector.Catalog(), "a new message came first", c.in.Facts.Time)
		s.Messages = append(s.Messages, left...)
		left = append(given, left...)
	}
	if c.in.Outcome != nil {
		c.in.Session.Awaits = without(c.in.Session.Awaits, c.in.Outcome.Call.ID)
	}
	return left
}

// abandon ends a turn that was resumed too often.
func (t *run) abandon() {
	c := t.conv
	text := fmt.Sprintf("I could not finish this: the program ended %d times while I worked on it.", c.state.Turn.Resumed)
	c.config.Log.ErrorContext(c.ctx, "turn abandoned", "session", c.in.Session.Key, "resumed", c.state.Turn.Resumed)
	open := session.Session{State: session.State{Turn: session.Turn{Once: c.state.Turn.Once}}, Messages: c.in.kept}
	_, left := Close(open, t.front.selector.Catalog(), "its turn was given up", c.in.Facts.Time)
	t.calls.round = nil
	if len(left) > 0 && !c.remember(left...) {
		return
	}
	c.emit(Event{Text: text})
	c.finish(chat.Message{Role: chat.Assistant, Text: text})
	c.stopped = true
}
