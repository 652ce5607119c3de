package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/cut"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/skill/mcp/internal/wire"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/skill/mcp/program"
)

// connection is a connection to a server.
type connection struct {
	session  *sdk.ClientSession
	version  string          // of the protocol
	ctx      context.Context //nolint:containedctx // ends with the connection, as its calls do
	end      context.CancelFunc
	dead     chan error          // receives the reason of the connection's end
	process  *sandbox.Process    // nil for a service
	walled   func(string) string // see Server.walled
	program  string              // see Definition.Program
	wire     wire.Wire
	expired  chan struct{} // receives a value when a service has forgotten the session
	running  limits        // of the calls
	manner   manner        // how it was made
	unlisted bool          // see reach; only keep uses it
	useful   atomic.Bool   // a call was answered
}

// manner is how a server is spoken to. If one does not work, the next attempt takes another.
type manner struct {
	legacy   bool          // in a version that begins with a handshake
	events   bool          // over the older transport: a stream of events, and POST
	patience time.Duration // how long a server may be silent when it is asked in the newer version
}

// The patience of the first attempt, and of later ones, of which a server that starts slowly and
// speaks only the newer version needs one.
const (
	firstPatience = 2 * time.Second
	laterPatience = 20 * time.Second
	// eventsTime bounds how long a service may take to name its address for messages.
	eventsTime = 10 * time.Second
)

var (
	errGone         = errors.New("the connection to the server has ended")
	errUnauthorized = errors.New("the server refuses the login: write a token into the skill's headers, as in Authorization: Bearer ${NAME}")
)

// connect connects to the server. It notes in m which manner worked. A person is
// the one whose login it uses.
func (s *Server) connect(ctx context.Context, m *manner, person string) (c *connection, err error) {
	c = &connection{dead: make(chan error, 1), expired: make(chan struct{}, 1), walled: s.walled}
	c.ctx, c.end = context.WithCancel(ctx)
	var transport sdk.Transport
	if len(s.file.Command) > 0 {
		transport, err = c.start(s)
	} else {
		transport, err = c.http(s, m.events, person)
	}
	if err != nil {
		c.end()
		return nil, err
	}
	trying, cancel := context.WithTimeout(c.ctx, connectTime)
	defer cancel()
	err = c.greet(trying, s, m, transport)
	if len(s.file.Command) == 0 && !m.events && older(err) {
		first := err
		if transport, err = c.http(s, true, person); err == nil {
			m.events = true
			within, done := context.WithTimeout(trying, eventsTime)
			err = c.greet(within, s, m, transport)
			done()
		}
		if err != nil {
			m.events, err = false, fmt.Errorf("%w; and over the older transport with events: %w", first, err)
		}
	} else if err != nil {
		m.events = false
	}
	if err != nil {
		if trying.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("it did not answer within %v", connectTime)
		}
		if needed := (*oauth.NeededError)(nil); errors.As(err, &needed) {
			err = needed // which request it was does not matter
		} else {
			err = c.explain(err)
		}
		c.close()
		return nil, err
	}
	answer := c.session.InitializeResult()
	c.version = answer.ProtocolVersion
	m.legacy = c.version <= wire.Legacy
	c.manner = *m
	if info := answer.ServerInfo; c.process != nil && c.program == "" && info != nil {
		c.program = cut.Words(printable.OneLine(info.Name), 80) + " " + cut.Words(printable.OneLine(info.Version), 80)
	}
	go func() { c.dead <- panics.Try(s.config.Log, "waiting for an MCP server", c.session.Wait) }()
	return c, nil
}

// greet opens the session.
func (c *connection) greet(ctx context.Context, s *Server, m *manner, t sdk.Transport) (err error) {
	options := &sdk.ClientSessionOptions{}
	if m.legacy || m.events {
		options.ProtocolVersion = wire.Legacy
	}
	c.session, err = s.client(c, m.patience).Connect(ctx, t, options)
	return err
}

// older reports whether a service that fails so may be one of the older transport.
func older(err error) bool {
	var status *wire.StatusError
	if errors.As(err, &status) {
		refused := status.Code >= 400 && status.Code < 500 || status.Code == http.StatusNotImplemented
		return refused && !slices.Contains(askedAgain, status.Code)
	}
	return errors.Is(err, wire.ErrNoMessage)
}

// askedAgain are the statuses that say nothing of the transport.
var askedAgain = []int{
	http.StatusUnauthorized, http.StatusForbidden, http.StatusRequestTimeout, http.StatusTooManyRequests,
}

// may reports whether a server may make a request.
func (s *Server) may(method string) bool {
	switch method {
	case "ping", "elicitation/create":
		return true
	case "roots/list":
		return len(s.roots()) > 0
	case "sampling/createMessage":
		return s.file.Sampling
	}
	return false
}

// capabilities says what a server may request. Roots are the folders that a program was granted;
// a program without any is told of none, since it would take them for the only ones it may use.
func (s *Server) capabilities() *sdk.ClientCapabilities {
	can := &sdk.ClientCapabilities{Elicitation: &sdk.ElicitationCapabilities{
		Form: &sdk.FormElicitationCapabilities{}, URL: &sdk.URLElicitationCapabilities{},
	}}
	if s.file.Sampling {
		can.Sampling = &sdk.SamplingCapabilities{}
	}
	if len(s.roots()) > 0 {
		can.RootsV2 = &sdk.RootCapabilities{}
	}
	return can
}

func (s *Server) roots() (list []*sdk.Root) {
	for _, folder := range slices.Compact(slices.Sorted(slices.Values(slices.Concat(s.read, s.write)))) {
		at := url.URL{Scheme: "file", Path: folder}
		list = append(list, &sdk.Root{URI: at.String(), Name: filepath.Base(folder)})
	}
	return list
}

// client makes the client of a connection. It accepts notifications and refuses all requests but
// those that are allowed.
func (s *Server) client(c *connection, patience time.Duration) *sdk.Client {
	options := &sdk.ClientOptions{
		Logger:       slog.New(slog.DiscardHandler),
		Capabilities: s.capabilities(),
		ElicitationHandler: func(ctx context.Context, r *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			return c.elicit(ctx, s, r.Params)
		},
		ToolListChangedHandler:     func(context.Context, *sdk.ToolListChangedRequest) { s.look() },
		PromptListChangedHandler:   func(context.Context, *sdk.PromptListChangedRequest) { s.look() },
		ResourceListChangedHandler: func(context.Context, *sdk.ResourceListChangedRequest) { s.look() },
		ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
			c.running.progress(r.Params)
		},
	}
	if s.file.Sampling {
		options.CreateMessageHandler = func(
			ctx context.Context, r *sdk.CreateMessageRequest,
		) (*sdk.CreateMessageResult, error) {
			return c.sample(ctx, r.Params)
		}
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "etui", Version: s.config.Version}, options)
	client.AddSendingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			ctx, cancel := wire.Patient(ctx, method, patience)
			defer cancel()
			return next(ctx, method, r)
		}
	})
	addTasks(client)
	client.AddRoots(s.roots()...)
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if !s.may(method) && !strings.HasPrefix(method, "notifications/") {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound,
					Message: fmt.Sprintf("%q is not supported", method)}
			}
			return next(ctx, method, r)
		}
	})
	return client
}

// look asks Run to list the tools soon.
func (s *Server) look() {
	select {
	case s.poke <- struct{}{}:
	default:
	}
}

// close ends the connection and waits until its program has ended. Running calls fail.
func (c *connection) close() {
	c.end()
	if c.process != nil {
		_ = c.process.Stdin.Close() // asks the program to end, and ends the session
	}
	if c.session != nil {
		_ = c.session.Close() // the reason is known already
	}
	if c.process != nil {
		_ = c.process.Close()
	}
}

// explain adds the program's standard error to a failure, and what it wrote to its
// standard output instead of messages.
func (c *connection) explain(err error) error {
	if err == nil {
		err = errGone
	}
	if c.process == nil {
		return err
	}
	if why := c.wire.StopReason(); why != nil {
		err = why
	} else {
		select {
		case <-c.process.Done():
			err = c.process.Err()
		case <-time.After(100 * time.Millisecond): // its output may end just before it does
			if words := c.process.Complaint(); words != "" {
				err = fmt.Errorf("%w; it says: %s", err, words)
			}
		}
	}
	if skipped := c.wire.Noise(); skipped != "" {
		err = fmt.Errorf("%w; %s", err, skipped)
	}
	if why := c.walled(err.Error()); why != "" {
		err = fmt.Errorf("%w. %s", err, why)
	}
	return err
}

// tell cleans and bounds the text of a failure and removes secrets.
func (s *Server) tell(err error) error {
	text := s.redactor.Text(printable.Text(err.Error()))
	if _, query, ok := strings.Cut(s.file.URL(), "?"); ok && query != "" {
		text = strings.ReplaceAll(text, query, "...")
	}
	return textError{err, cut.Words(text, 3000)}
}

// textError is an error with another text.
type textError struct {
	error
	text string
}

func (t textError) Error() string { return t.text }
func (t textError) Unwrap() error { return t.error }

// start starts the program of the server.
func (c *connection) start(s *Server) (sdk.Transport, error) {
	if s.config.Sandbox == nil {
		return nil, sandbox.ErrRefused
	}
	if s.home != "" {
		if err := os.MkdirAll(s.home, 0o700); err != nil {
			return nil, fmt.Errorf("making its private folder: %w", err)
		}
	}
	args, env := s.command()
	c.program = program.Identify(args, s.dir)
	// close ends the program gracefully; the end of ctx must not kill it before.
	p, err := s.config.Sandbox.Start(context.WithoutCancel(c.ctx), sandbox.Command{
		Args: args, Dir: cmp.Or(s.dir, s.home), ReadOnly: s.readable(), Write: s.writable(), Network: s.file.Network,
		Env: env, Hide: s.redactor.Text,
	})
	if err != nil {
		return nil, err
	}
	c.process = p
	return c.wire.Program(p.Stdout, p.Stdin), nil
}

// http returns the transport to a service: the newer one, or that with events; with the login of a
// person.
func (c *connection) http(s *Server, events bool, person string) (sdk.Transport, error) {
	endpoint, err := url.Parse(s.file.URL())
	if err != nil {
		return nil, err
	}
	client := *s.config.HTTP
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	var sends http.RoundTripper = &guard{base, s.file.Headers, endpoint, s.login != nil}
	if s.login != nil {
		sends = s.login.Transport(person, sends)
	}
	client.Transport = c.wire.HTTP(sends, s.file.Timeout*2/3, events)
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 || !sameOrigin(r.URL, endpoint) {
			return fmt.Errorf("the server redirects to %s; write that address into the skill's file if you trust it",
				r.URL.Host)
		}
		return nil
	}
	client.Timeout = 0 // streams stay open; each call has its own limit
	if events {
		return wire.LastingTransport(c.ctx, &sdk.SSEClientTransport{
			Endpoint: s.file.URL(), HTTPClient: &client, MaxEventSize: wire.MaxMessage,
		}), nil
	}
	return &sdk.StreamableClientTransport{
		Endpoint: s.file.URL(), HTTPClient: &client, MaxEventSize: wire.MaxMessage,
	}, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// list returns what the server lists of the wanted tools, and how long that stays valid.
func (c *connection) list(
	ctx context.Context, wanted func(name string) bool,
) (l *listing, poll time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, fmt.Errorf("it did not list its tools within %v", listTime))
	defer cancel()
	l, poll = &listing{tasks: map[string]bool{}, extras: map[string]extra{}, about: map[string]string{}}, pollEvery
	seen := map[string]*sdk.Tool{}
	err = c.pages(ctx, func(cursor string) (string, error) {
		result, err := c.session.ListTools(ctx, &sdk.ListToolsParams{Cursor: cursor})
		if err != nil {
			return "", err
		}
		if ttl := time.Duration(result.GetTTLMs()) * time.Millisecond; ttl > 0 {
			poll = min(max(ttl, pollAtLeast), pollAtMost)
		}
		news := len(result.Tools) == 0
		for _, t := range result.Tools {
			if t == nil || seen[t.Name] != nil && reflect.DeepEqual(t, seen[t.Name]) {
				continue // from a page that the server has given before
			}
			news = true
			if seen[t.Name] == nil {
				seen[t.Name] = t
			}
			switch {
			case !wanted(t.Name):
			case len(l.tools) < maxTools:
				l.tools = append(l.tools, t)
				l.tasks[t.Name] = t.Meta[wire.TaskSupport] == "required"
			default:
				l.leftOut++
			}
		}
		if !news {
			return "", nil // the pages have no end
		}
		return result.NextCursor, nil
	})
	if err == nil {
		err = c.reach(ctx, l, wanted)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("listing its tools: %w", err)
	}
	return l, poll, nil
}

// pages reads a list by its pages, of which it asks for none twice. A server that refuses a later
// page has shown the others.
func (c *connection) pages(ctx context.Context, page func(cursor string) (next string, err error)) error {
	seen := map[string]bool{"": true}
	for cursor := ""; len(seen) <= maxPages; {
		next, err := page(cursor)
		if answer := (*jsonrpc.Error)(nil); cursor != "" && errors.As(err, &answer) &&
			!slices.Contains(ownCodes, answer.Code) {
			c.wire.Note("pages of a list that it names and refuses")
			return nil
		}
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return err
		}
		if cursor = next; seen[cursor] {
			return nil
		}
		seen[cursor] = true
	}
	return nil
}

// expire has the connection replaced: its service has forgotten the session.
func (c *connection) expire() {
	select {
	case c.expired <- struct{}{}:
	default:
	}
}
