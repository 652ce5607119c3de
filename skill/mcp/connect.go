package mcp

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
)

// connection is a connection to a server.
type connection struct {
	session *sdk.ClientSession
	version string          // of the protocol
	ctx     context.Context //nolint:containedctx // ends with the connection, as its calls do
	end     context.CancelFunc
	dead    chan error       // receives the reason of the connection's end
	process *sandbox.Process // nil for a service
}

var (
	errGone         = errors.New("the connection to the server has ended")
	errUnauthorized = errors.New("the server wants a login. OAuth is not supported: write a token into the skill's headers, as in Authorization: Bearer ${NAME}")
)

// legacyProtocol is the newest version of the protocol that begins with a
// handshake.
const legacyProtocol = "2025-11-25"

// connect connects to the server. If legacy is set, it uses the older protocol only.
func (s *Server) connect(ctx context.Context, legacy bool) (c *connection, err error) {
	c = &connection{dead: make(chan error, 1)}
	c.ctx, c.end = context.WithCancel(ctx)
	var transport sdk.Transport
	if len(s.file.Command) > 0 {
		transport, err = c.start(s)
	} else {
		transport, err = s.http()
	}
	if err != nil {
		c.end()
		return nil, err
	}
	options := &sdk.ClientSessionOptions{}
	if legacy {
		options.ProtocolVersion = legacyProtocol
	}
	trying, cancel := context.WithTimeout(c.ctx, connectTime)
	defer cancel()
	if c.session, err = s.client().Connect(trying, transport, options); err != nil {
		if trying.Err() != nil && ctx.Err() == nil {
			err = fmt.Errorf("it did not answer within %v", connectTime)
		}
		err = c.explain(err)
		c.close()
		return nil, err
	}
	c.version = c.session.InitializeResult().ProtocolVersion
	go func() { c.dead <- c.session.Wait() }()
	return c, nil
}

// client makes the client of a server. It accepts notifications of changed tools and
// refuses all requests.
func (s *Server) client() *sdk.Client {
	client := sdk.NewClient(&sdk.Implementation{Name: "etui", Version: s.config.Version}, &sdk.ClientOptions{
		Logger:                 slog.New(slog.DiscardHandler),
		Capabilities:           &sdk.ClientCapabilities{},
		MultiRoundTrip:         &sdk.MultiRoundTripOptions{Disabled: true},
		ToolListChangedHandler: func(context.Context, *sdk.ToolListChangedRequest) { s.look() },
	})
	client.AddReceivingMiddleware(func(next sdk.MethodHandler) sdk.MethodHandler {
		return func(ctx context.Context, method string, r sdk.Request) (sdk.Result, error) {
			if method != "ping" && !strings.HasPrefix(method, "notifications/") {
				return nil, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%q is not supported", method)}
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

// explain adds the program's standard error to a failure.
func (c *connection) explain(err error) error {
	if err == nil {
		err = errGone
	}
	if c.process == nil {
		return err
	}
	select {
	case <-c.process.Done():
		return c.process.Err()
	case <-time.After(100 * time.Millisecond): // its output may end just before it does
	}
	if words := c.process.Complaint(); words != "" {
		return fmt.Errorf("%w; it says: %s", err, words)
	}
	return err
}

// tell cleans and bounds the text of a failure and removes secrets.
func (s *Server) tell(err error) error {
	text := s.redactor.Text(printable.Text(err.Error()))
	if _, query, ok := strings.Cut(s.file.Endpoint, "?"); ok && query != "" {
		text = strings.ReplaceAll(text, query, "...")
	}
	return told{err, cut(text, 3000)}
}

// told is an error with another text.
type told struct {
	error
	text string
}

func (t told) Error() string { return t.text }
func (t told) Unwrap() error { return t.error }

// start starts the program of the server.
func (c *connection) start(s *Server) (sdk.Transport, error) {
	if s.config.Sandbox == nil {
		return nil, sandbox.ErrRefused
	}
	env := make(map[string]string, len(s.file.Env))
	for name, value := range s.file.Env {
		env[name] = string(value)
	}
	// close ends the program gracefully; the end of ctx must not kill it before.
	p, err := s.config.Sandbox.Start(context.WithoutCancel(c.ctx), sandbox.Command{Args: s.file.Command, Dir: s.dir, Network: s.file.Network, Env: env})
	if err != nil {
		return nil, err
	}
	c.process = p
	return &sdk.IOTransport{Reader: &messages{r: bufio.NewReader(p.Stdout), close: p.Stdout.Close}, Writer: p.Stdin, MaxLineLength: maxMessage}, nil
}

// messages is the output of a program from its first message on: some programs print a
// greeting before it. Other text later on ends the connection.
type messages struct {
	r     *bufio.Reader
	close func() error
	begun bool
}

// maxGreeting is the longest greeting that is skipped.
const maxGreeting = 64 << 10

func (m *messages) Read(p []byte) (int, error) {
	for skipped := 0; !m.begun; {
		first, err := m.r.Peek(1)
		if err != nil {
			return 0, err
		}
		if m.begun = first[0] == '{'; m.begun {
			break
		}
		line, err := m.r.ReadSlice('\n')
		if skipped += len(line); skipped > maxGreeting {
			return 0, errors.New("its standard output begins with no message")
		}
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return 0, err
		}
	}
	return m.r.Read(p)
}

func (m *messages) Close() error { return m.close() }

// http returns the transport to a service.
func (s *Server) http() (sdk.Transport, error) {
	endpoint, err := url.Parse(s.file.Endpoint)
	if err != nil {
		return nil, err
	}
	client := *s.config.HTTP
	base := client.Transport
	if base == nil {
		base = http.DefaultTransport
	}
	client.Transport = &guard{base, s.file.Headers, endpoint}
	client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) > 3 || !sameOrigin(r.URL, endpoint) {
			return fmt.Errorf("the server redirects to %s; write that address into the skill's file if you trust it", r.URL.Host)
		}
		return nil
	}
	client.Timeout = 0 // streams stay open; each call has its own limit
	return &sdk.StreamableClientTransport{Endpoint: s.file.Endpoint, HTTPClient: &client, MaxEventSize: maxMessage}, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// list returns all tools of the server, and how long they stay valid.
func (c *connection) list(ctx context.Context) (tools []*sdk.Tool, poll time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, fmt.Errorf("it did not list its tools within %v", listTime))
	defer cancel()
	poll = pollEvery
	params := &sdk.ListToolsParams{}
	for page := 0; page < maxPages && len(tools) < maxTools; page++ {
		result, err := c.session.ListTools(ctx, params)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, 0, fmt.Errorf("listing its tools: %w", err)
		}
		if ttl := time.Duration(result.GetTTLMs()) * time.Millisecond; ttl > 0 {
			poll = min(max(ttl, pollAtLeast), pollAtMost)
		}
		tools = append(tools, result.Tools...)
		if result.NextCursor == "" {
			break
		}
		params = &sdk.ListToolsParams{Cursor: result.NextCursor}
	}
	return tools[:min(len(tools), maxTools)], poll, nil
}
