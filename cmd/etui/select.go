package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"

	"charm.land/lipgloss/v2"
	"charm.land/lipgloss/v2/table"
	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/selection"
)

func (a *app) selectCommand() *cobra.Command {
	var who caller
	var all bool
	c := &cobra.Command{
		Use: "select MESSAGE", Short: "Show which tools a message gets, and why", Args: cobra.MinimumNArgs(1),
		Long: `Show which tools would reach the model for a message, and why: the funnel from the whole catalog
to what is sent, the tokens sent and saved, and a reason for each tool that was near. Nothing is
run or stored.`,
		Example: `  etui select "who is on call this week?"
  etui select "退款" --skill sales --json
  etui select "delete the old pods" --user bob --role operator --channel slack`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(c *client) error {
				return a.explain(cmd.Context(), c, who, strings.Join(args, " "), all)
			})
		},
	}
	who.flags(c)
	c.Flags().BoolVar(&all, "all", false, "show every tool, also those that are far from the message")
	return c
}

// explain prints what a message would get.
func (a *app) explain(ctx context.Context, c *client, who caller, text string, all bool) error {
	m, err := who.says(text)
	if err != nil {
		return err
	}
	if m.Session == "" {
		m.History = []chat.Message{} // a new conversation
	}
	var x selection.Explanation
	if err := c.do(ctx, http.MethodPost, "/api/select", m, &x); err != nil {
		return err
	}
	if a.json {
		e := json.NewEncoder(a.out)
		e.SetIndent("", "  ")
		return e.Encode(x)
	}
	_, err = fmt.Fprint(a.out, render(x, all, width()))
	return err
}

// near is how many tools that were not sent are shown.
const near = 8

func render(x selection.Explanation, all bool, width int) string {
	var b strings.Builder
	steps := make([]string, 0, len(x.Funnel)+1)
	for _, s := range x.Funnel {
		if s.Dropped > 0 || s.Stage == "catalog" || s.Stage == "visibility" || s.Stage == "rank" {
			steps = append(steps, fmt.Sprintf("%d %s", s.Left, stageWords[s.Stage]))
		}
	}
	steps = append(steps, fmt.Sprintf("%d sent", sent(x)))
	fmt.Fprintf(&b, "%s\n", strings.Join(steps, " → "))
	fmt.Fprintf(&b, "%d of %d tokens sent, %d saved (%.1f %%), budget %d\n", x.Tokens.Sent, x.Tokens.Usable, x.Tokens.Saved, x.Tokens.SavedPercent, x.Tokens.Budget)
	if extra := meta(x); extra != "" {
		fmt.Fprintf(&b, "beside them: %s, for everything that was not sent\n", extra)
	}
	if x.Advice != "" {
		fmt.Fprintf(&b, "close candidates: %s\n", x.Advice)
	}
	for _, s := range x.Skills {
		if s.Told && s.Recommendation != nil {
			fmt.Fprintf(&b, "the model is told of the skill %s: %s\n", s.Skill, s.Reason)
		}
	}
	rows := [][]string{}
	shown := 0
	for _, v := range x.Tools {
		if !all && !v.Sent && (v.Score == 0 || shown == near) {
			continue
		}
		mark := "✓"
		if !v.Sent {
			mark, shown = "·", shown+1
		}
		words := make([]string, 0, 4)
		for _, t := range v.Terms[:min(len(v.Terms), 4)] {
			words = append(words, t.Word)
		}
		if v.Meaning > 0 {
			words = append(words, "(meaning)")
		}
		rows = append(rows, []string{mark, v.Tool, fmt.Sprintf("%.2f", v.Score), strconv.Itoa(v.Tokens), v.Reason, strings.Join(words, " ")})
	}
	if len(rows) == 0 {
		b.WriteString("No tool is near this message.\n")
		return b.String()
	}
	t := table.New().Headers("", "tool", "score", "tokens", "why", "words").Rows(rows...).Width(width).Wrap(true).
		BorderTop(false).BorderBottom(false).BorderLeft(false).BorderRight(false).BorderColumn(false).
		StyleFunc(func(int, int) lipgloss.Style { return lipgloss.NewStyle().PaddingRight(1) })
	fmt.Fprintf(&b, "\n%s\n", strings.TrimRight(t.String(), "\n"))
	return b.String()
}

// stageWords say what was left after a stage.
var stageWords = map[string]string{
	"catalog": "tools", "enabled": "enabled", "groups": "in the agent's groups", "visibility": "visible", "skill": "in the skill",
	"request": "asked for", "rank": "ranked", "budget": "within the budget",
}

func sent(x selection.Explanation) int {
	n := 0
	for _, v := range x.Tools {
		if v.Sent {
			n++
		}
	}
	return n
}

// meta names what is declared beside the tools of the catalog.
func meta(x selection.Explanation) string {
	var names []string
	for _, name := range x.Declared {
		if name == selection.FindTools || name == selection.CallTool {
			names = append(names, name)
		}
	}
	return strings.Join(names, " and ")
}

// width is how wide a table may be.
func width() int {
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n >= 60 {
		return n
	}
	return 110
}
