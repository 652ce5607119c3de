package main

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) usageCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "usage", Short: "Show, export and erase the record of past turns", Args: unknownCommand, RunE: group,
		Long: `Show, export and erase the record of past turns: what was asked and which tools answered. Nothing is
recorded unless etui.yaml says usage: {keep: true}.`,
	}
	c.AddCommand(a.usageShowCommand(), a.usageExportCommand(), a.usageEraseCommand())
	return c
}

// whose holds the flags that choose past turns.
type whose struct {
	agent, user string
	limit       int
}

func (f *whose) flags(c *cobra.Command) {
	c.Flags().StringVar(&f.agent, "agent", "", "only this agent's turns")
	c.Flags().StringVar(&f.user, "user", "", "only this user's turns")
}

func (f *whose) path() string {
	q := url.Values{}
	if f.agent != "" {
		q.Set("agent", f.agent)
	}
	if f.user != "" {
		q.Set("user", f.user)
	}
	if f.limit > 0 {
		q.Set("limit", strconv.Itoa(f.limit))
	}
	return "/api/usage?" + q.Encode()
}

func (a *cli) usageShowCommand() *cobra.Command {
	var who whose
	c := &cobra.Command{
		Use: "show", Short: "Show the record of past turns, newest last", Args: cobra.NoArgs,
		Example: "  etui usage show --user alice\n  etui usage show --limit 5 --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), a, request{path: who.path()}, describeUsage)
		},
	}
	who.flags(c)
	c.Flags().IntVar(&who.limit, "limit", 20, "how many turns to show; 0: all")
	return c
}

func describeUsage(kept engine.PastTurns) string {
	state := "Turns are not being kept: set usage: {keep: true} in etui.yaml."
	switch {
	case kept.Vote:
		state = "Turns are being kept, and vote for the tools that answered them."
	case kept.Keep:
		state = "Turns are being kept. They do not vote."
	}
	if len(kept.Turns) == 0 {
		return "There are no past turns. " + state + "\n"
	}
	rows := [][]string{{"TIME", "AGENT", "USER", "TOOLS", "QUESTION"}}
	for _, t := range kept.Turns {
		tools := t.Tools
		for _, name := range t.Failed {
			tools = append(tools, name+" (failed)")
		}
		rows = append(rows, []string{t.Time.Local().Format("2006-01-02 15:04"), t.Agent, t.User, strings.Join(tools, ","), printable.Line(t.Text, max(width()-60, 20))})
	}
	return columns(rows) + state + "\n"
}

func (a *cli) usageExportCommand() *cobra.Command {
	var who whose
	c := &cobra.Command{
		Use: "export", Short: "Export the record of past turns, one JSON object a line", Args: cobra.NoArgs,
		Example: "  etui usage export --user alice > alice.jsonl",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				var kept engine.PastTurns
				if err := c.Do(cmd.Context(), http.MethodGet, who.path(), nil, &kept); err != nil {
					return err
				}
				out := bufio.NewWriter(a.out)
				lines := json.NewEncoder(out)
				lines.SetEscapeHTML(false)
				for _, t := range kept.Turns {
					if err := lines.Encode(t); err != nil {
						return err
					}
				}
				return out.Flush()
			})
		},
	}
	who.flags(c)
	return c
}

func (a *cli) usageEraseCommand() *cobra.Command {
	var user string
	var everybody bool
	c := &cobra.Command{
		Use: "erase", Short: "Erase a user's past turns for good", Args: cobra.NoArgs,
		Long: `Erase a user's past turns for good, with their votes. Conversations are not touched. Name the user as
messages do; the turns of all channels are erased.`,
		Example: "  etui usage erase --user alice\n  etui usage erase --everybody",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if (user == "") == !everybody {
				return config.Usagef("say whose turns to erase: --user ID, or --everybody")
			}
			path := "/api/usage?" + url.Values{"user": {user}, "everybody": {strconv.FormatBool(everybody)}}.Encode()
			return show(cmd.Context(), a, request{method: http.MethodDelete, path: path}, func(f api.Forgotten) string {
				return printable.Count(f.Erased, "turn") + " erased.\n"
			})
		},
	}
	c.Flags().StringVar(&user, "user", "", "whose turns")
	c.Flags().BoolVar(&everybody, "everybody", false, "all turns of all users")
	return c
}
