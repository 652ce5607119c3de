package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/turn"
)

// why prints what was stored about the last message of a conversation.
func (a *cli) why(ctx context.Context, c *client.Client, who api.Message) error {
	var turns []engine.Turn
	if err := c.Do(ctx, http.MethodPost, "/api/why", api.Look{Message: who}, &turns); err != nil {
		return err
	}
	switch {
	case len(turns) == 0:
		return config.Usagef("nothing is stored of this conversation: each chat is a new one, so name it with --session, --as, or --channel and --user; etui sessions list has their names, and etui sessions show has what was said")
	case a.json:
		return a.printJSON(turns[0])
	}
	_, err := fmt.Fprint(a.out, renderTurn(turns[0], a.whole()))
	return err
}

// renderTurn writes what a message got, for people.
func renderTurn(t engine.Turn, width int) string {
	c := t.Selection
	rows := [][]string{{"", t.Time.Local().Format("2006-01-02 15:04"), "", strings.Join(strings.Fields(t.Text), " ")}}
	left := c.Tools
	steps := []string{fmt.Sprintf("%d tools", c.Tools)}
	for _, stage := range selection.Stages() {
		if n := c.Dropped[stage]; n > 0 {
			left -= n
			steps = append(steps, fmt.Sprintf("%d %s", left, stageWords[stage.String()]))
		}
	}
	steps = append(steps, fmt.Sprintf("%d sent", left))
	var names []string
	for _, s := range c.Declared {
		names = append(names, s.Tool)
	}
	head := fmt.Sprintf("%s\n%d of %d tokens sent, budget %d\n", strings.Join(steps, " → "), c.Sent, cmp.Or(c.All, c.Usable), c.Budget)
	if c.Mode != "" {
		head += fmt.Sprintf("mode %s\n", c.Mode)
	}
	if c.Phase != "" {
		head += fmt.Sprintf("phase %s\n", c.Phase)
	}
	if extra := metaTools(names); extra != "" {
		head += fmt.Sprintf("beside them: %s\n", extra)
	}
	add := func(mark, why string, list []selection.Scored) {
		for _, s := range list {
			if selection.Meta(s.Tool) {
				continue
			}
			reason := why
			switch {
			case s.Stage != nil:
				reason = "dropped at: " + s.Stage.String()
			case s.Kept && c.Mode != selection.Direct:
				reason = "sent since an earlier message"
			}
			score := ""
			if s.Score > 0 {
				score = fmt.Sprintf("%.2f", s.Score)
			}
			rows = append(rows, []string{mark, s.Tool, score, reason})
		}
	}
	picked := "picked for this message"
	if c.Mode == selection.Direct {
		picked = "few enough to send all"
	}
	add("✓", picked, c.Declared)
	add("✓", "announced with the message", c.Announced)
	add("✓", "named with the message", c.Named)
	if c.More > 0 {
		rows = append(rows, []string{"", fmt.Sprintf("and %d more", c.More), "", ""})
	}
	add("·", "", c.Near)
	for _, skill := range c.Skills {
		rows = append(rows, []string{"✓", skill, "", "a skill, announced with the message"})
	}
	return head + "\n" + layout(rows, 3, width) + renderRefused(t.Refused, width)
}

// renderRefused lists what the policy refuses the caller.
func renderRefused(list []turn.Judgement, width int) string {
	if len(list) == 0 {
		return ""
	}
	rows := [][]string{{"policy", "tool", "why"}}
	for _, j := range list {
		rows = append(rows, []string{string(j.Effect), j.Tool, j.Reason})
	}
	return "\n" + layout(rows, 2, width)
}
