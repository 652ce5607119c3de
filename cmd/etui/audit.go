package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/cmd/internal/app"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/internal/printable"
)

func (a *cli) auditCommand() *cobra.Command {
	var f audit.DecisionFilter
	c := &cobra.Command{
		Use: "audit", Short: "Show which calls were allowed and which were refused, newest first", Args: unknownCommand,
		Long: `Show which calls were allowed and which were refused, newest first: whose call, at which stage, by
which rule and with which arguments. Secrets are left out and long texts are cut. etui keeps the
newest 10,000 of each kind, for 90 days. Each record carries the hash of the one before; etui audit verify
checks that none was changed, removed or added.`,
		Example: "  etui audit --denied\n  etui audit --tool write_file --user alice --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			q := url.Values{"tool": {f.Tool}, "user": {f.User}, "denied": {strconv.FormatBool(f.Denied)}, "limit": {strconv.Itoa(f.Limit)}}
			return records(cmd.Context(), a, "/admin/audit?"+q.Encode(), describeDecisions)
		},
	}
	c.Flags().StringVar(&f.Tool, "tool", "", "only calls of this tool")
	c.Flags().StringVar(&f.User, "user", "", "only calls of this user")
	c.Flags().BoolVar(&f.Denied, "denied", false, "only refused calls")
	c.Flags().IntVar(&f.Limit, "limit", 20, "how many to show")
	c.AddCommand(a.auditVerifyCommand())
	return c
}

// records asks the gateway of the workspace, or reads the workspace and its database where
// they are, and prints the answer.
func records[T any](ctx context.Context, a *cli, path string, text func(T) string) error {
	return a.using(ctx, app.Config{Records: true}, func(c *client.Client) error {
		var answer T
		if err := c.Do(ctx, http.MethodGet, path, nil, &answer); err != nil {
			return err
		}
		return a.print(answer, func() string { return text(answer) })
	})
}

func (a *cli) auditVerifyCommand() *cobra.Command {
	var head string
	c := &cobra.Command{
		Use: "verify", Short: "Check that no record of the audit was changed, removed or added", Args: cobra.NoArgs,
		Long: `Check that no record of the audit was changed, removed, moved or added since etui wrote it. The exit code is
1 if one was. The last line names the newest record and its hash: keep it where those who could change the
audit cannot write, and give it to a later check with --head. Only that shows that newest records were cut off
together with etui's own note of the end, or that the whole audit was written anew.`,
		Example: "  etui audit verify\n  etui audit verify --head 4711:9f86d081…",
		RunE: func(cmd *cobra.Command, _ []string) error {
			var v audit.Verdict
			err := a.using(cmd.Context(), app.Config{Records: true}, func(c *client.Client) error {
				err := c.Do(cmd.Context(), http.MethodGet, "/admin/audit/verify?"+url.Values{"head": {head}}.Encode(), nil, &v)
				if err == nil {
					err = a.print(v, func() string { return describeVerdict(v) })
				}
				return err
			})
			if err == nil && !v.Unbroken {
				err = errors.New("the audit is broken")
			}
			return err
		},
	}
	c.Flags().StringVar(&head, "head", "", "compare with a head that was kept: NUMBER:HASH")
	return c
}

func describeVerdict(v audit.Verdict) string {
	var b strings.Builder
	if v.Unbroken {
		fmt.Fprintf(&b, "%s, unbroken.\n", printable.Count(v.Records, "record"))
	} else {
		fmt.Fprintf(&b, "%s, broken:\n", printable.Count(v.Records, "record"))
		for _, broken := range v.Breaks {
			at := ""
			if !broken.Time.IsZero() {
				at = broken.Time.Local().Format(time.DateTime) + "  "
			}
			fmt.Fprintf(&b, "  %s%s\n", at, printable.Line(broken.What, 200))
		}
		if len(v.Breaks) >= audit.MaxBreaks {
			b.WriteString("  There may be more.\n")
		}
	}
	if v.Dropped > 0 {
		fmt.Fprintf(&b, "%d more were dropped by the limits or because a person was forgotten; the chain says so.\n", v.Dropped)
	}
	if v.Older > 0 {
		fmt.Fprintf(&b, "%s without a chain.\n", printable.Count(v.Older, "older record"))
	}
	switch v.Compared {
	case "same":
		b.WriteString("The head that was kept is part of the chain.\n")
	case "dropped":
		b.WriteString("The record of the head that was kept has been dropped since, so it cannot be compared.\n")
	}
	if v.Head != "" {
		fmt.Fprintf(&b, "Head: %s\n", v.Head)
	}
	return b.String()
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
