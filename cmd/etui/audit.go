package main

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/audit"
)

func (a *cli) auditCommand() *cobra.Command {
	var f audit.DecisionFilter
	c := &cobra.Command{
		Use: "audit", Short: "Show which calls were allowed and which were refused, newest first", Args: cobra.NoArgs,
		Long: `Show which calls were allowed and which were refused, newest first: whose call, at which stage, by
which rule and with which arguments. Secrets are left out and long texts are cut. etui keeps the
newest 10,000 of each kind, for 90 days.`,
		Example: "  etui audit --denied\n  etui audit --tool write_file --user alice --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{"tool": {f.Tool}, "user": {f.User}, "denied": {strconv.FormatBool(f.Denied)}, "limit": {strconv.Itoa(f.Limit)}}
			return show(cmd.Context(), a, request{path: "/admin/audit?" + q.Encode()}, describeDecisions)
		},
	}
	c.Flags().StringVar(&f.Tool, "tool", "", "only calls of this tool")
	c.Flags().StringVar(&f.User, "user", "", "only calls of this user")
	c.Flags().BoolVar(&f.Denied, "denied", false, "only refused calls")
	c.Flags().IntVar(&f.Limit, "limit", 20, "how many to show")
	return c
}

func describeDecisions(list []audit.Decision) string {
	if len(list) == 0 {
		return "There are no decisions.\n"
	}
	rows := [][]string{{"TIME", "TOOL", "USER", "CHANNEL", "DECISION"}}
	for _, d := range list {
		what, decision := d.Tool, "allowed"
		if d.Skill != "" {
			what = "skill " + d.Skill
		}
		if !d.Allowed {
			decision = "refused: " + d.Stage
		}
		rows = append(rows, []string{d.Time.Local().Format(time.DateTime), what, d.User, d.Channel, decision})
	}
	lines := strings.SplitAfter(layout(rows, 4, width()), "\n")
	var b strings.Builder
	b.WriteString(lines[0])
	for i, d := range list {
		b.WriteString(lines[i+1])
		for _, text := range []string{d.Reason, d.Arguments} {
			if text != "" {
				b.WriteString(hanging("    ", text, width()))
			}
		}
	}
	return b.String()
}
