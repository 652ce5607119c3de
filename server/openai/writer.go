package openai

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/server/wire"
	"github.com/etui-run/etui/turn"
)

const (
	// patience is how long a stream waits for a first event or a failure, which then has
	// a status of its own. After that the stream begins.
	patience = 250 * time.Millisecond
	// keepAlive is how long a stream may be silent before a comment is sent: less than
	// the usual limits of proxies.
	keepAlive = 10 * time.Second
)

// completionWriter writes the events of a turn as OpenAI's clients expect them. A stream
// begins soon, and comments keep it alive while the model thinks.
type completionWriter struct {
	request completionRequest
	head    completion
	text    strings.Builder
	gap     bool // calls ran since the last text

	mu    sync.Mutex // guards what follows
	w     http.ResponseWriter
	flush *http.ResponseController
	begun bool
	timer *time.Timer // nil when nothing is streamed
}

func newWriter(w http.ResponseWriter, req completionRequest, head completion) *completionWriter {
	c := &completionWriter{request: req, head: head, w: w, flush: http.NewResponseController(w)}
	if req.Stream {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timer = time.AfterFunc(patience, c.alive)
	}
	return c
}

// close ends the comments. Call it when the handler ends.
func (c *completionWriter) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
		c.timer = nil
	}
}

// alive begins a silent stream, or sends a comment.
func (c *completionWriter) alive() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer == nil {
		return
	}
	if !c.begun {
		_ = c.begin() // if the client has gone, the next event fails, too
		return
	}
	_ = c.write(": keep-alive\n\n")
}

// event writes an event of the turn.
func (c *completionWriter) event(e turn.Event) error {
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
		if err := c.chunk(choice{Delta: &content{}, FinishReason: finishReason(e.Done.Stop)}, nil); err != nil {
			return err
		}
		if c.request.StreamOptions.IncludeUsage {
			if err := c.chunk(choice{Index: -1}, usageOf(e.Done.Usage)); err != nil {
				return err
			}
		}
		return c.line([]byte("[DONE]"))
	case e.Done != nil:
		text := c.text.String()
		c.head.Object = "chat.completion"
		c.head.Choices = []choice{{Message: &content{Role: "assistant", Content: &text}, FinishReason: finishReason(e.Done.Stop)}}
		c.head.Usage = usageOf(e.Done.Usage)
		wire.Reply(c.w, http.StatusOK, c.head)
	}
	return nil
}

// chunk writes a piece of a streamed answer; one with index -1 has no choices.
func (c *completionWriter) chunk(ch choice, usage *completionUsage) error {
	data, err := c.piece(ch, usage)
	if err != nil {
		return err
	}
	return c.line(data)
}

func (c *completionWriter) piece(ch choice, usage *completionUsage) ([]byte, error) {
	piece := c.head
	piece.Object, piece.Usage, piece.Choices = "chat.completion.chunk", usage, []choice{}
	if ch.Index >= 0 {
		piece.Choices = append(piece.Choices, ch)
	}
	return json.Marshal(piece)
}

// line writes a line of data, after the beginning of the stream.
func (c *completionWriter) line(data []byte) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.begin(); err != nil {
		return err
	}
	return c.write("data: " + string(data) + "\n\n")
}

// begin writes the head of a stream and who speaks, once. The caller holds the lock.
func (c *completionWriter) begin() error {
	if c.begun {
		return nil
	}
	c.begun = true
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.Header().Set("Cache-Control", "no-cache")
	c.w.Header().Set("X-Accel-Buffering", "no") // proxies must not wait for more
	var nothing string
	data, err := c.piece(choice{Delta: &content{Role: "assistant", Content: &nothing}}, nil)
	if err != nil {
		return err
	}
	return c.write("data: " + string(data) + "\n\n")
}

// write writes a part of a stream at once. The caller holds the lock.
func (c *completionWriter) write(part string) error {
	if c.timer != nil {
		c.timer.Reset(keepAlive)
	}
	if _, err := fmt.Fprint(c.w, part); err != nil {
		return err
	}
	return c.flush.Flush()
}

// fail reports that a turn failed: with a status as long as nothing was sent, else
// with an error in the stream, as OpenAI does.
func (c *completionWriter) fail(err error) {
	c.close()
	if !c.begun {
		wire.Fail(c.w, err)
		return
	}
	_, p := wire.ProblemFor(c.w, err)
	data, _ := json.Marshal(p) // a struct of strings always marshals
	_ = c.line(data)           // the client may have gone
}
