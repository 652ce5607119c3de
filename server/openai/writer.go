package openai

import (
	"encoding/json"
	"net/http"
	"strings"

	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

// completionWriter writes the events of a turn as OpenAI's clients expect them.
type completionWriter struct {
	request completionRequest
	head    completion
	text    strings.Builder
	gap     bool // calls ran since the last text
	w       http.ResponseWriter
	stream  *wire.Stream // nil when nothing is streamed
}

func newWriter(w http.ResponseWriter, req completionRequest, head completion) *completionWriter {
	c := &completionWriter{request: req, head: head, w: w}
	if req.Stream {
		var nothing string
		first := c.piece(choice{Delta: &content{Role: "assistant", Content: &nothing}}, nil)
		c.stream = wire.NewStream(w, wire.Event("", first), ": keep-alive\n\n")
	}
	return c
}

// close ends the comments. Call it when the handler ends.
func (c *completionWriter) close() {
	if c.stream != nil {
		c.stream.Close()
	}
}

// Event implements [wire.Writer]: it writes an event of the turn.
func (c *completionWriter) Event(e turn.Event) error {
	switch {
	case e.Call != nil:
		c.gap = c.text.Len() > 0
	case e.Text != "":
		text := e.Text
		if c.gap {
			c.gap, text = false, "\n\n"+text
		}
		c.text.WriteString(text)
		if c.request.Stream {
			return c.chunk(choice{Delta: &content{Content: &text}}, nil)
		}
	case e.Done != nil && c.request.Stream:
		return c.end(e.Done)
	case e.Done != nil:
		said := &content{Role: "assistant", Calls: handed(e.Done)}
		if text := c.text.String(); text != "" || len(said.Calls) == 0 {
			said.Content = &text
		}
		c.head.Object = "chat.completion"
		c.head.Choices = []choice{{Message: said, FinishReason: finishReason(e.Done)}}
		c.head.Usage = usageOf(e.Done.Usage)
		wire.Reply(c.w, http.StatusOK, c.head)
	}
	return nil
}

// Extend implements [wire.Extender].
func (c *completionWriter) Extend(x *wire.Extension) { c.head.Etui = x }

// end ends a stream: with the calls for the client, each begun by its name, why the answer ends, and
// the tokens.
func (c *completionWriter) end(done *turn.Done) error {
	for i, call := range handed(done) {
		arguments := function{Arguments: call.Function.Arguments}
		call.Index, call.Function = &i, &function{Name: call.Function.Name}
		for _, part := range []toolCall{call, {Index: &i, Function: &arguments}} {
			if err := c.chunk(choice{Delta: &content{Calls: []toolCall{part}}}, nil); err != nil {
				return err
			}
		}
	}
	if err := c.chunk(choice{Delta: &content{}, FinishReason: finishReason(done)}, nil); err != nil {
		return err
	}
	if c.request.StreamOptions.IncludeUsage {
		if err := c.chunk(choice{Index: -1}, usageOf(done.Usage)); err != nil {
			return err
		}
	}
	return c.stream.Event("", []byte("[DONE]"))
}

// chunk writes a piece of a streamed answer; one with index -1 has no choices.
func (c *completionWriter) chunk(ch choice, usage *completionUsage) error {
	return c.stream.Event("", c.piece(ch, usage))
}

func (c *completionWriter) piece(ch choice, usage *completionUsage) []byte {
	piece := c.head
	piece.Object, piece.Usage, piece.Choices = "chat.completion.chunk", usage, []choice{}
	if ch.Index >= 0 {
		piece.Choices = append(piece.Choices, ch)
	}
	data, _ := json.Marshal(piece) // texts and numbers
	return data
}

// Fail implements [wire.Writer]: it reports that a turn failed: with a status as long as nothing was sent, else
// with an error in the stream, as OpenAI does.
func (c *completionWriter) Fail(err error) {
	c.close()
	if c.stream == nil || !c.stream.Begun() {
		wire.Fail(c.w, err)
		return
	}
	_, p := wire.ProblemFor(c.w, err)
	data, _ := json.Marshal(p)   // a struct of strings always marshals
	_ = c.stream.Event("", data) // the client may have gone
}
