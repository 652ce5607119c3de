package main

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/client"
)

// print prints a value: as JSON with --json, otherwise as text.
func (a *cli) print(value any, text func() string) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(value)
	}
	_, err := io.WriteString(a.out, text())
	return err
}

// printJSON prints a value as indented JSON.
func (a *cli) printJSON(value any) error {
	e := json.NewEncoder(a.out)
	e.SetIndent("", "  ")
	return e.Encode(value)
}

// request is a request to a gateway.
type request struct {
	method, path string // the method is GET if empty
	body         any
	// otherwise says what to do when no gateway is running; empty means that this
	// process answers then.
	otherwise string
}

// show sends a request and prints the answer, for people as text.
func show[T any](ctx context.Context, a *cli, r request, text func(T) string) error {
	return a.with(ctx, false, func(c *client.Client) error {
		if r.otherwise != "" && c.Here() {
			return app.Usagef("no gateway is running; %s", r.otherwise)
		}
		var answer T
		if err := c.Do(ctx, r.method, r.path, r.body, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

// columns writes rows with as much space as their cells need.
func columns(rows [][]string) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		_, _ = io.WriteString(w, strings.Join(row, "\t")+"\n") // a builder never fails
	}
	_ = w.Flush()
	return b.String()
}
