package acp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"slices"

	acp "github.com/coder/acp-go-sdk"
)

// The library hands each request over in a goroutine of its own, so a prompt and the cancel that follows it
// may come in either order. The order in which they arrive counts, which the gate sees.

// maxLine is how long a message may be, in bytes, as the library has it.
const maxLine = 10 << 20

// gate passes the lines of the input on once it is open: the library reads before it has its own parts.
// It tells of each line first.
type gate struct {
	open    chan struct{}
	lines   *bufio.Scanner
	arrived func(line []byte)
	rest    []byte // of the line that is passed on
}

func newGate(in io.Reader, arrived func(line []byte)) *gate {
	g := &gate{open: make(chan struct{}), lines: bufio.NewScanner(in), arrived: arrived}
	g.lines.Buffer(nil, maxLine)
	return g
}

// Read implements [io.Reader].
func (g *gate) Read(p []byte) (int, error) {
	<-g.open
	if len(g.rest) == 0 {
		if !g.lines.Scan() {
			if err := g.lines.Err(); err != nil {
				return 0, err
			}
			return 0, io.EOF
		}
		g.arrived(g.lines.Bytes())
		g.rest = append(g.lines.Bytes(), '\n')
	}
	n := copy(p, g.rest)
	g.rest = g.rest[n:]
	return n, nil
}

// prompt is one that has arrived.
type prompt struct {
	session acp.SessionId
	content string // what the person said, as JSON
	begun   bool
	ctx     context.Context //nolint:containedctx // until it ends
	end     context.CancelFunc
}

// maxPrompts is how many prompts of a connection are under way. The oldest gives way.
const maxPrompts = 100

// arrived notes a prompt, and ends those that a line cancels: by a cancel of their session, or another
// prompt of it, since the protocol has one turn at a time.
func (a *agent) arrived(line []byte) {
	if !bytes.Contains(line, []byte(`session\/`)) && !bytes.Contains(line, []byte("session/")) {
		return
	}
	var said struct {
		Method string `json:"method"`
		Params struct {
			Session acp.SessionId      `json:"sessionId"`
			Prompt  []acp.ContentBlock `json:"prompt"`
		} `json:"params"`
	}
	_ = json.Unmarshal(line, &said) // the library refuses what is none of the protocol
	if said.Method != acp.AgentMethodSessionPrompt && said.Method != acp.AgentMethodSessionCancel {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, p := range a.prompts {
		if p.session == said.Params.Session {
			p.end()
		}
	}
	if said.Method != acp.AgentMethodSessionPrompt {
		return
	}
	if len(a.prompts) == maxPrompts {
		a.prompts[0].end()
		a.prompts = slices.Delete(a.prompts, 0, 1)
	}
	a.prompts = append(a.prompts, a.newPrompt(said.Params.Session, said.Params.Prompt))
}

func (a *agent) newPrompt(session acp.SessionId, said []acp.ContentBlock) *prompt {
	p := &prompt{session: session, content: contentOf(said)}
	p.ctx, p.end = context.WithCancel(a.ctx)
	return p
}

func contentOf(said []acp.ContentBlock) string {
	raw, _ := json.Marshal(said) // it was read from JSON
	return string(raw)
}

// begin returns the context of a prompt that has arrived. Call end when it has ended.
func (a *agent) begin(r acp.PromptRequest) (ctx context.Context, end func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	content := contentOf(r.Prompt)
	i := slices.IndexFunc(a.prompts, func(p *prompt) bool {
		return !p.begun && p.session == r.SessionId && p.content == content
	})
	if i < 0 {
		a.prompts = append(a.prompts, a.newPrompt(r.SessionId, r.Prompt))
		i = len(a.prompts) - 1
	}
	one := a.prompts[i]
	one.begun = true
	return one.ctx, func() {
		one.end()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.prompts = slices.DeleteFunc(a.prompts, func(p *prompt) bool { return p == one })
	}
}
