package main

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/etui-run/etui/cmd/etui/internal/help"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/phrase"
)

// action is a command that asks a gateway: it lists, shows or changes things of one kind. An
// action without run is a group of others.
type action struct {
	use, short, long, example string

	actions []action
	// commands are those of the group that ask no gateway.
	commands func(*place) []*cobra.Command
	// args is how many arguments it takes; nil means those that use names.
	args  cobra.PositionalArgs
	flags func(*pflag.FlagSet)
	// names completes the first argument in a shell.
	names names
	// needs says what this process needs to answer when no gateway runs.
	needs needs
	// otherwise says what to do when no gateway runs and this process cannot answer.
	otherwise string
	// check looks at flags and arguments before a gateway is asked; nil checks nothing.
	check func(*call) error
	run   func(context.Context, *call) error
}

// needs is what a process needs to answer in place of a gateway.
type needs int

const (
	records needs = 1 << iota // it reads what is stored
	changes                   // it changes what is stored, which one process at a time can
)

// call is one run of an action.
type call struct {
	*gateway
	client *client.Client
	flags  *pflag.FlagSet
	args   []string
	needs  needs // a check may change it
}

// command makes the command of an action.
func (a action) command(g *gateway) *cobra.Command {
	c := &cobra.Command{Use: a.use, Short: a.short, Long: a.long, Example: a.example, Args: help.NoCommand, RunE: group}
	if a.flags != nil {
		a.flags(c.Flags())
	}
	for _, sub := range a.actions {
		c.AddCommand(sub.command(g))
	}
	if a.commands != nil {
		c.AddCommand(a.commands(g.place)...)
	}
	if a.names != nil {
		c.ValidArgsFunction = completes(g, 1, a.names)
	}
	if a.run == nil {
		return c
	}
	if len(a.actions) == 0 {
		if c.Args = a.args; a.args == nil {
			c.Args = argsOf(a.use)
		}
	}
	c.RunE = func(cmd *cobra.Command, args []string) error {
		x := &call{gateway: g, flags: cmd.Flags(), args: args, needs: a.needs}
		if a.check != nil {
			if err := a.check(x); err != nil {
				return err
			}
		}
		settings := app.Config{Stored: x.needs&changes != 0, Records: x.needs&records != 0}
		return g.using(cmd.Context(), settings, func(c *client.Client) error {
			if a.otherwise != "" && c.Here() {
				return config.Usagef("no gateway is running; %s", phrase.Text(a.otherwise))
			}
			x.client = c
			return a.run(cmd.Context(), x)
		})
	}
	return c
}

// argsOf returns how many arguments a command takes: one for each word behind its name, and
// perhaps one in brackets.
func argsOf(use string) cobra.PositionalArgs {
	words := strings.Fields(use)[1:]
	switch n := len(words); {
	case n == 0:
		return cobra.NoArgs
	case strings.HasPrefix(words[n-1], "["):
		return cobra.RangeArgs(n-1, n)
	default:
		return cobra.ExactArgs(n)
	}
}

// get is the run of an action that shows what is at a path.
func get[T any](path string, text func(lang string, x T) string) func(context.Context, *call) error {
	return send(http.MethodGet, path, nil, text)
}

// send is the run of an action that sends one request and prints the answer, for people as
// text. The arguments stand in the path in place of {}. A POST without a body sends an
// empty object.
func send[T any](method, path string, body any, text func(lang string, x T) string) func(context.Context, *call) error {
	if method == http.MethodPost && body == nil {
		body = struct{}{}
	}
	return func(ctx context.Context, c *call) error {
		full := path
		for _, arg := range c.args {
			full = strings.Replace(full, "{}", url.PathEscape(arg), 1)
		}
		var answer T
		if err := c.client.Do(ctx, method, full, body, &answer); err != nil {
			return err
		}
		return c.Print(answer, func() string { return text(c.Language, answer) })
	}
}

// lines prints values as JSON, one a line.
func (c *call) lines(write func(line func(any) error) error) error {
	out := bufio.NewWriter(c.Out)
	lines := json.NewEncoder(out)
	lines.SetEscapeHTML(false)
	return cmp.Or(write(lines.Encode), out.Flush())
}
