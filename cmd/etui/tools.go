package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/chat"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/turn"
)

func (a *cli) toolsCommand() *cobra.Command {
	c := &cobra.Command{Use: "tools", Short: "List, show, call and enrich tools", Args: unknownCommand, RunE: group,
		Example: "  etui tools list --group kubernetes,logs\n  etui tools show write_file\n  etui tools call calculate expression=2+3"}
	c.AddCommand(a.toolsListCommand(), a.toolsShowCommand(), a.toolsCallCommand(), a.toolsGenCommand(), a.toolsEnrichCommand())
	return c
}

func (a *cli) listTools(cmd *cobra.Command, c *client.Client) ([]api.Tool, error) {
	var list []api.Tool
	err := c.Do(cmd.Context(), http.MethodGet, "/api/tools", nil, &list)
	return list, err
}

func (a *cli) toolsListCommand() *cobra.Command {
	var inGroup, source, risk string
	c := &cobra.Command{
		Use: "list", Short: "List the tools", Args: cobra.NoArgs,
		Example: "  etui tools list --group kubernetes,logs\n  etui tools list --risk destructive --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				list, err := a.listTools(cmd, c)
				if err != nil {
					return err
				}
				var groups, sources []string
				for _, t := range list {
					groups, sources = append(groups, t.Groups...), append(sources, t.Source)
				}
				for name := range strings.SplitSeq(inGroup, ",") {
					if name != "" && !slices.Contains(groups, name) {
						return config.Usagef("there is no group %q%s", name, nearest.Hint(name, slices.Values(groups)))
					}
				}
				if source != "" && !slices.Contains(sources, source) {
					return config.Usagef("there is no source %q%s", source, nearest.Hint(source, slices.Values(sources)))
				}
				if risks := []string{"", "read", "write", "destructive"}; !slices.Contains(risks, risk) {
					return config.Usagef("there is no risk %q; it is read, write or destructive", risk)
				}
				list = slices.DeleteFunc(list, func(t api.Tool) bool {
					some := inGroup == "" || slices.ContainsFunc(strings.Split(inGroup, ","), func(g string) bool { return slices.Contains(t.Groups, g) })
					return !some || source != "" && t.Source != source || risk != "" && string(t.Risk) != risk
				})
				return a.print(list, func() string { return describeTools(list) })
			})
		},
	}
	c.Flags().StringVar(&inGroup, "group", "", "only tools of these groups, as in file,shell")
	c.Flags().StringVar(&source, "source", "", "only tools of this source")
	c.Flags().StringVar(&risk, "risk", "", "only tools of this risk: read, write or destructive")
	return c
}

func describeTools(list []api.Tool) string {
	rows := [][]string{{"TOOL", "TOKENS", "RISK", "GROUPS", "DESCRIPTION"}}
	tokens := 0
	for _, t := range list {
		tokens += t.Tokens
		name := t.Name
		switch {
		case t.Shadowed:
			name += " (shadowed)"
		case t.Filtered:
			name += " (filtered)"
		}
		rows = append(rows, []string{name, strconv.Itoa(t.Tokens), string(t.Risk), printable.Line(strings.Join(t.Groups, ","), 12), t.Description})
	}
	return layout(rows, 4, width()) + fmt.Sprintf("%s, %d tokens if all were sent\n", printable.Count(len(list), "tool"), tokens)
}

func (a *cli) toolsShowCommand() *cobra.Command {
	var who api.Message
	c := &cobra.Command{
		Use: "show NAME", Short: "Show a tool with its parameters, and whether a caller may call it", Args: cobra.ExactArgs(1),
		Example: "  etui tools show write_file --user bob --channel telegram",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				list, err := a.listTools(cmd, c)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(list, func(t api.Tool) bool { return t.Name == args[0] && !t.Shadowed })
				if i < 0 {
					names := make([]string, len(list))
					for i, t := range list {
						names[i] = t.Name
					}
					return config.Usagef("there is no tool %q%s", args[0], nearest.Hint(args[0], slices.Values(names)))
				}
				t := list[i]
				var call turn.Judgement
				if err := c.Do(cmd.Context(), http.MethodPost, "/api/tools/"+url.PathEscape(t.Name)+"/judge", who, &call); err != nil {
					return err
				}
				if a.json {
					return a.printJSON(shownTool{t, call})
				}
				fmt.Fprintf(a.out, "%s\n  %s\n", t.Name, t.Description)
				for lang, text := range t.Translations {
					fmt.Fprintf(a.out, "  %s: %s\n", lang, text)
				}
				if len(t.Aliases) > 0 {
					fmt.Fprintf(a.out, "  aliases: %s\n", strings.Join(t.Aliases, ", "))
				}
				if len(t.Examples) > 0 {
					fmt.Fprintf(a.out, "  examples: %s\n", strings.Join(t.Examples, " | "))
				}
				if len(t.Channels) > 0 {
					fmt.Fprintf(a.out, "  only on the channels: %s\n", strings.Join(t.Channels, ", "))
				}
				fmt.Fprintf(a.out, "  %s\n", judged(call))
				facts := []string{"risk " + string(t.Risk)}
				if len(t.Groups) > 0 {
					facts = append(facts, "groups "+strings.Join(t.Groups, ", "))
				}
				facts = append(facts, "source "+t.Source)
				if t.Version != "" {
					facts = append(facts, "version "+t.Version)
				}
				fmt.Fprintf(a.out, "  %s, %d tokens\n  parameters:\n", strings.Join(facts, ", "), t.Tokens)
				return a.printJSON(t.Parameters)
			})
		},
	}
	callerFlags(c, &who)
	return c
}

// shownTool is a tool with the verdict on a call of it.
type shownTool struct {
	api.Tool
	Call turn.Judgement `json:"call"`
}

// judged describes the verdict on a call.
func judged(j turn.Judgement) string {
	says := map[rules.Effect]string{rules.Allow: "a call is let through", rules.Ask: "a call needs an approval", rules.Deny: "a call is refused"}[j.Effect]
	if j.Depends {
		says = map[rules.Effect]string{rules.Allow: "some calls are let through", rules.Ask: "some calls need an approval", rules.Deny: "some calls are refused"}[j.Effect]
	}
	if j.Stage != "" && j.Stage != turn.StagePolicy {
		says += " at the stage " + j.Stage
	}
	if j.Reason != "" {
		says += ": " + j.Reason
	}
	return says
}

func (a *cli) toolsCallCommand() *cobra.Command {
	var who api.Message
	var dry bool
	c := &cobra.Command{
		Use: "call NAME [ARGUMENTS]", Short: "Call a tool without a model", Args: cobra.MinimumNArgs(1),
		Long: `Call a tool without a model. ARGUMENTS are name=value, where the tool's
parameters say what a value is, or one JSON object.`,
		Example: `  etui tools call calculate expression=2+3
  etui tools call list_pods '{"namespace":"prod"}'
  etui tools call exec '{"command":"rm -rf build"}' --dry-run`,
		RunE: func(cmd *cobra.Command, args []string) error {
			call := api.CallRequest{Message: who}
			return a.with(cmd.Context(), !dry, func(c *client.Client) (err error) {
				if call.Arguments, err = a.arguments(cmd, c, args[0], args[1:]); err != nil {
					return err
				}
				if dry {
					var j turn.Judgement
					if err := c.Do(cmd.Context(), http.MethodPost, "/api/tools/"+url.PathEscape(args[0])+"/judge", call, &j); err != nil {
						return err
					}
					return a.print(j, func() string { return describeJudgement(args[0], j) })
				}
				var r chat.Result
				if err := c.Do(cmd.Context(), http.MethodPost, "/api/tools/"+url.PathEscape(args[0]), call, &r); err != nil {
					return err
				}
				if r.Failed && !a.json {
					return fmt.Errorf("%s failed: %s", args[0], r.Text)
				}
				return a.print(r, func() string { return strings.TrimRight(r.Text, "\n") + "\n" })
			})
		},
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "show whether the call would be allowed, without running it")
	callerFlags(c, &who)
	return c
}

// arguments returns the arguments of a call: one JSON object, or name=value for each.
func (a *cli) arguments(cmd *cobra.Command, c *client.Client, name string, args []string) (json.RawMessage, error) {
	switch {
	case len(args) == 0:
		return json.RawMessage("{}"), nil
	case len(args) == 1 && json.Valid([]byte(args[0])):
		return json.RawMessage(args[0]), nil
	case strings.HasPrefix(args[0], "{"):
		return nil, config.Usagef("the arguments are not one JSON object: %s", strings.Join(args, " "))
	}
	list, err := a.listTools(cmd, c)
	if err != nil {
		return nil, err
	}
	var parameters json.RawMessage
	if i := slices.IndexFunc(list, func(t api.Tool) bool { return t.Name == name && !t.Shadowed }); i >= 0 {
		parameters = list[i].Parameters
	}
	raw, err := client.Arguments(parameters, args)
	if err != nil {
		return nil, config.Usagef("%w; etui tools show %s lists the parameters", err, name)
	}
	return raw, nil
}

// describeJudgement describes the verdict on a call of a tool.
func describeJudgement(name string, j turn.Judgement) string {
	text := fmt.Sprintf("%s: %s\n", name, judged(j))
	if j.Command != nil {
		text += fmt.Sprintf("  programs: %s\n", cmp.Or(strings.Join(j.Command.Programs, ", "), "none"))
		for _, f := range j.Command.Found {
			text += fmt.Sprintf("  %s\n", f)
		}
	}
	return text
}
