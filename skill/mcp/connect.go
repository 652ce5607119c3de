package mcp

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/sandbox"
)

// connection is a connection to a server.
type connection struct {
	session *sdk.ClientSession
	version string          // of the protocol
	ctx     context.Context //nolint:containedctx // ends with the connection, as its calls do
	end     context.CancelFunc
	dead    chan error          // receives the reason of the connection's end
	process *sandbox.Process    // nil for a service
	walled  func(string) string // see Server.walled
	program string              // see Definition.Program
	noise   noise               // what a program writes between its messages
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
	c = &connection{dead: make(chan error, 1), walled: s.walled}
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
	answer := c.session.InitializeResult()
	c.version = answer.ProtocolVersion
	if info := answer.ServerInfo; c.process != nil && c.program == "" && info != nil {
		c.program = cut(printable.OneLine(info.Name), 80) + " " + cut(printable.OneLine(info.Version), 80)
	}
	go func() { c.dead <- panics.Try(s.config.Log, "waiting for an MCP server", c.session.Wait) }()
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

// explain adds the program's standard error to a failure, and what it wrote to its
// standard output instead of messages.
func (c *connection) explain(err error) error {
	if err == nil {
		err = errGone
	}
	if c.process == nil {
		return err
	}
	if why := c.noise.stopped(); why != nil {
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
	if skipped := c.noise.String(); skipped != "" {
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
	if s.home != "" {
		if err := os.MkdirAll(s.home, 0o700); err != nil {
			return nil, fmt.Errorf("making its private folder: %w", err)
		}
	}
	args, env := s.command()
	c.program = program(args, s.dir)
	// close ends the program gracefully; the end of ctx must not kill it before.
	p, err := s.config.Sandbox.Start(context.WithoutCancel(c.ctx), sandbox.Command{
		Args: args, Dir: cmp.Or(s.dir, s.home), ReadOnly: s.readable(), Write: s.writable(), Network: s.file.Network, Env: env, Hide: s.redactor.Text,
	})
	if err != nil {
		return nil, err
	}
	c.process = p
	return &sdk.IOTransport{Reader: &messages{r: bufio.NewReaderSize(p.Stdout, 64<<10), close: p.Stdout.Close, noise: &c.noise}, Writer: p.Stdin, MaxLineLength: maxMessage}, nil
}

// http returns the transport to a service.
func (s *Server) http() (sdk.Transport, error) {
	endpoint, err := url.Parse(s.file.URL())
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
	return &sdk.StreamableClientTransport{Endpoint: s.file.URL(), HTTPClient: &client, MaxEventSize: maxMessage}, nil
}

func sameOrigin(a, b *url.URL) bool { return a.Scheme == b.Scheme && a.Host == b.Host }

// list returns the wanted tools of the server, how many more it lists than are taken, and
// how long they stay valid.
func (c *connection) list(ctx context.Context, wanted func(name string) bool) (tools []*sdk.Tool, leftOut int, poll time.Duration, err error) {
	ctx, cancel := context.WithTimeoutCause(ctx, listTime, fmt.Errorf("it did not list its tools within %v", listTime))
	defer cancel()
	poll = pollEvery
	params := &sdk.ListToolsParams{}
	for range maxPages {
		result, err := c.session.ListTools(ctx, params)
		if err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			return nil, 0, 0, fmt.Errorf("listing its tools: %w", err)
		}
		if ttl := time.Duration(result.GetTTLMs()) * time.Millisecond; ttl > 0 {
			poll = min(max(ttl, pollAtLeast), pollAtMost)
		}
		for _, t := range result.Tools {
			switch {
			case t == nil || !wanted(t.Name):
			case len(tools) < maxTools:
				tools = append(tools, t)
			default:
				leftOut++
			}
		}
		if result.NextCursor == "" || result.NextCursor == params.Cursor {
			break
		}
		params = &sdk.ListToolsParams{Cursor: result.NextCursor}
	}
	return tools, leftOut, poll, nil
}
