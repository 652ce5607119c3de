package turn

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/etui-run/etui/chat"
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

// frontSize is how many bytes the declared tools and the system prompt have.
func (t *run) frontSize() int {
	n := len(t.prompt.System)
	for _, e := range t.selected.Declared {
		n += len(e.JSON)
	}
	return n
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
func (t *run) fit() {
	if readable := t.readable(); readable > 0 && t.frontSize()+prompt.Size(t.prompt.Messages...) > readable {
		t.squeeze(max(readable-t.frontSize(), 0))
	}
}

// shrink makes the request smaller that the model has found too long, and reports
// whether it did.
func (t *run) shrink(err error) bool {
	if !errors.Is(err, model.ErrTooLong) {
		return false
	}
	before := t.frontSize() + prompt.Size(t.prompt.Messages...)
	t.learn(err, before)
	room := t.readable()
	if room == 0 || room >= before {
		room = before * 3 / 4 // the text has more tokens than was estimated
	}
	smaller := t.squeeze(max(room-t.frontSize(), 0))
	t.config.Log.WarnContext(t.ctx, "the request was too long for the model", "window", t.window(), "bytes", before, "smaller", smaller, "session", t.in.Session.Key)
	return smaller
}

// minGuess is the smallest window that is guessed, in tokens.
const minGuess = 2048

// learn learns the window from an error about a request of so many bytes: the provider
// states it, or it is smaller than the request. Pictures are no measure.
func (t *run) learn(err error, bytes int) {
	window := max(bytes/prompt.BytesPerToken, minGuess)
	if slices.ContainsFunc(t.prompt.Messages, func(m chat.Message) bool {
		return len(m.Files) > 0 && m.Role == chat.User || m.Result != nil && len(m.Result.Images) > 0
	}) {
		window = 0
	}
	if stated := model.WindowOf(err); stated > 0 {
		window = stated
	}
	if known := t.window(); window > 0 && (known == 0 || window < known) {
		t.learned.Store(int64(window))
	}
}

// minResult is how many bytes are left of a result that must become shorter.
const minResult = 1000

// squeeze makes the messages of the next request fit into room bytes, if it can: it
// leaves out older messages, and then shortens results of the turn, the oldest first.
// It reports whether it changed anything. What is stored stays as it is, but for the
// place where the next turns begin.
func (t *run) squeeze(room int) (changed bool) {
	asked := lastQuestion(t.prompt.Messages)
	own := slices.Clone(t.prompt.Messages[asked:])
	next := prompt.Size(own...) + min(maxSummary, room/8)
	if from := t.Runner.prompt.Begin(t.before, prompt.Cut{Next: next, Room: max(room, 1)}); from > 0 {
		t.in.dropped = prompt.Live(t.before[:from])
		t.before = t.before[from:]
		t.in.kept = prompt.Live(t.before)
		t.state.Sent -= from
		t.in.cut += from
		t.summarize()
		t.state.Summary = t.in.Session.Summary
		question := t.own[0] // without an earlier summary
		t.state.Front.First = first(t.in, question)
		if err := t.prompts(t.in.kept, question); err != nil {
			t.config.Log.WarnContext(t.ctx, "the system prompt stays as it was", "error", err, "session", t.in.Session.Key)
			t.prompt.Messages = append(t.Runner.prompt.History(t.in.kept), own[0])
		}
		t.prompt.Messages = append(t.prompt.Messages, own[1:]...)
		t.show()
		t.account(Compaction)
		changed = true
	}
	messages := t.prompt.Messages
	over := prompt.Size(messages...) - room
	for i := lastQuestion(messages); i < len(messages) && over > 0; i++ {
		r := messages[i].Result
		if r == nil || len(r.Text) <= 2*minResult {
			continue
		}
		short := *r
		short.Text = shorten(r.Text, max(minResult, len(r.Text)-over))
		over -= len(r.Text) - len(short.Text)
		messages[i].Result = &short
		changed = true
	}
	return changed
}

// refusal is the message that ends a turn whose request the provider refused. The turn
// is not sent again, except for this message when calls had run.
func (t *run) refusal(err error) chat.Message {
	text := "This message could not be answered: " + model.ErrRequest.Error() + "."
	if errors.Is(err, model.ErrTooLong) {
		text = "This message could not be answered: " + model.ErrTooLong.Error() + "."
	}
	var ran []string
	for _, m := range t.prompt.Messages[lastQuestion(t.prompt.Messages):] {
		for _, c := range m.Calls {
			ran = append(ran, reached(c))
		}
	}
	if len(ran) > 0 {
		text += fmt.Sprintf(" These calls had been made: %s.", strings.Join(ran, ", "))
	}
	return chat.Message{Role: chat.Assistant, Text: text, Refused: true, Time: t.in.Facts.Time}
}

// takeBack makes the next request begin as the last one before the turn did, which the
// provider may still have in its cache: the message alone was refused, and it is not sent
// again. Once calls have run, the provider has what began with them.
func (t *run) takeBack() {
	was := t.was
	if was.Front.Mode == "" { // nothing was sent before
		return
	}
	t.state.Sent, t.state.Summary = t.state.Sent+t.in.cut, was.Summary
	t.state.Declared, t.state.Directory, t.state.SkillList, t.state.Front = was.Declared, was.Directory, was.SkillList, was.Front
}

// Compact summarizes everything that is still sent of a session, so that the next
// request begins with the summary. It returns the state to store, how many messages were
// left out, and what the provider counted. The session must have no open turn. When ctx
// ends, the state is to be thrown away.
func (r *Runner) Compact(ctx context.Context, in Input) (state session.State, left int, usage model.Tokens) {
	t := &run{Runner: r, ctx: ctx, in: r.know(in), yield: func(Event, error) bool { return true }}
	t.in.dropped = append(t.in.dropped, t.in.kept...)
	left = len(t.in.dropped)
	t.summarize()
	state = t.in.Session.Clone()
	if left > 0 {
		state.Sent = session.None
	}
	return state, left, t.done.Usage
}
