package servers

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	server "github.com/etui-run/etui/server/mcp"
)

// maxAsked is how many requests of an MCP client the bridge carries at once. The client waits
// with more.
const maxAsked = 64

// Serve carries the messages of an MCP client, one a line, to an agent of a gateway and back,
// until the client ends its input. Skill is a toolset; empty means all tools.
func Serve(ctx context.Context, console *terminal.Console, c *client.Client, agent, skill string) error {
	near, err := (&mcp.IOTransport{Reader: io.NopCloser(console.In), Writer: open{console.Out}}).Connect(ctx)
	if err != nil {
		return err
	}
	address, web := c.HTTP()
	address += server.Path
	if agent != "" {
		address += "/" + url.PathEscape(agent)
	}
	if skill != "" {
		address += "?skill=" + url.QueryEscape(skill)
	}
	far := &mcp.StreamableClientTransport{Endpoint: address, HTTPClient: web, MaxRetries: -1,
		DisableStandaloneSSE: true}
	places := make(chan struct{}, maxAsked)
	var asked sync.WaitGroup
	defer asked.Wait()
	for {
		m, err := near.Read(ctx)
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			return phrase.Errorf("reading the MCP client: %w", err)
		}
		places <- struct{}{}
		asked.Go(func() {
			defer panics.Log(nil, "asking the gateway for an MCP client")
			defer func() { <-places }()
			if err := carry(ctx, m, far, near); err != nil {
				fmt.Fprintln(console.Err, "etui:", printable.OneLine(err.Error()))
			}
		})
	}
}

// carry sends one message to the gateway and hands everything that it answers to the client. The
// gateway keeps no session, so each message has a connection of its own, and none fails because
// another did.
func carry(ctx context.Context, m jsonrpc.Message, far mcp.Transport, near mcp.Connection) error {
	to, err := far.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = to.Close() }()
	r, request := m.(*jsonrpc.Request)
	err = to.Write(ctx, m)
	for err == nil && request && r.IsCall() {
		var answer jsonrpc.Message
		if answer, err = to.Read(ctx); err != nil {
			break
		}
		if err = near.Write(ctx, answer); err != nil {
			return err
		}
		if _, last := answer.(*jsonrpc.Response); last {
			return nil
		}
	}
	if refused := (*client.Error)(nil); errors.As(err, &refused) {
		err = refused // without the transport's words
	}
	if err == nil || !request || !r.IsCall() {
		return err
	}
	return near.Write(ctx, &jsonrpc.Response{ID: r.ID,
		Error: &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}})
}

// open is a writer that stays open.
type open struct{ io.Writer }

func (open) Close() error { return nil }
