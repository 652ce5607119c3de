package endpoint

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/sleep"
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
	// Ended is the stop of the settings that ended the answer, if the provider says so.
	Ended string
	// State is what the provider may want back with the message, by the name of its field, see
	// [chat.Message.State]. Use Keep, KeepEach and KeepWhole.
	State map[string]any
	kept  int // bytes of State
	// Thoughts are pieces of thoughts for clients of the same API that are still to be passed on.
	Thoughts []json.RawMessage

	// Logprobs is what the provider says of each token. Use KeepLogprobs.
	Logprobs []json.RawMessage
	probed   int // bytes of Logprobs
	// Choice is which of several answers is read; nil until one has begun.
	Choice *int
	// Begun says that there was an event of an answer, and Complete that the answer may end
	// here, though the usage may follow.
	Begun, Complete bool
	// Odd is the error of an answer that had nothing but events which are none of an answer.
	Odd error
}

// FromMessages is [chat.Message.StateOf] of thoughts that a client of Anthropic's API brings back. Its
// models know their own by the signatures.
const FromMessages = "a client of Anthropic's API"

// maxLogprobs bounds what is kept of the tokens of an answer, in bytes; the rest is dropped.
const maxLogprobs = 4 << 20

// KeepLogprobs keeps what the provider says of some tokens.
func (a *Answer) KeepLogprobs(tokens []json.RawMessage) {
	for _, t := range tokens {
		if a.probed += len(t); a.probed <= maxLogprobs {
			a.Logprobs = append(a.Logprobs, slices.Clone(t))
		}
	}
}

// Call is a call that is being assembled from pieces with the same index.
type Call struct {
	chat.Call
	Index  int
	pieces []string // of the arguments
}

// Add adds a piece of the name and of the arguments. Some servers send a name in parts, and others
// repeat it.
func (c *Call) Add(name, arguments string) {
	if len(c.pieces) == 0 && !strings.HasPrefix(name, c.Name) {
		name = c.Name + name
	}
	if len(c.pieces) == 0 && name != "" {
		c.Name = name
	}
	if arguments != "" {
		c.pieces = append(c.pieces, arguments)
	}
}

// whole returns the arguments that the pieces make. Servers send them in parts; some send an empty
// object first, or all of them again, or in each piece what there is so far.
func whole(pieces []string) json.RawMessage {
	joined := strings.Join(pieces, "")
	if cut := endMarks.ReplaceAllString(joined, ""); cut != joined && json.Valid([]byte(cut)) {
		return json.RawMessage(cut)
	}
	if !json.Valid([]byte(joined)) {
		for len(pieces) > 1 && json.Valid([]byte(pieces[0])) && empty(json.RawMessage(pieces[0])) {
			pieces = pieces[1:]
		}
		joined = strings.Join(pieces, "")
	}
	if json.Valid([]byte(joined)) {
		return json.RawMessage(joined)
	}
	if once := same(joined); once != nil || len(pieces) < 2 {
		return json.RawMessage(cmp.Or(string(once), joined))
	}
	last := pieces[len(pieces)-1]
	for i, piece := range pieces[:len(pieces)-1] {
		if !strings.HasPrefix(pieces[i+1], piece) {
			return json.RawMessage(joined)
		}
	}
	return json.RawMessage(last)
}

// same returns the object that a text has several times, or beside empty ones; nil if it has others.
func same(text string) (object json.RawMessage) {
	d := json.NewDecoder(strings.NewReader(text))
	for d.More() {
		var next json.RawMessage
		if d.Decode(&next) != nil || object != nil && !empty(object) && !empty(next) && string(object) != string(next) {
			return nil
		}
		if object == nil || empty(object) {
			object = next
		}
	}
	return object
}

func empty(object json.RawMessage) bool { return strings.Trim(string(object), " {}") == "" }

// endMarks are what models write at the end of a text for their server.
var endMarks = regexp.MustCompile(`(\s*(<\|[a-z_]+\|>|</?(s|tool_call|function)>|<｜[^｜>]+｜>))+\s*$`)

// Ask sends a request whose tools are declared so, and returns the body of the answer.
type Ask func(ctx context.Context, req model.Request, tools Declarations) (io.ReadCloser, error)

// ReadFunc adds an event to an answer and returns its text. The error [io.EOF] ends the answer.
type ReadFunc func(a *Answer, e Event) (text string, err error)

// Stream implements the method of [model.Model] with the two functions of an adapter. An answer that
// breaks off before anything of it was passed on is asked for again, as often as the configuration
// says.
func (e *Endpoint) Stream(ctx context.Context, req model.Request, ask Ask, read ReadFunc) iter.Seq2[model.Event,
	error] {
	return func(yield func(model.Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for tries := 0; ; tries++ {
			shown := false
			err := e.try(ctx, req, ask, read, func(event model.Event) bool {
				shown = shown || len(event.Thought) == 0
				return yield(event, nil)
			})
			if err == nil {
				return
			}
			described := e.Describe(ctx, err)
			if shown || tries >= e.config.Retries || !broke(err) || ctx.Err() != nil {
				yield(model.Event{}, described)
				return
			}
			e.config.Log.WarnContext(ctx, "an answer broke off before its text; it is asked for again",
				slog.Any("error", described))
			sleep.For(ctx, firstWait<<min(tries, 4))
		}
	}
}

// firstWait is the pause before an answer is asked for a second time; it doubles.
const firstWait = 500 * time.Millisecond

// broke reports whether an answer began and broke off, or the provider failed in the midst of it. A
// request that was refused was repeated by the transport where that helps.
func broke(err error) bool {
	var off brokenOff
	return errors.As(err, &off) && !model.Paused(err)
}

// brokenOff is the failure of an answer that had begun to come.
type brokenOff struct{ error }

func (b brokenOff) Unwrap() error { return b.error }

// try asks once, and passes on the events of the answer.
func (e *Endpoint) try(ctx context.Context, req model.Request, ask Ask, read ReadFunc,
	yield func(model.Event) bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	body, req, names, err := e.begin(ctx, req, ask)
	if err != nil {
		return err
	}
	defer body.Close()
	var a Answer
	p := newProse(req, &e.habit, e.config.Verbatim)
	for text, err := range a.texts(body, read) {
		for _, thought := range a.Thoughts {
			if !yield(model.Event{Thought: thought}) {
				return nil
			}
		}
		a.Thoughts = nil
		if err != nil {
			if held := p.rest(); held != "" && !yield(model.Event{Text: held}) {
				return nil
			}
			return err
		}
		if text = p.add(text); text != "" && !yield(model.Event{Text: text}) {
			return nil
		}
	}
	drain(body, cancel)
	p.end(a.Stop == model.Length)
	if len(a.Calls) == 0 && a.Stop == "" {
		if a.Calls = p.calls(names, a.thought()); len(a.Calls) > 0 && !e.writes.Swap(true) {
			e.config.Log.InfoContext(ctx, "the model writes calls as text; they are taken for calls",
				slog.String("model", e.Name()))
		}
	}
	if held := p.rest(); held != "" && !yield(model.Event{Text: held}) {
		return nil
	}
	for _, call := range a.calls(req, names) {
		if !yield(model.Event{Call: call}) {
			return nil
		}
	}
	last := model.Event{Stop: a.stop(), Usage: a.Usage, State: a.state(), Logprobs: a.Logprobs, Ended: a.Ended}
	if last.State != nil || slices.ContainsFunc(a.Calls, func(c *Call) bool { return c.State != nil }) {
		last.StateOf = e.Name()
	}
	yield(last)
	return nil
}

// texts reads a body to the end of the answer and yields the text as it arrives. A body
// that ends or fails before the answer does is an error.
func (a *Answer) texts(body io.Reader, read ReadFunc) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for event, err := range events(body) {
			if err != nil && a.Complete {
				return // only the usage is missing
			}
			var text string
			if err == nil {
				text, err = read(a, event)
			} else if !errors.As(err, new(foreign)) && !errors.Is(err, errTooLarge) {
				err = brokenOff{err}
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				if errors.Is(err, model.ErrUnavailable) {
					err = brokenOff{err}
				}
				yield("", err)
				return
			}
			if (text != "" || len(a.Thoughts) > 0) && !yield(text, nil) {
				return
			}
		}
		switch {
		case !a.Begun && a.Odd != nil:
			yield("", a.Odd)
		case !a.Begun:
			yield("", brokenOff{errors.New("the server sent an empty answer, or one of another protocol")})
		case !a.Complete:
			yield("", brokenOff{io.ErrUnexpectedEOF})
		}
	}
}

// calls returns the calls, each with the tool's own name and an ID that is new to the
// conversation. If the answer hit its token limit, the last call may be incomplete: without
// complete arguments it is dropped, because repairing them would be guessing. A refused
// answer has no calls.
func (a *Answer) calls(req model.Request, names Declarations) []*chat.Call {
	if len(a.Calls) == 0 || a.Stop == model.Refused {
		return nil
	}
	used := map[string]bool{}
	for i := range req.Messages {
		for _, c := range req.Messages[i].Calls {
			used[c.ID] = true
		}
	}
	var all []*chat.Call
	for i, c := range a.Calls {
		if len(c.pieces) > 0 {
			c.Arguments = whole(c.pieces)
		}
		cut := a.Stop == model.Length && i == len(a.Calls)-1 && !json.Valid(c.Arguments)
		if cut || c.Name == "" {
			continue
		}
		names.restore(&c.Call)
		for n := len(used) + 1; c.ID == "" || used[c.ID]; n++ {
			c.ID = fmt.Sprintf("call%05d", n) // Mistral's accept nine letters and digits only
		}
		used[c.ID] = true
		all = append(all, &c.Call)
	}
	return all
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

// maxState bounds what is kept of an answer for its provider, in bytes. An answer with more keeps
// none.
const maxState = 256 << 10

// Keep adds a piece to a text that the provider may want back.
func (a *Answer) Keep(field, piece string) {
	if !a.room(len(piece)) {
		return
	}
	text, _ := a.State[field].(*growingText)
	if text == nil {
		text = &growingText{}
		a.State[field] = text
	}
	text.WriteString(piece)
}

// KeepEach adds elements to a list that the provider may want back.
func (a *Answer) KeepEach(field string, elements []json.RawMessage) {
	size := 0
	for _, e := range elements {
		size += len(e) + 1
	}
	if a.room(size) {
		before, _ := a.State[field].([]json.RawMessage)
		a.State[field] = append(before, elements...)
	}
}

// KeepWhole keeps the newest value of a field that the provider may want back.
func (a *Answer) KeepWhole(field string, value json.RawMessage) {
	if a.room(len(value)) {
		a.State[field] = value
	}
}

// growingText is a text that grows.
type growingText struct{ strings.Builder }

func (k *growingText) MarshalJSON() ([]byte, error) { return json.Marshal(k.String()) }

// room reports whether so many bytes more can be kept. If not, none are.
func (a *Answer) room(size int) bool {
	if a.kept += size; a.kept > maxState {
		a.State = nil
		return false
	}
	if a.State == nil {
		a.State = map[string]any{}
	}
	return true
}

// thought returns the text that came beside the answer.
func (a *Answer) thought() string {
	for _, field := range []string{"reasoning_content", "reasoning"} {
		if text, _ := a.State[field].(*growingText); text != nil {
			return text.String()
		}
	}
	return ""
}

// state returns what the provider wants back with the calls of the answer; nil without calls.
func (a *Answer) state() json.RawMessage {
	if len(a.State) == 0 || len(a.Calls) == 0 {
		return nil
	}
	raw, err := json.Marshal(a.State)
	if err != nil || len(raw) > maxState {
		return nil
	}
	return raw
}
