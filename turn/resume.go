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
	// Waiting: an approval must come first, or the outcome of a call that goes on.
	Waiting Phase = "waiting"
)

// PhaseOf derives the phase from what is stored of a session.
func PhaseOf(s session.Session) Phase {
	open := unanswered(s.Messages)
	approval := slices.ContainsFunc(open, func(c chat.Call) bool { return s.Waits(c.ID, session.Approval) })
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
	if a.Approved {
		effect, text = rules.Allow, "approved"
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

// awaits is the error of a call that waits for an answer.
type awaits struct{ session.Await }

func (*awaits) Error() string { return "the call awaits approval" }

// decisionOn returns a person's decision about a call of the turn; nil if there is none.
func decisionOn(answers []session.Answer, call string) *session.Answer {
	return answerTo(answers, call, false)
}

// replyTo returns a person's answer to the question of a call; nil if there is none.
func replyTo(answers []session.Answer, call string) *session.Answer {
	return answerTo(answers, call, true)
}

func answerTo(answers []session.Answer, call string, question bool) *session.Answer {
	for i, a := range answers {
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
		case s.Waits(call.ID, session.Approval):
			result = tool.Failure("the call was not approved: %s", why)
		case i == 0 && (slices.Contains(s.Turn.Once, call.ID) || !safe(c, call)):
			result = unknown(call)
		}
		left = append(left, answer(call, result))
	}
	state, told := closed(s.State, now)
	return counted(state, append(left, told...))
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
	s.Awaits = slices.DeleteFunc(s.Awaits, func(a session.Await) bool { return a.For == session.Approval })
	return tell(s, now)
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
	t.conv.in.Again = true
	asked := lastQuestion(t.conv.in.Session.Messages)
	if asked >= 0 {
		t.conv.in.Text = t.conv.in.Session.Messages[asked].Text
	}
	if t.conv.flows() {
		t.conv.in.Text = t.flow.phaseQuestion()
	}
	t.conv.in = t.front.runner.know(t.conv.in)
	newest := max(0, lastQuestion(t.conv.in.stored))
	t.conv.before, t.conv.own = t.conv.in.stored[:newest], slices.Clone(t.conv.in.stored[newest:])
	if t.front.summarize(); t.conv.stopped {
		return
	}
	t.front.take(t.conv.in, t.front.choose(t.conv.in))
	kept, at := t.conv.in.kept, lastRound(t.conv.in.kept)
	if at < 0 || len(unanswered(kept)) == 0 {
		at = len(kept)
	}
	sent, err := t.front.build(kept[:at], chat.Message{Time: t.conv.in.Facts.Time})
	if err != nil {
		t.conv.fail(err) // nothing has run, so the turn stays open
		return
	}
	t.conv.opened = true
	t.conv.sent = append(sent[:len(sent)-1], kept[at:]...)
	t.front.show()
	t.conv.count()
	crashed := len(t.conv.in.Answers) == 0 && !t.conv.in.Left
	if at < len(kept) {
		t.calls.reopen(kept[at], crashed)
	}
	t.conv.state.Turn.Item = t.conv.in.Item
	if crashed {
		t.conv.state.Turn.Resumed++
	}
	t.conv.state.Sent = len(t.conv.in.stored)
	t.conv.emit(Event{Selection: t.front.selected})
	t.conv.store() // before anything runs: an approved call no longer waits
	if t.conv.state.Turn.Resumed > maxResumed {
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
	first := c.round.jobs[0]
	said := decisionOn(c.conv.state.Turn.Answers, first.call.ID)
	first.broken = !c.conv.state.Waits(first.call.ID, session.Approval) && (said == nil || said.Approved) && replyTo(c.conv.state.Turn.Answers, first.call.ID) == nil
	switch {
	case !crashed:
		c.conv.state.Turn.Marked = nil
	case first.broken && (slices.Contains(c.conv.state.Turn.Once, first.call.ID) || c.conv.marks(first.call) >= marksOf(repeats(c.front.selector.Catalog(), first.call))):
		c.conv.state.Turn.Ended = append(c.conv.state.Turn.Ended, first.call.ID)
	}
	for _, said := range c.conv.in.Answers {
		i := slices.IndexFunc(c.conv.state.Awaits, func(a session.Await) bool { return a.Call == said.Call && a.For == session.Approval })
		if i < 0 {
			continue
		}
		a := c.conv.state.Awaits[i]
		c.conv.state.Awaits = without(c.conv.state.Awaits, said.Call)
		said.Question, said.Hash, said.Digest = a.Question, a.Hash, a.Digest
		c.conv.state.Turn.Answers = append(c.conv.state.Turn.Answers, said)
		if said.Approved && said.Lasts == session.ForSession && a.Question == "" {
			granted := append(c.conv.state.Granted, session.Granted{Tool: a.Tool, Hash: a.Hash, User: a.User, By: said.By})
			c.conv.state.Granted = granted[max(0, len(granted)-maxGranted):]
		}
	}
}

// maxGranted is how many approvals for a session it keeps, the newest ones.
const maxGranted = 100

// unknown returns the result of a call that may have run before the process ended and
// must not run twice, and logs it for the operator.
func (c *calls) unknown(call chat.Call) chat.Result {
	c.conv.config.Log.WarnContext(c.conv.ctx, "outcome of a call unknown", "tool", reached(call), "user", c.conv.in.Facts.User, "session", c.conv.in.Session.Key)
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

// wait suspends the turn until a person answers. The jobs are the ones that ran last.
func (c *calls) wait(jobs []*job, results []chat.Message) {
	c.keepIntent()
	for _, j := range jobs {
		if j.awaits == nil {
			continue
		}
		a := *j.awaits
		c.conv.state.Turn.Answers = slices.DeleteFunc(slices.Clone(c.conv.state.Turn.Answers), func(said session.Answer) bool { // it is asked again
			return said.Call == j.call.ID && said.Question == "" && a.Question == ""
		})
		a.Call, a.User, a.For, a.ID = j.call.ID, c.conv.in.Facts.Record(), session.Approval, strings.ToLower(rand.Text()[:IDLength])
		if c.conv.config.Expire > 0 {
			a.Until = time.Now().Add(c.conv.config.Expire).Round(time.Second)
		}
		if i := slices.IndexFunc(c.conv.state.Awaits, func(b session.Await) bool { return b.Call == a.Call && b.For == a.For }); i >= 0 {
			a = c.conv.state.Awaits[i] // people know it by its ID
		} else {
			c.conv.state.Awaits = append(c.conv.state.Awaits, a)
		}
		c.conv.done.Awaits = append(c.conv.done.Awaits, a)
	}
	c.conv.ending = true
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
	var left []chat.Message
	if s := &t.conv.in.Session; s.Turn.ID != "" {
		s.State, left = Close(*s, t.front.selector.Catalog(), "a new message came first", t.conv.in.Facts.Time)
		s.Messages = append(slices.Clip(s.Messages), left...)
	}
	if t.conv.in.Outcome != nil {
		t.conv.in.Session.Awaits = without(t.conv.in.Session.Awaits, t.conv.in.Outcome.Call.ID)
	}
	return left
}

// abandon ends a turn that was resumed too often.
func (t *run) abandon() {
	text := fmt.Sprintf("I could not finish this: the program ended %d times while I worked on it.", t.conv.state.Turn.Resumed)
	t.conv.config.Log.ErrorContext(t.conv.ctx, "turn abandoned", "session", t.conv.in.Session.Key, "resumed", t.conv.state.Turn.Resumed)
	_, left := Close(session.Session{State: session.State{Turn: session.Turn{Once: t.conv.state.Turn.Once}}, Messages: t.conv.in.kept}, t.front.selector.Catalog(), "its turn was given up", t.conv.in.Facts.Time)
	t.calls.round = nil
	if len(left) > 0 && !t.conv.remember(left...) {
		return
	}
	t.conv.emit(Event{Text: text})
	t.conv.finish(chat.Message{Role: chat.Assistant, Text: text})
	t.conv.stopped = true
}
