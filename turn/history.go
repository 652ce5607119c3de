package turn

import (
	"context"
	"errors"
	"slices"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/session"
)

// This file decides how much of a conversation is sent.

// know adds what follows from the session: which messages are still sent, and whether
// the provider may have cached them.
func (r *Runner) know(in Input) Input {
	messages := in.Session.Messages
	messages = messages[in.Session.Unsent(len(messages)):]
	asked, next := len(messages), prompt.Size(chat.Message{Text: in.Text, Files: in.Files})
	if in.Outcome != nil {
		next = len(in.Outcome.Note())
	}
	if in.resumes() {
		asked = max(0, lastQuestion(messages))
		next = prompt.Size(messages[asked:]...)
	}
	from := r.prompt.Begin(messages[:asked], prompt.Cut{Next: next, Room: r.room(in.Session.Front.Size)})
	in.stored, in.cut = messages[from:], from
	in.kept, in.dropped = prompt.Live(in.stored), prompt.Live(messages[:from])
	in.cold = r.cold(in)
	return in
}

// Begin returns where the part of a conversation begins that a client sends with each
// request and that is worth reading: at most count messages. It depends on the messages
// alone, see [prompt.Builder.Begin], and leaves room for the notes that they will get.
func (r *Runner) Begin(history []chat.Message, next, count int) int {
	return r.prompt.Begin(history, prompt.Cut{Next: next, Room: r.room(0) * 3 / 4, Count: count})
}

const (
	// unknownAnswer is how many tokens are kept free for the answer of a model whose
	// limit is unknown. No answer gets more than half of the window.
	unknownAnswer = 4096
	// windowSteps: the tools and the system prompt are counted in this many parts of
	// the window, so that small changes do not move the beginning of the history.
	windowSteps = 8
)

// window is how many tokens the model reads at once; 0 means unknown.
func (r *Runner) window() int {
	known, learned := r.model.Info().Window, int(r.learned.Load())
	if known == 0 || learned > 0 && learned < known {
		return learned
	}
	return known
}

// readable is how many bytes the model can read at once, beside its answer; 0 means
// unknown.
func (r *Runner) readable() int {
	window, answer := r.window(), r.model.Info().Answer
	if window == 0 {
		return 0
	}
	if answer == 0 {
		answer = min(unknownAnswer, window/4)
	}
	return (window - min(answer, window/2)) * prompt.BytesPerToken
}

// room is how many bytes of messages the model can read beside tools and a system
// prompt of front bytes; 0 means unknown. A front whose size is unknown counts as a
// quarter of the window.
func (r *Runner) room(front int) int {
	readable := r.readable()
	if readable == 0 {
		return 0
	}
	step := max(r.window()*prompt.BytesPerToken/windowSteps, 1)
	parts := 2
	if front > 0 {
		parts = (front + step - 1) / step
	}
	room := max(readable-parts*step, step)
	return room - min(maxSummary, room/8)
}

// maxResult is how many bytes of a result the model reads.
func (r *Runner) maxResult() int {
	if readable := r.readable(); readable > 0 {
		return min(r.config.MaxResult, readable/4)
	}
	return r.config.MaxResult
}

// fit makes the next request fit a known window: the results of the turn may have
// outgrown it.
func (f *front) fit() {
	if readable := f.runner.readable(); readable > 0 && f.size()+prompt.Size(f.conv.sent...) > readable {
		f.squeeze(max(readable-f.size(), 0))
	}
}

// shrink makes the request smaller that the model has found too long, and reports
// whether it did.
func (f *front) shrink(err error) bool {
	c := f.conv
	if !errors.Is(err, model.ErrTooLong) {
		return false
	}
	before := f.size() + prompt.Size(c.sent...)
	f.learn(err, before)
	room := f.runner.readable()
	if room == 0 || room >= before {
		room = before * 3 / 4 // the text has more tokens than was estimated
	}
	smaller := f.squeeze(max(room-f.size(), 0))
	c.config.Log.WarnContext(c.ctx, "the request was too long for the model",
		"window", f.runner.window(), "bytes", before, "smaller", smaller, "session", c.in.Session.Key)
	return smaller
}

// minGuess is the smallest window that is guessed, in tokens.
const minGuess = 2048

// learn learns the window from an error about a request of so many bytes: the provider
// states it, or it is smaller than the request. Pictures are no measure.
func (f *front) learn(err error, bytes int) {
	window := max(bytes/prompt.BytesPerToken, minGuess)
	if slices.ContainsFunc(f.conv.sent, func(m chat.Message) bool {
		return len(m.Files) > 0 && m.Role == chat.User || m.Result != nil && len(m.Result.Images) > 0
	}) {
		window = 0
	}
	if stated := model.WindowOf(err); stated > 0 {
		window = stated
	}
	if known := f.runner.window(); window > 0 && (known == 0 || window < known) {
		f.runner.learned.Store(int64(window))
	}
}

// minResult is how many bytes are left of a result that must become shorter.
const minResult = 1000

// squeeze makes the messages of the next request fit into room bytes, if it can: it leaves out
// older messages, and then shortens results of the turn, the oldest first. It reports whether it
// changed anything. Stored messages stay as they are, but for the place where the next turns begin.
func (f *front) squeeze(room int) (changed bool) {
	c := f.conv
	own := slices.Clone(c.sent[lastQuestion(c.sent):])
	next := prompt.Size(own...) + min(maxSummary, room/8)
	if from := f.runner.prompt.Begin(c.before, prompt.Cut{Next: next, Room: max(room, 1)}); from > 0 {
		c.drop(from)
		f.summarize()
		c.state.Summary = c.in.Session.Summary
		question := c.own[0] // without an earlier summary
		c.state.Front.First = first(c.in, question)
		sent, err := f.build(c.in.kept, question)
		if err != nil {
			c.config.Log.WarnContext(c.ctx, "the system prompt stays as it was", "error", err, "session", c.in.Session.Key)
			sent = append(f.runner.prompt.History(c.in.kept), own[0])
		}
		c.sent = append(sent, own[1:]...)
		f.show()
		f.account(Compaction)
		changed = true
	}
	messages := c.sent
	over := prompt.Size(messages...) - room
	for i := lastQuestion(messages); i < len(messages) && over > 0; i++ {
		r := messages[i].Result
		if r == nil || len(r.Text) <= 2*minResult {
			continue
		}
		short := *r
		short.Text = cut.Middle(r.Text, max(minResult, len(r.Text)-over))
		over -= len(r.Text) - len(short.Text)
		messages[i].Result = &short
		changed = true
	}
	return changed
}

// Compact summarizes everything that is still sent of a session, so that the next
// request begins with the summary. It returns the state to store, how many messages were
// left out, and what the provider counted. The session must have no open turn. When ctx
// ends, the state is to be thrown away.
func (r *Runner) Compact(ctx context.Context, in Input) (state session.State, left int, usage model.Tokens) {
	t := r.newRun(ctx, r.know(in), ignore)
	t.conv.in.dropped = append(t.conv.in.dropped, t.conv.in.kept...)
	left = len(t.conv.in.dropped)
	t.front.summarize()
	state = t.conv.in.Session.Clone()
	if left > 0 {
		state.Sent = session.None
	}
	return state, left, t.conv.done.Usage
}
