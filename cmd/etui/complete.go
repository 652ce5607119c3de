package main

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
)

// names lists the names of a kind of things; none if the gateway does not answer.
type names func(context.Context, *client.Client) []string

func toolNames(ctx context.Context, c *client.Client) (list []string) {
	var tools []api.Tool
	_ = c.Do(ctx, http.MethodGet, "/api/tools", nil, &tools) // without an answer there is nothing to complete
	for _, t := range tools {
		list = append(list, t.Name)
	}
	return list
}

// toolsetNames are those of the skills that can be active.
func toolsetNames(ctx context.Context, c *client.Client) (list []string) {
	var s api.Toolsets
	_ = c.Do(ctx, http.MethodGet, "/api/skills", nil, &s) // as above
	for _, t := range s.Skills {
		list = append(list, t.Name)
	}
	return list
}

// skillNames are those of the skills of folders, and of toolsets.
func skillNames(ctx context.Context, c *client.Client) []string {
	var s admin.SkillList
	_ = c.Do(ctx, http.MethodGet, "/admin/skills", nil, &s) // as above
	list := toolsetNames(ctx, c)
	for _, t := range s.Skills {
		list = append(list, t.Name)
	}
	return list
}

func agentNames(ctx context.Context, c *client.Client) (list []string) {
	var s api.Status
	_ = c.Do(ctx, http.MethodGet, "/api/status", nil, &s) // as above
	for _, t := range s.Agents {
		list = append(list, t.Name)
	}
	return list
}

// beginning returns the names that begin with a text, sorted and each once.
func beginning(text string, names []string) []string {
	names = slices.DeleteFunc(names, func(n string) bool { return !strings.HasPrefix(n, text) })
	slices.Sort(names)
	return slices.Compact(names)
}

// completes completes the first arguments of a command in the shell: at most most; 0 is
// any number.
func (a *cli) completes(most int, list names) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) (found []string, _ cobra.ShellCompDirective) {
		if most > 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		a.silent = true
		_ = a.with(cmd.Context(), false, func(c *client.Client) error { // an error would only disturb the line
			found = beginning(text, list(cmd.Context(), c))
			return nil
		})
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// addCompletion completes names in the shell: the arguments and flags of all commands
// below c that take them.
func (a *cli) addCompletion(c *cobra.Command) {
	flags := map[string]names{
		"agent": agentNames, "skill": toolsetNames, "include": toolNames, "exclude": toolNames, "include-skill": toolsetNames, "exclude-skill": toolsetNames,
	}
	arguments := map[string]names{
		"tools show": toolNames, "tools call": toolNames, "agents set": agentNames,
		"skills show": skillNames, "skills enable": skillNames, "skills disable": skillNames, "skills unregister": skillNames, "skills use": skillNames,
		"skills approve": skillNames, "skills calls": skillNames, "skills update": skillNames, "skills remove": skillNames, "skills pin": skillNames, "skills unpin": skillNames,
	}
	for flag, list := range flags {
		if c.Flags().Lookup(flag) != nil {
			_ = c.RegisterFlagCompletionFunc(flag, a.completes(0, list)) // it fails for unknown flags only
		}
	}
	_, path, _ := strings.Cut(c.CommandPath(), " ")
	if list, ok := arguments[path]; ok {
		most := 1
		if path == "skills update" {
			most = 0
		}
		c.ValidArgsFunction = a.completes(most, list)
	}
	for _, sub := range c.Commands() {
		a.addCompletion(sub)
	}
}
