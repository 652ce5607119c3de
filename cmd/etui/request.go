package main

import (
	"context"
	"net/http"

	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/client"
)

// request is a request to a gateway.
type request struct {
	method, path string // the method is GET if empty
	body         any
	// otherwise says what to do when no gateway is running; empty means that this
	// process answers then.
	otherwise string
}

// show sends a request and prints the answer, for people as text.
func show[T any](ctx context.Context, g *gateway, r request, text func(T) string) error {
	return g.with(ctx, false, func(c *client.Client) error {
		if r.otherwise != "" && c.Here() {
			return app.Usagef("no gateway is running; %s", r.otherwise)
		}
		var answer T
		if err := c.Do(ctx, r.method, r.path, r.body, &answer); err != nil {
			return err
		}
		return g.Print(answer, func() string { return text(answer) })
	})
}

// showRecords asks the gateway of the workspace, or reads the workspace and its database where
// they are, and prints the answer.
func showRecords[T any](ctx context.Context, g *gateway, path string, text func(T) string) error {
	return g.using(ctx, app.Config{Records: true}, func(c *client.Client) error {
		var answer T
		if err := c.Do(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		return g.Print(answer, func() string { return text(answer) })
	})
}
