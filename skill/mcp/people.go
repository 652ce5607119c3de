package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/tool"
)

// people are the connections of the people who log in to a server each by themselves: a session
// of the protocol is one person's. They end with the server's own connection.
type people struct {
	server *Server

	mu      sync.Mutex
	open    map[string]*visit
	running sync.WaitGroup // what connects and waits for an end
}

// visit is a person's connection.
type visit struct {
	ready      chan struct{} // closed when the attempt to connect has ended
	connection *connection   // nil if it failed
	err        error
	calls      int // that run
	used       time.Time
}

// The bounds of the connections of people.
const (
	maxVisits = 64
	idleVisit = 10 * time.Minute
)

// visit returns the connection of a person for a call, which ends with leave.
func (p *people) visit(ctx context.Context, own *connection, person string) (c *connection, leave func(), err error) {
	p.mu.Lock()
	p.sweep()
	v := p.open[person]
	if v == nil {
		if own.ctx.Err() != nil { // wait has been called, or will be
			p.mu.Unlock()
			return nil, nil, errGone
		}
		if len(p.open) >= maxVisits {
			p.mu.Unlock()
			return nil, nil, fmt.Errorf("%d people use the server now, and no more can", maxVisits)
		}
		v = &visit{ready: make(chan struct{})}
		if p.open == nil {
			p.open = map[string]*visit{}
		}
		p.open[person] = v
		p.running.Go(func() {
			defer panics.Log(p.server.config.Log, "connecting to an MCP server for a person")
			p.welcome(own, person, v)
		})
	}
	v.calls++
	p.mu.Unlock()
	leave = func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		v.calls--
		v.used = time.Now()
	}
	select {
	case <-ctx.Done():
		err = ctx.Err()
	case <-v.ready:
		err = v.err
	}
	if err != nil {
		leave()
		return nil, nil, err
	}
	return v.connection, leave, nil
}

// welcome connects for a person, and forgets the connection when it ends.
func (p *people) welcome(own *connection, person string, v *visit) {
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.open[person] == v {
			delete(p.open, person)
		}
	}()
	func() {
		defer close(v.ready)
		v.err = errGone // after a panic
		m := own.manner
		v.connection, v.err = p.server.connect(own.ctx, &m, person)
	}()
	if v.err != nil {
		return
	}
	select {
	case <-v.connection.dead: //nolint:errcheck // why does not matter: the next call connects again
	case <-v.connection.ctx.Done():
	}
	v.connection.close()
}

// connection returns the connection that a call uses until leave is called: the server's own, or
// that of the person for whom it runs.
func (p *people) connection(ctx context.Context, own *connection) (c *connection, leave func(), err error) {
	if !p.personal() {
		return own, func() {}, nil
	}
	person := tool.Caller(ctx).Record()
	if person == "" {
		return nil, nil, fmt.Errorf("%w: %w", skill.ErrProviderUnavailable, errNobody)
	}
	return p.visit(ctx, own, person)
}

// drop ends a connection of a person, whose session has expired.
func (p *people) drop(person string, c *connection) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c.end()
	v := p.open[person]
	if v == nil {
		return
	}
	select {
	case <-v.ready:
		if v.connection == c {
			delete(p.open, person)
		}
	default: // it is another one, which is being made
	}
}

// sweep ends connections that nobody has used for some time; when all places are taken, also the
// one that was unused for longest.
func (p *people) sweep() {
	var last string
	for person, v := range p.open {
		switch {
		case v.calls > 0 || v.used.IsZero():
		case time.Since(v.used) > idleVisit:
			v.connection.end()
			delete(p.open, person)
		case last == "" || v.used.Before(p.open[last].used):
			last = person
		}
	}
	if len(p.open) >= maxVisits && last != "" {
		p.open[last].connection.end()
		delete(p.open, last)
	}
}

// wait waits until all connections have ended, after the server's own has.
func (p *people) wait() {
	p.mu.Lock()
	p.open = nil // nobody adds one from here on
	p.mu.Unlock()
	p.running.Wait()
}

// personal reports whether calls use the login of each person.
func (p *people) personal() bool {
	s := p.server
	return s.login != nil && s.file.Auth.Login == skill.PersonLogin
}

// errNobody is the error of a call that names no person.
var errNobody = errors.New("each person logs in to this server, and nobody is named as the one who asks")

// asks turns the error of a call that needs a login into what the model and the person read. It
// returns nil for other errors.
func (p *people) asks(err error) *chat.Result {
	s := p.server
	if link := (*oauth.Link)(nil); errors.As(err, &link) {
		words := fmt.Sprintf("Log in to %s here, within %d minutes: %s\nThen write the code that the page shows.",
			s.file.Name, int(oauth.Lasts/time.Minute), link.URL)
		text := fmt.Sprintf("Nothing ran: this person has to log in to %s first. Give the person this link, as it "+
			"is. When the person writes the code that its page shows, call %s with it, and then make the call "+
			"again.\n%s",
			s.file.Name, p.codeTool().Name, link.URL)
		return &chat.Result{Text: text, Failed: true, Tools: []string{p.codeTool().Name}, View: &chat.View{Text: words}}
	}
	if needed := (*oauth.NeededError)(nil); errors.As(err, &needed) {
		result := tool.Failure("nothing ran: %s", needed)
		return &result
	}
	return nil
}

// codeTool is the server's name of etui's own tool that takes the code of a person's login.
const codeTool = "etui_login"

// codeTool returns the definition of the tool that takes codes.
func (p *people) codeTool() tool.Definition {
	s := p.server
	return tool.Definition{
		Name: s.toolName(codeTool), Source: "mcp:" + s.file.Name, Groups: append([]string{s.file.Name},
			s.details.Groups...), Channels: s.details.Channels,
		Description: fmt.Sprintf("Ends the login of the person who writes, at %s, with the code that the login's "+
			"page shows. Only the person can know the code.", s.file.Name),
		Parameters: json.RawMessage(`{"type":"object","properties":{"code":{"type":"string",` +
			`"description":"The code, as in 4QX2M7KA."}},"required":["code"],"additionalProperties":false}`),
		Risk: tool.Write, Replay: tool.Never, Timeout: skill.DefaultTimeout,
	}
}

// takesCode returns the tool that takes the code of a person's login.
func (p *people) takesCode() tool.Tool {
	s := p.server
	return tool.New(p.codeTool(), func(ctx context.Context, args json.RawMessage) (chat.Result, error) {
		var in struct{ Code string }
		if err := json.Unmarshal(args, &in); err != nil {
			return chat.Result{}, err
		}
		person := tool.Caller(ctx).Record()
		if person == "" {
			return tool.Failure("%s", errNobody), nil
		}
		if err := s.config.Logins.Desk.Confirm(ctx, s.file.Name, person, in.Code); err != nil {
			return tool.Failure("%s", s.tell(err)), nil
		}
		return chat.Result{Text: fmt.Sprintf("This person is logged in to %s.", s.file.Name)}, nil
	})
}
