package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/app"
	"github.com/etui-run/etui/internal/client"
)

func (a *cli) agentsCommand() *cobra.Command {
	c := &cobra.Command{Use: "agents", Short: "List the agents, and change those of a running gateway", Args: unknownCommand, RunE: group}
	list := &cobra.Command{
		Use: "list", Short: "List the agents: their models, tools and skills", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				var agents []engine.AgentStatus
				if err := c.Do(cmd.Context(), http.MethodGet, "/api/agents", nil, &agents); err != nil {
					return err
				}
				return a.printAgents(agents)
			})
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
				return app.Usagef("nothing to change: give --skill, --groups or --skills")
			}
			return a.with(cmd.Context(), false, func(c *client.Client) error { return a.setAgent(cmd.Context(), c, args[0], change) })
		},
	}
	c.Flags().StringVar(&skill, "skill", "", "skill that is active in conversations that chose none")
	c.Flags().StringVar(&groups, "groups", "", "give it only the tools of these groups, as in file,shell; empty: all")
	c.Flags().StringSliceVar(&skills, "skills", nil, "offer the model only these skills; empty: all")
	return c
}

func (a *cli) setAgent(ctx context.Context, c *client.Client, name string, change engine.Control) error {
	if c.Here() {
		return app.Usagef("no gateway is running; change the agent in etui.yaml instead")
	}
	var s engine.AgentStatus
	if err := c.Do(ctx, http.MethodPut, "/api/agents/"+url.PathEscape(name), change, &s); err != nil {
		return err
	}
	if a.json {
		return json.NewEncoder(a.out).Encode(s)
	}
	return a.printAgents([]engine.AgentStatus{s})
}

func (a *cli) printAgents(agents []engine.AgentStatus) error {
	if a.json {
		return json.NewEncoder(a.out).Encode(agents)
	}
	all := func(list string) string {
		if list == "" {
			return "all"
		}
		return list
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "AGENT\tMODEL\tTOOLS\tGROUPS\tACTIVE SKILL\tSKILLS TOLD\tSTRATEGY")
	for _, s := range agents {
		fmt.Fprintf(w, "%s\t%s\t%d\t%s\t%s\t%s\t%s\n", s.Name, s.Model, s.Tools, all(s.Groups), s.Skill, all(strings.Join(s.Skills, ",")), s.Strategy)
	}
	return w.Flush()
}
