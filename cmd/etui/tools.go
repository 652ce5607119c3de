package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/etui-run/etui/cmd/etui/internal/conversation"
	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func tools() action {
	var who api.Message
	var groups, source, risk string
	var dry bool
	return action{
		use: "tools", short: "List, show, call and enrich tools",
		example: "  etui tools list --group kubernetes,logs\n" +
			"  etui tools show write_file\n" +
			"  etui tools call calculate expression=2+3",
		commands: func(at *place) []*cobra.Command {
			return []*cobra.Command{toolsGenCommand(at.Console), toolsEnrichCommand(at)}
		},
		actions: []action{
			{
				use: "list", short: "List the tools",
				example: "  etui tools list --group kubernetes,logs\n  etui tools list --risk destructive --json",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&groups, "group", "", "only tools of these groups, as in file,shell")
					f.StringVar(&source, "source", "", "only tools of this source")
					f.StringVar(&risk, "risk", "", "only tools of this risk: read, write or destructive")
				},
				run: func(ctx context.Context, c *call) error {
					list, err := c.client.Tools(ctx)
					if err == nil {
						list, err = chooseTools(list, groups, source, risk)
					}
					if err != nil {
						return err
					}
					return c.Print(list, func() string { return describeTools(c.Language, list) })
				},
			},
			{
				use: "show NAME", short: "Show a tool with its parameters, and whether a caller may call it",
				names:   (*client.Client).ToolNames,
				example: "  etui tools show write_file --user bob --channel telegram",
				flags:   func(f *pflag.FlagSet) { callerFlags(f, &who) },
				run:     func(ctx context.Context, c *call) error { return showTool(ctx, c, who) },
			},
			{
				use: "call NAME [ARGUMENTS]", short: "Call a tool without a model", args: cobra.MinimumNArgs(1),
				names: (*client.Client).ToolNames,
				long: `Call a tool without a model. ARGUMENTS are name=value, where the tool's
parameters say what a value is, or one JSON object.`,
				example: `  etui tools call calculate expression=2+3
  etui tools call list_pods '{"namespace":"prod"}'
  etui tools call exec '{"command":"rm -rf build"}' --dry-run`,
				flags: func(f *pflag.FlagSet) {
					f.BoolVar(&dry, "dry-run", false, "show whether the call would be allowed, without running it")
					callerFlags(f, &who)
				},
				needs: changes,
				check: func(c *call) error {
					if dry {
						c.needs = 0
					}
					return nil
				},
				run: func(ctx context.Context, c *call) error { return callTool(ctx, c, who, dry) },
			},
		},
	}
}

// chooseTools leaves the tools of some groups, of a source and of a risk; empty means all.
func chooseTools(list []api.Tool, inGroup, source, risk string) ([]api.Tool, error) {
	var groups, sources []string
	for _, t := range list {
		groups, sources = append(groups, t.Groups...), append(sources, t.Source)
	}
	wanted := strings.FieldsFunc(inGroup, func(r rune) bool { return r == ',' })
	for _, name := range wanted {
		if !slices.Contains(groups, name) {
			return nil, config.Usagef("there is no group %q%s", name, phrase.Near(name, slices.Values(groups)))
		}
	}
	if source != "" && !slices.Contains(sources, source) {
		return nil, config.Usagef("there is no source %q%s", source, phrase.Near(source, slices.Values(sources)))
	}
	if risks := []string{"", "read", "write", "destructive"}; !slices.Contains(risks, risk) {
		return nil, config.Usagef("there is no risk %q; it is read, write or destructive", risk)
	}
	return slices.DeleteFunc(list, func(t api.Tool) bool {
		some := inGroup == "" || slices.ContainsFunc(wanted,
			func(g string) bool { return slices.Contains(t.Groups, g) })
		return !some || source != "" && t.Source != source || risk != "" && string(t.Risk) != risk
	}), nil
}

func describeTools(lang string, list []api.Tool) string {
	rows := [][]string{report.Head(lang, "TOOL", "TOKENS", "RISK", "GROUPS", "DESCRIPTION")}
	tokens := 0
	for _, t := range list {
		tokens += t.Tokens
		name := tool.Label(t.Name, t.Original)
		switch {
		case t.Shadowed:
			name += phrase.In(lang, " (shadowed)")
		case t.Filtered:
			name += phrase.In(lang, " (filtered)")
		}
		rows = append(rows, []string{name, strconv.Itoa(t.Tokens), phrase.Word(lang, string(t.Risk)),
			printable.Line(strings.Join(t.Groups, ","), 12), t.Description})
	}
	return terminal.Table(rows, terminal.Width()) +
		phrase.In(lang, "%s, %d tokens if all were sent\n", phrase.Count(lang, len(list), "tool"), tokens)
}

// named returns the place of the tool in effect that has a name, or has it where it comes from; -1 if
// there is none.
func named(list []api.Tool, name string) int {
	return slices.IndexFunc(list, func(t api.Tool) bool {
		return !t.Shadowed &&
			(t.Name == name || t.Original == name)
	})
}

func showTool(ctx context.Context, c *call, who api.Message) error {
	list, err := c.client.Tools(ctx)
	if err != nil {
		return err
	}
	i := named(list, c.args[0])
	if i < 0 {
		names := make([]string, len(list))
		for i, t := range list {
			names[i] = t.Name
		}
		return config.Usagef("there is no tool %q%s", c.args[0], phrase.Near(c.args[0], slices.Values(names)))
	}
	t := list[i]
	var may turn.Judgement
	if err := c.client.Do(ctx, http.MethodPost, "/api/tools/"+url.PathEscape(t.Name)+"/judge", who, &may); err != nil {
		return err
	}
	if c.JSON {
		return c.PrintJSON(shownTool{t, may})
	}
	fmt.Fprintf(c.Out, "%s\n  %s\n", tool.Label(t.Name, t.Original), t.Description)
	for lang, text := range t.Translations {
		if text != t.Description {
			fmt.Fprintf(c.Out, "  %s: %s\n", lang, text)
		}
	}
	if len(t.Aliases) > 0 {
		phrase.Fprintf(c.Out, c.Language, "  aliases: %s\n", strings.Join(t.Aliases, ", "))
	}
	if len(t.Examples) > 0 {
		phrase.Fprintf(c.Out, c.Language, "  examples: %s\n", strings.Join(t.Examples, " | "))
	}
	if len(t.Channels) > 0 {
		phrase.Fprintf(c.Out, c.Language, "  only on the channels: %s\n", strings.Join(t.Channels, ", "))
	}
	fmt.Fprintf(c.Out, "  %s\n", judged(c.Language, may))
	facts := []string{c.Say("risk %s", phrase.Text(t.Risk))}
	if len(t.Groups) > 0 {
		facts = append(facts, c.Say("groups %s", strings.Join(t.Groups, ", ")))
	}
	facts = append(facts, c.Say("source %s", t.Source))
	if t.Version != "" {
		facts = append(facts, c.Say("version %s", t.Version))
	}
	phrase.Fprintf(c.Out, c.Language, "  %s, %d tokens\n  parameters:\n", phrase.List(c.Language, facts, len(facts)),
		t.Tokens)
	return c.PrintJSON(t.Parameters)
}

// shownTool is a tool with the verdict on a call of it.
type shownTool struct {
	api.Tool
	Call turn.Judgement `json:"call"`
}

// judged describes the verdict on a call.
func judged(lang string, j turn.Judgement) string {
	says := map[rules.Effect]string{rules.Allow: "a call is let through", rules.Ask: "a call needs an approval",
		rules.Deny: "a call is refused"}[j.Effect]
	if j.Depends {
		says = map[rules.Effect]string{rules.Allow: "some calls are let through",
			rules.Ask: "some calls need an approval", rules.Deny: "some calls are refused"}[j.Effect]
	}
	says = phrase.Word(lang, says)
	if j.Stage != "" && j.Stage != turn.StagePolicy {
		says += phrase.In(lang, " at the stage %s", j.Stage)
	}
	if j.Reason != "" {
		says += phrase.In(lang, ": %s", phrase.Word(lang, j.Reason))
	}
	return says
}

func callTool(ctx context.Context, c *call, who api.Message, dry bool) error {
	name, request := c.args[0], api.CallRequest{Message: who}
	var err error
	if request.Arguments, err = callArguments(ctx, c); err != nil {
		return err
	}
	if dry {
		return send(http.MethodPost, "/api/tools/{}/judge", request, func(lang string, j turn.Judgement) string {
			return describeJudgement(lang, name, j)
		})(ctx, c)
	}
	r, err := conversation.Call(ctx, c.Console, c.client, name, request)
	if err != nil {
		return err
	}
	if r.Failed && !c.JSON {
		return phrase.Errorf("%s failed: %s", name, errors.New(r.Text))
	}
	return c.Print(r, func() string { return strings.TrimRight(r.Text, "\n") + "\n" })
}

// callArguments returns the arguments of a call: one JSON object, or name=value for each.
func callArguments(ctx context.Context, c *call) (json.RawMessage, error) {
	name, args := c.args[0], c.args[1:]
	switch {
	case len(args) == 0:
		return json.RawMessage("{}"), nil
	case len(args) == 1 && json.Valid([]byte(args[0])):
		return json.RawMessage(args[0]), nil
	case strings.HasPrefix(args[0], "{"):
		return nil, config.Usagef("the arguments are not one JSON object: %s", strings.Join(args, " "))
	}
	list, err := c.client.Tools(ctx)
	if err != nil {
		return nil, err
	}
	var parameters json.RawMessage
	if i := named(list, name); i >= 0 {
		parameters = list[i].Parameters
	}
	raw, err := client.Arguments(parameters, args)
	if err != nil {
		return nil, config.Usagef("%w; etui tools show %s lists the parameters", err, name)
	}
	return raw, nil
}

// describeJudgement describes the verdict on a call of a tool.
func describeJudgement(lang string, name string, j turn.Judgement) string {
	text := phrase.In(lang, "%s: %s\n", name, judged(lang, j))
	if j.Command != nil {
		text += phrase.In(lang, "  programs: %s\n",
			cmp.Or(strings.Join(j.Command.Programs, ", "), phrase.Word(lang, "none")))
		for _, f := range j.Command.Found {
			text += fmt.Sprintf("  %s\n", f)
		}
	}
	return text
}
