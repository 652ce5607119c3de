package openai

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"

	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// completionWriter writes the answers to a request, one after the other, as OpenAI's clients expect them.
type completionWriter struct {
	request  completionRequest
	head     completion
	w        http.ResponseWriter
	stream   *wire.Stream // nil when nothing is streamed
	answers  int          // how many there are to be
	failed   bool
	finished []choice
	usage    model.Tokens
}

func newWriter(w http.ResponseWriter, req completionRequest, head completion, answers int) *completionWriter {
	c := &completionWriter{request: req, head: head, w: w, answers: answers}
	if req.Stream {
		var first strings.Builder
		for i := 0; i < answers && !req.legacy; i++ {
			var nothing string
			role := choice{Index: i, Delta: &content{Role: "assistant", Content: &nothing}}
			first.WriteString(wire.Event("", c.piece(nil, role)))
		}
		c.stream = wire.NewStream(w, first.String(), ": keep-alive\n\n")
	}
	return c
}

// close ends the comments. Call it when the handler ends.
func (c *completionWriter) close() {
	if c.stream != nil {
		c.stream.Close()
	}
}

// answer is one of the answers.
type answer struct {
	*completionWriter
	index int
	text  strings.Builder
	gap   bool // calls ran since the last text
}

// Event implements [wire.Writer]: it writes an event of the turn.
func (a *answer) Event(e turn.Event) error {
	switch {
	case e.Call != nil:
		a.gap = a.text.Len() > 0
	case e.Text != "":
		text := e.Text
		if a.gap {
			a.gap, text = false, "\n\n"+text
		}
		return a.say(text)
	case e.Done != nil && a.stream != nil:
		return a.end(e.Done)
	case e.Done != nil:
		text := a.text.String()
		whole := choice{
			Index: a.index, Text: &text, Logprobs: a.request.tokensOf(e.Done), FinishReason: finishReason(e.Done),
		}
		if !a.request.legacy {
			said := &content{Role: "assistant", Calls: handed(e.Done)}
			if text != "" || len(said.Calls) == 0 {
				said.Content = &text
			}
			whole.Text, whole.Message = nil, said
		}
		return a.finish(e.Done, whole)
	}
	return nil
}

// Extend implements [wire.Extender].
func (c *completionWriter) Extend(x *wire.Extension) {
	if known := c.head.Etui; known != nil { // of another answer
		x.Waiting = slices.Concat(known.Waiting, x.Waiting)
	}
	c.head.Etui = x
}

// say continues the answer.
func (a *answer) say(text string) error {
	a.text.WriteString(text)
	switch {
	case a.stream == nil:
		return nil
	case a.request.legacy:
		return a.chunk(choice{Index: a.index, Text: &text})
	}
	return a.chunk(choice{Index: a.index, Delta: &content{Content: &text}})
}

// end ends a streamed answer: with the calls for the client, each begun by its name, and why it ends.
func (a *answer) end(done *turn.End) error {
	for i, call := range handed(done) {
		arguments := function{Arguments: call.Function.Arguments}
		call.Index, call.Function = &i, &function{Name: call.Function.Name}
		for _, part := range []toolCall{call, {Index: &i, Function: &arguments}} {
			if err := a.chunk(choice{Index: a.index, Delta: &content{Calls: []toolCall{part}}}); err != nil {
				return err
			}
		}
	}
	last := choice{
		Index: a.index, Delta: &content{}, Logprobs: a.request.tokensOf(done), FinishReason: finishReason(done),
	}
	if a.request.legacy {
		last.Delta, last.Text = nil, new(string)
	}
	if err := a.chunk(last); err != nil {
		return err
	}
	return a.finish(done, last)
}

// finish ends the response after the last answer, with the tokens of all.
func (c *completionWriter) finish(done *turn.End, said choice) error {
	c.finished = append(c.finished, said)
	c.usage.Add(done.Usage)
	switch {
	case len(c.finished) < c.answers:
		return nil
	case c.stream == nil:
		c.head.Object, c.head.Choices, c.head.Usage = c.object(), c.finished, usageOf(c.usage)
		wire.Reply(c.w, http.StatusOK, c.head)
		return nil
	case c.request.StreamOptions.IncludeUsage:
		if err := c.stream.Event("", c.piece(usageOf(c.usage))); err != nil {
			return err
		}
	}
	return c.stream.Event("", []byte("[DONE]"))
}

func (c *completionWriter) object() string {
	switch {
	case c.request.legacy:
		return "text_completion"
	case c.stream != nil || c.request.Stream:
		return "chat.completion.chunk"
	}
	return "chat.completion"
}

// chunk writes a piece of a streamed answer.
func (c *completionWriter) chunk(part choice) error { return c.stream.Event("", c.piece(nil, part)) }

func (c *completionWriter) piece(usage *completionUsage, parts ...choice) []byte {
	piece := c.head
	piece.Object, piece.Usage, piece.Choices = c.object(), usage, append([]choice{}, parts...)
	data, _ := json.Marshal(piece) // texts and numbers
	return data
}

// Fail implements [wire.Writer]: it reports that a turn failed: with a status as long as nothing was sent, else
// with an error in the stream, as OpenAI does.
func (c *completionWriter) Fail(err error) {
	c.failed = true
	c.close()
	if c.stream == nil || !c.stream.Begun() {
		wire.Fail(c.w, err)
		return
	}
	_, p := wire.ProblemFor(c.w, err)
	data, _ := json.Marshal(p)   // a struct of strings always marshals
	_ = c.stream.Event("", data) // the client may have gone
}
