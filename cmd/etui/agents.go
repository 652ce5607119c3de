package main

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/engine"
)

func (a *cli) agentsCommand() *cobra.Command {
	c := &cobra.Command{Use: "agents", Short: "List the agents, and change those of a running gateway", Args: unknownCommand, RunE: group}
	list := &cobra.Command{
		Use: "list", Short: "List the agents: their models, tools and skills", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return show(cmd.Context(), a, request{path: "/api/agents"}, describeAgents)
		},
	}
	c.AddCommand(list, a.agentsSetCommand())
	return c
}

func (a *cli) agentsSetCommand() *cobra.Command {
	var skill, groups string
	var skills []string
	c := &cobra.Command{
		Use: "set NAME", Short: "Change an agent of a running gateway from its next turn on", Args: cobra.ExactArgs(1),
		Example: "  etui agents set main --groups file,shell\n  etui agents set main --skills office,oncall --skill office\n  etui agents set main --groups \"\" --skills \"\"    all again",
		RunE: func(cmd *cobra.Command, args []string) error {
			var change engine.Control
			if cmd.Flags().Changed("skill") {
				change.Skill = &skill
			}
			if cmd.Flags().Changed("groups") {
				change.Groups = &groups
			}
			if cmd.Flags().Changed("skills") {
				change.Skills = append([]string{}, skills...)
			}
			if change.Skill == nil && change.Groups == nil && change.Skills == nil {
				return config.Usagef("nothing to change: give --skill, --groups or --skills")
			}
			put := request{http.MethodPut, "/api/agents/" + url.PathEscape(args[0]), change, "change the agent in etui.yaml instead"}
			return show(cmd.Context(), a, put, func(s engine.AgentStatus) string { return describeAgents([]engine.AgentStatus{s}) })
		},
	}
	c.Flags().StringVar(&skill, "skill", "", "skill that is active in conversations that chose none")
	c.Flags().StringVar(&groups, "groups", "", "give it only the tools of these groups, as in file,shell; empty: all")
	c.Flags().StringSliceVar(&skills, "skills", nil, "offer the model only these skills; empty: all, none: no skill")
	return c
}

func describeAgents(agents []engine.AgentStatus) string {
	rows := [][]string{{"AGENT", "MODEL", "TOOLS", "GROUPS", "ACTIVE SKILL", "SKILLS SHOWN", "STRATEGY"}}
	for _, s := range agents {
		rows = append(rows, []string{s.Name, s.Model, strconv.Itoa(s.Tools), cmp.Or(s.Groups, "all"), s.Skill, cmp.Or(strings.Join(s.Skills, ","), "all"), fmt.Sprint(s.Strategy)})
	}
	return columns(rows) + describeHealth(agents)
}

// describeHealth says which models failed last, each once.
func describeHealth(agents []engine.AgentStatus) string {
	var b strings.Builder
	var told []string
	for _, s := range agents {
		for _, h := range s.Models {
			if h.Error == "" || slices.Contains(told, h.Model) {
				continue
			}
			told = append(told, h.Model)
			fmt.Fprintf(&b, "%s failed: %s", h.Model, strings.TrimPrefix(h.Error, "model "+h.Model+": "))
			if !h.Rests.IsZero() {
				fmt.Fprintf(&b, "; avoided until %s", h.Rests.Local().Format(time.TimeOnly))
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
