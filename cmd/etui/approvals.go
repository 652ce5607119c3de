package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
)

func (a *cli) approvalsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "approvals", Short: "List the calls that wait for an approval, and decide about them", Args: unknownCommand, RunE: group,
		Example: "  etui approvals list\n  etui approvals approve k3f9ab\n  etui approvals revoke k3f9ab",
		Long: `List the calls that wait for an approval, and the approvals that count always. A decision here is that of
an operator: it counts whatever the rules for approvals say. People decide with /approve and /deny in
their conversation.`,
	}
	list := &cobra.Command{
		Use: "list", Short: "List what waits, and the approvals that count always", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return decide(a, cmd, false, http.MethodGet, "", nil, describeApprovals)
		},
	}
	var said api.ApprovalAnswer
	var lasts string
	approve := &cobra.Command{
		Use: "approve ID", Short: "Let a call run", Args: cobra.ExactArgs(1), Example: "  etui approvals approve k3f9ab --for session",
		RunE: func(cmd *cobra.Command, args []string) error {
			said.Approved, said.Lasts = true, session.Lasts(strings.TrimPrefix(lasts, "once"))
			if !said.Lasts.Known() {
				return config.Usagef("--for is once, session or always, not %q", lasts)
			}
			return decide(a, cmd, true, http.MethodPost, args[0], said, func(x engine.Approval) string {
				return fmt.Sprintf("%s may run; its conversation goes on: etui sessions show %s\n", x.Tool, shortKey(x.Session))
			})
		},
	}
	approve.Flags().StringVar(&lasts, "for", "once", "once, session, or always: until it is revoked")
	deny := &cobra.Command{
		Use: "deny ID", Short: "Decline a call", Args: cobra.ExactArgs(1), Example: "  etui approvals deny k3f9ab --reason 'not on Fridays'",
		RunE: func(cmd *cobra.Command, args []string) error {
			return decide(a, cmd, true, http.MethodPost, args[0], api.ApprovalAnswer{Reason: said.Reason}, func(x engine.Approval) string {
				return fmt.Sprintf("%s is declined; its conversation goes on: etui sessions show %s\n", x.Tool, shortKey(x.Session))
			})
		},
	}
	deny.Flags().StringVar(&said.Reason, "reason", "", "why; the model reads it")
	revoke := &cobra.Command{
		Use: "revoke ID", Short: "Take back an approval that counts always", Args: cobra.ExactArgs(1), Example: "  etui approvals revoke k3f9ab",
		RunE: func(cmd *cobra.Command, args []string) error {
			return decide(a, cmd, true, http.MethodDelete, args[0], nil, func([]engine.Grant) string { return "Revoked: calls are asked about again.\n" })
		},
	}
	c.AddCommand(list, approve, deny, revoke)
	return c
}

// decide asks the gateway of the workspace, or this process, and prints the answer.
func decide[T any](a *cli, cmd *cobra.Command, changes bool, method, id string, body any, text func(T) string) error {
	return a.using(cmd.Context(), app.Config{Stored: changes, Records: !changes}, func(c *client.Client) error {
		var answer T
		path := "/admin/approvals"
		if id != "" {
			path += "/" + url.PathEscape(id)
		}
		if err := c.Do(cmd.Context(), method, path, body, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

func describeApprovals(list api.Approvals) string {
	var b strings.Builder
	if len(list.Waiting) == 0 {
		b.WriteString("Nothing waits for an approval.\n")
	} else {
		rows := [][]string{{"ID", "TOOL", "RISK", "EXPIRES", "USER"}}
		for _, x := range list.Waiting {
			until := "never"
			if !x.Until.IsZero() {
				until = x.Until.Local().Format(time.DateTime)
			}
			rows = append(rows, []string{x.ID, x.Tool, x.Risk, until, x.User})
		}
		lines := strings.SplitAfter(layout(rows, 4, width()), "\n")
		b.WriteString(lines[0])
		for i, x := range list.Waiting {
			b.WriteString(lines[i+1] + "    " + strings.ReplaceAll(printable.Text(cmp.Or(x.Question, x.Arguments)), "\n", "\n    ") + "\n")
		}
	}
	if len(list.Lasting) > 0 {
		rows := [][]string{{"ALWAYS", "TOOL", "AGENT", "USER", "BY", "SINCE"}}
		for _, g := range list.Lasting {
			rows = append(rows, []string{g.ID, g.Tool, g.Agent, g.User, g.By, g.Time.Local().Format(time.DateTime)})
		}
		b.WriteString("\n" + columns(rows))
	}
	return b.String()
}
