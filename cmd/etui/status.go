package main

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/api"
)

func (a *cli) statusCommand() *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what runs: agents, configuration, workflows", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.using(cmd.Context(), app.Config{Stored: true}, func(c *client.Client) error {
				var s api.Status
				if err := c.Do(cmd.Context(), "GET", "/api/status", nil, &s); err != nil {
					return err
				}
				return a.print(s, func() string { return describeStatus(s) })
			})
		},
	}
}

func describeStatus(s api.Status) string {
	var b strings.Builder
	fmt.Fprintf(&b, "etui %s, %s\n\n%s", s.Version, printable.Count(s.Tools, "tool"), describeAgents(s.Agents))
	if c := s.Configuration; c != nil {
		fmt.Fprintf(&b, "\n%s, in effect since %s\n", c.File, c.Since.Local().Format(time.DateTime))
		if c.Error != "" {
			fmt.Fprintf(&b, "The file cannot be used as it is now; what was read before stays in effect:\n%s\n", c.Error)
		}
	}
	if len(s.Workflows) > 0 {
		fmt.Fprintf(&b, "\nWorkflows: %s\n", strings.Join(s.Workflows, ", "))
	}
	if len(s.Runs) > 0 {
		rows := [][]string{{"RUN", "WORKFLOW", "PHASE", "VISIT", "ROUNDS", "TOKENS", "STATE"}}
		for _, r := range s.Runs {
			state := "runs"
			if r.Waits > 0 {
				state = "waits for an approval"
			}
			rows = append(rows, []string{string(r.Session), r.Flow.Workflow, cmp.Or(r.Flow.Phase, "-"), fmt.Sprint(r.Flow.Visits[r.Flow.Phase]), fmt.Sprint(r.Flow.Rounds), fmt.Sprint(r.Flow.AllTokens), state})
		}
		b.WriteString("\n" + columns(rows))
	}
	return b.String()
}
