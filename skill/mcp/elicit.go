package mcp

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/internal/form"
	"github.com/etui-run/etui/tool"
)

// A server may ask the person of a running call something. The call then waits for the answer
// as other calls wait for an approval: the turn is put aside, and the call goes on with the
// answer, which belongs to this person and this call alone.

// The bounds of what waits for people. Beyond them the server is told that nobody answers.
const (
	maxAsking = 100 // calls of a server
	// askTime is how long a server waits for the answers of one request. A person can answer until lastCall
	// before its end, so that the server still hears of it.
	askTime  = 30 * time.Minute
	lastCall = 2 * time.Minute
	// maxRequests is how often a server asks during one call.
	maxRequests = 4
)

// dialog is a running call whose server may ask the person.
type dialog struct {
	server *Server
	ask    chan elicitation       // what the server wants to know
	told   chan *sdk.ElicitResult // the answer
	done   chan struct{}          // closed when the call has ended
	cancel context.CancelFunc
	own    *limit

	result *sdk.CallToolResult // once done
	err    error

	form  *form.Form // that is being answered
	until time.Time  // the end of its time

	mu       sync.Mutex
	requests int  // of the server
	declined bool // one of them: no other is asked
}

// elicitation is what a server wants to know, and until when.
type elicitation struct {
	form  *form.Form
	until time.Time
}

// another reports whether the person is to be asked once more.
func (d *dialog) another() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.requests++
	return d.requests <= maxRequests && !d.declined
}

func (d *dialog) decline() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.declined = true
}

// expire ends a call whose question nobody has answered.
func (d *dialog) expire() {
	all := &d.server.asking
	all.mu.Lock()
	defer all.mu.Unlock()
	for name, other := range all.waiting {
		if other == d {
			delete(all.waiting, name)
		}
	}
	d.cancel()
}

// dialogs are the calls of a server that wait for people, by what their questions name. The
// zero value is ready.
type dialogs struct {
	mu      sync.Mutex
	waiting map[string]*dialog
}

type dialogKey struct{}

// converse sends a call whose server may ask the person, until it has ended or has a question.
func (t *serverTool) converse(ctx context.Context, n *state, args json.RawMessage) (*sdk.CallToolResult, error) {
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	d := &dialog{
		server: t.server, cancel: cancel,
		ask: make(chan elicitation), told: make(chan *sdk.ElicitResult), done: make(chan struct{}),
	}
	running = context.WithValue(running, dialogKey{}, d)
	go func() {
		defer panics.Log(t.server.config.Log, "calling a tool of an MCP server")
		defer cancel()
		defer close(d.done)
		d.err = errGone // if it panics
		d.result, d.err = t.send(running, n, args)
	}()
	return d.next(ctx)
}

// goOn gives the answer to the question of a call, and waits for what comes after it.
func (t *serverTool) goOn(ctx context.Context, r *tool.Reply) (*sdk.CallToolResult, error) {
	all := &t.server.asking
	all.mu.Lock()
	d := all.waiting[r.Resume]
	delete(all.waiting, r.Resume)
	all.mu.Unlock()
	if d == nil {
		return nil, fmt.Errorf("%s: %w: the server's question is not open any more, and what the call did "+
			"is unknown: check its effect before you repeat it", t.definition.Name, skill.ErrExecutionFailed)
	}
	d.own.caller.Store(&ctx)
	d.form.Take(r.Text, r.Given)
	if d.form.Result() == nil {
		return nil, d.question()
	}
	select {
	case d.told <- d.form.Result():
	case <-d.done:
	case <-ctx.Done(): // next ends the call
	}
	return d.next(ctx)
}

// next waits until the call has ended or has a question, which is its error.
func (d *dialog) next(ctx context.Context) (*sdk.CallToolResult, error) {
	select {
	case <-ctx.Done():
		d.cancel()
		<-d.done
	case <-d.done:
	case a := <-d.ask:
		d.form, d.until = a.form, a.until
		return nil, d.question()
	}
	return d.result, d.err
}

// question registers the call and returns its question.
func (d *dialog) question() error {
	all := &d.server.asking
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.waiting == nil {
		all.waiting = map[string]*dialog{}
	}
	for name, other := range all.waiting {
		select {
		case <-other.done:
			delete(all.waiting, name)
		default:
		}
	}
	text, choices := d.form.Question()
	if len(all.waiting) >= maxAsking {
		d.cancel()
		return fmt.Errorf("%w: too many calls of this server wait for answers of people", skill.ErrProviderUnavailable)
	}
	q := &tool.Question{Text: text, Choices: choices, Resume: rand.Text(),
		Lasts: max(time.Until(d.until)-lastCall, time.Second)}
	all.waiting[q.Resume] = d
	return q
}

// elicit asks the person of a call. A request that says nothing of its call is for the only
// one that runs; otherwise nobody is asked.
func (c *connection) elicit(ctx context.Context, s *Server, p *sdk.ElicitParams) (*sdk.ElicitResult, error) {
	d, _ := ctx.Value(dialogKey{}).(*dialog)
	if own := c.running.only(); d == nil && own != nil {
		d = own.dialog
	}
	if d == nil {
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	f, err := form.New(s.file.Name, p)
	if err != nil {
		s.config.Log.WarnContext(ctx, "MCP server asks what people are not asked", "server", s.file.Name, "error", err)
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	if !d.another() {
		return &sdk.ElicitResult{Action: "decline"}, nil
	}
	defer c.running.pause(d.own)()
	late, until := time.NewTimer(askTime), time.Now().Add(askTime)
	defer late.Stop()
	select {
	case d.ask <- elicitation{f, until}:
	case <-d.done:
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case <-ctx.Done():
		return &sdk.ElicitResult{Action: "cancel"}, nil
	case <-late.C:
		d.expire()
		return &sdk.ElicitResult{Action: "cancel"}, nil
	}
	select {
	case r := <-d.told:
		if r.Action == "decline" {
			d.decline()
		}
		return r, nil
	case <-d.done:
	case <-ctx.Done():
	case <-late.C:
		d.expire()
	}
	return &sdk.ElicitResult{Action: "cancel"}, nil
}

// visit asks the person of a call to open the pages that a server wants to be opened before it
// runs the call, and reports whether all were. The server has run nothing.
func (c *connection) visit(ctx context.Context, s *Server, err error) bool {
	var answer *jsonrpc.Error
	var wanted struct{ Elicitations []*sdk.ElicitParams }
	if !errors.As(err, &answer) || answer.Code != sdk.CodeURLElicitationRequired ||
		json.Unmarshal(answer.Data, &wanted) != nil || len(wanted.Elicitations) == 0 {
		return false
	}
	for i, p := range wanted.Elicitations {
		if p == nil || p.Mode != "url" || i > 3 {
			return false
		}
		if r, err := c.elicit(ctx, s, p); err != nil || r.Action != "accept" {
			return false
		}
	}
	return true
}

// answered returns the result of a call as the host gets it. A login that is needed is a result,
// which the person reads, too.
func (s *Server) answered(result *sdk.CallToolResult, err error) (chat.Result, error) {
	if asked := s.people.asks(err); asked != nil {
		return *asked, nil
	}
	if err != nil {
		return chat.Result{}, err
	}
	return s.result(result), nil
}
