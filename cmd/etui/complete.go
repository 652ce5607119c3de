package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
)

// names lists the names of a kind of things; none if the gateway does not answer.
type names func(*client.Client, context.Context) []string

// completes completes the first arguments of a command in the shell: at most most; 0 is
// any number.
func completes(g *gateway, most int, list names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) (found []string, _ cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		g.silent = true
		_ = g.with(cmd.Context(), false, func(c *client.Client) error { // an error would only disturb the line
			found = client.WithPrefix(text, list(c, cmd.Context()))
			return nil
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// addCompletion completes names in the shell: the flags of all commands below c that take
// them, and the arguments of those that change the folder of skills.
func addCompletion(g *gateway, c *cobra.Command) {
	for flag, list := range map[string]names{
		"agent": (*client.Client).AgentNames,
		"skill": (*client.Client).ToolsetNames, "include-skill": (*client.Client).ToolsetNames,
		"exclude-skill": (*client.Client).ToolsetNames,
		"include":       (*client.Client).ToolNames, "exclude": (*client.Client).ToolNames,
	} {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, completes(g, 0, list)) // it fails for unknown flags only
		}
	}
	switch _, path, _ := strings.Cut(c.CommandPath(), " "); path {
	case "skills update":
		c.ValidArgsFunction = completes(g, 0, (*client.Client).SkillNames)
	case "skills remove", "skills pin", "skills unpin":
		c.ValidArgsFunction = completes(g, 1, (*client.Client).SkillNames)
	}
	for _, sub := range c.Commands() {
		addCompletion(g, sub)
	}
}
