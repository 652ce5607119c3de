package explanation

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/etui-run/etui/inspect"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
)

// Turn writes what a message got, for people.
func Turn(lang string, t inspect.Turn, width int) string {
	c := t.Selection
	rows := [][]string{{"", t.Time.Local().Format("2006-01-02 15:04"), "", strings.Join(strings.Fields(t.Text), " ")}}
	left := c.Tools
	steps := []string{phrase.Count(lang, c.Tools, "tool")}
	for _, stage := range selection.Stages() {
		if n := c.Dropped[stage]; n > 0 {
			left -= n
			steps = append(steps, phrase.In(lang, stageWords[stage.String()], left))
		}
	}
	steps = append(steps, phrase.In(lang, "%d sent", left))
	var names []string
	for _, s := range c.Declared {
		names = append(names, s.Tool)
	}
	head := phrase.In(lang, "%s\n%d of %d tokens sent, budget %d\n", strings.Join(steps, " → "), c.Sent,
		cmp.Or(c.All, c.Usable), c.Budget)
	if c.Mode != "" {
		head += phrase.In(lang, "mode %s\n", c.Mode)
	}
	if c.Request != "" {
		head += phrase.In(lang, "request as it was read: %s\n", printable.Line(c.Request, 200))
	}
	if c.Language != "" {
		head += phrase.In(lang, "language: %s, which the tools do not speak\n", c.Language)
	}
	if c.Phase != "" {
		head += phrase.In(lang, "phase %s\n", c.Phase)
	}
	if extra := metaTools(names); extra != "" {
		head += phrase.In(lang, "beside them: %s\n", extra)
	}
	add := func(mark, usual string, list []selection.Scored) {
		for _, s := range list {
			if selection.Meta(s.Tool) {
				continue
			}
			why := phrase.Word(lang, usual)
			switch {
			case s.Stage != nil:
				why = phrase.In(lang, "dropped at: %s", s.Stage)
			case s.Kept && c.Mode != selection.Direct:
				why = phrase.Word(lang, "sent since an earlier message")
			}
			score := ""
			if s.Score > 0 {
				score = fmt.Sprintf("%.2f", s.Score)
			}
			rows = append(rows, []string{mark, tool.Label(s.Tool, s.Original), score, why})
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
		rows = append(rows, []string{"", phrase.In(lang, "and %d more", c.More), "", ""})
	}
	add("·", "", c.Near)
	for _, skill := range c.Skills {
		rows = append(rows, []string{"✓", skill, "", phrase.Word(lang, "a skill, announced with the message")})
	}
	return head + "\n" + table(rows, width) + Refusals(lang, t.Refused, width)
}

// Refusals lists what the policy refuses the caller.
func Refusals(lang string, list []turn.Judgement, width int) string {
	if len(list) == 0 {
		return ""
	}
	rows := [][]string{head(lang, "policy", "tool", "why")}
	for _, j := range list {
		rows = append(rows, []string{phrase.Word(lang, string(j.Effect)), j.Tool, phrase.Reword(lang, j.Reason)})
	}
	return "\n" + table(rows, width)
}
