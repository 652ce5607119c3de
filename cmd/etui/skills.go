package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

func (a *cli) skillsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "skills", Short: "List, control, find and install skills", Args: unknownCommand, RunE: group,
		Example: "  etui skills list\n  etui skills show search_logs\n  etui skills disable search_logs --reason \"too slow\"",
		Long: `List, control, find and install skills: abilities that come as files and may change while etui runs.
What you decide here - enabled, disabled, removed, a version - is kept in the state folder. A running
gateway applies it at once.`,
	}
	c.AddCommand(a.skillsListCommand(), a.skillsShowCommand(), a.skillsUseCommand(),
		a.skillsChangeCommand("enable NAME", "Allow a skill to be used", http.MethodPost, "/enable"),
		a.skillsChangeCommand("disable NAME", "Stop a skill from being used, but keep it", http.MethodPost, "/disable"),
		a.skillsChangeCommand("unregister NAME", "Remove a skill from use until it is enabled again", http.MethodDelete, ""),
		a.skillsApproveCommand(), a.skillsReloadCommand(), a.skillsValidateCommand(), a.skillsCallsCommand())
	c.AddCommand(a.skillsInstallCommands()...)
	return c
}

// skillsReport is what skills list prints as JSON.
type skillsReport struct {
	admin.SkillList
	// Toolsets are those of an agent: the skills that a turn can take up.
	Toolsets api.Toolsets `json:"toolsets"`
}

func (a *cli) skillsListCommand() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "list", Short: "List the skills, the files that failed to load, and the toolsets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				var r skillsReport
				if err := c.Do(cmd.Context(), http.MethodGet, "/admin/skills", nil, &r.SkillList); err != nil {
					return err
				}
				if err := c.Do(cmd.Context(), http.MethodGet, "/api/skills?agent="+url.QueryEscape(agent), nil, &r.Toolsets); err != nil {
					return err
				}
				return a.print(r, func() string {
					r.Toolsets.Skills = slices.DeleteFunc(r.Toolsets.Skills, func(t catalog.Skill) bool {
						return slices.ContainsFunc(r.Skills, func(s admin.SkillStatus) bool {
							return s.Name == t.Name && s.Kind == "instructions" && len(s.Tools) == 0
						})
					})
					return describeSkillList(r.SkillList) + describeToolsets(r.Toolsets)
				})
			})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "agent whose active toolset is marked (default: the first one)")
	return c
}

func describeSkillList(l admin.SkillList) string {
	var b strings.Builder
	rows := [][]string{{"SKILL", "STATE", "KIND", "RISK", "VERSION", "SOURCE"}}
	for _, s := range l.Skills {
		kind := s.Kind
		if s.Provider != "" && s.Provider != "markdown" {
			kind = s.Provider
		}
		rows = append(rows, []string{s.Name, string(s.State), kind, string(s.Risk), s.Version, home(s.Source)})
	}
	if len(l.Skills) > 0 {
		lines := strings.SplitAfter(layout(rows, 5, width()), "\n")
		b.WriteString(lines[0])
		for i, s := range l.Skills {
			b.WriteString(lines[i+1])
			for _, note := range remarks(s) {
				fmt.Fprintf(&b, "    %s\n", note)
			}
		}
	}
	for _, f := range l.Failed {
		fmt.Fprintf(&b, "failed: %s\n", home(f.Error))
	}
	if l.Trouble != "" {
		fmt.Fprintf(&b, "warning: %s\n", l.Trouble)
	}
	if l.DroppedCalls > 0 {
		fmt.Fprintf(&b, "warning: %d calls are missing in the history; they came faster than they could be written\n", l.DroppedCalls)
	}
	if len(l.Skills)+len(l.Failed) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// remarks returns what a list says about a skill beside its row.
func remarks(s admin.SkillStatus) (notes []string) {
	if s.Error != "" {
		notes = append(notes, "the last good version stays in effect: "+home(s.Error))
	}
	if s.Why != "" && s.State != skill.Removed {
		notes = append(notes, s.Why)
	}
	if server := serverOf(s); s.State == skill.Enabled {
		if server.Err != "" {
			notes = append(notes, fmt.Sprintf("the server is %s: %s", server.Phase, server.Err))
		}
		if server.LeftOut > 0 {
			notes = append(notes, printable.Count(server.LeftOut, "tool")+" left out, see etui skills show "+s.Name)
		}
		if n := len(server.Held); n > 0 {
			notes = append(notes, printable.Count(n, "tool")+" held back, see etui skills show "+s.Name)
		}
	}
	for _, other := range s.Shadows {
		notes = append(notes, strings.TrimSpace(fmt.Sprintf("shadows %s %s", home(other.Source), other.Version)))
	}
	failures := 0
	for _, n := range s.Counters.Failures {
		failures += n
	}
	if failures > 0 {
		notes = append(notes, printable.Count(failures, "call")+" failed")
	}
	if len(s.Warnings) > 0 {
		notes = append(notes, printable.Count(len(s.Warnings), "warning"))
	}
	return notes
}

// describeToolsets marks the active one.
func describeToolsets(s api.Toolsets) string {
	var rows [][]string
	for _, t := range s.Skills {
		mark := " "
		if t.Name == s.Active {
			mark = "*"
		}
		rows = append(rows, []string{mark + " " + t.Name, fmt.Sprintf("%4d tools %6d tokens ", s.Counts[t.Name], s.Tokens[t.Name]), t.Description})
	}
	return fmt.Sprintf("Toolsets of the agent %s (* is active):\n", s.Agent) + layout(rows, 2, width())
}

func (a *cli) skillsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show everything about a skill or a toolset", Args: cobra.ExactArgs(1),
		Example: "  etui skills show search_logs\n  etui skills show full --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(c *client.Client) error {
				var s admin.SkillStatus
				err := c.Do(cmd.Context(), http.MethodGet, skillPath(args[0]), nil, &s)
				if t, ok := toolset(cmd.Context(), c, args[0]); ok && err != nil {
					return a.print(t, func() string { return describeToolset(t) })
				}
				if err != nil {
					return err
				}
				return a.print(s, func() string { return describeSkill(s) })
			})
		},
	}
}

// shownToolset is a toolset with the number of its tools.
type shownToolset struct {
	catalog.Skill
	Count  int  `json:"count"`
	Active bool `json:"active"` // for the first agent
}

// toolset returns the toolset of a name that is not a skill of a folder.
func toolset(ctx context.Context, c *client.Client, name string) (shownToolset, bool) {
	var s api.Toolsets
	if c.Do(ctx, http.MethodGet, "/api/skills", nil, &s) != nil {
		return shownToolset{}, false
	}
	i := slices.IndexFunc(s.Skills, func(t catalog.Skill) bool { return t.Name == name })
	if i < 0 {
		return shownToolset{}, false
	}
	return shownToolset{s.Skills[i], s.Counts[name], s.Active == name}, true
}

func describeToolset(t shownToolset) string {
	text := fmt.Sprintf("%s\n  %s\n\n", t.Name, t.Description)
	state := "not active"
	if t.Active {
		state = "active"
	}
	for _, line := range [][2]string{
		{"kind", "toolset of " + printable.Count(t.Count, "tool")}, {"state", state}, {"tools", cmp.Or(strings.Join(t.Tools, ", "), "all")},
		{"aliases", strings.Join(t.Aliases, ", ")}, {"examples", strings.Join(t.Examples, " | ")}, {"channels", strings.Join(t.Channels, ", ")},
	} {
		if line[1] != "" {
			text += fmt.Sprintf("  %-10s %s\n", line[0], line[1])
		}
	}
	return text
}

func describeSkill(s admin.SkillStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n\n", s.Name, s.Description)
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(&b, "  %-10s %s\n", label, text)
		}
	}
	line("state", standing(s))
	line("kind", strings.TrimSuffix(s.Kind+", "+s.Provider, ", "))
	line("risk", string(s.Risk))
	line("version", s.Version)
	line("source", strings.TrimSuffix(fmt.Sprintf("%s (%s)", home(s.Source), s.Scope), " "))
	line("since", s.Since.Local().Format(time.DateTime))
	line("error", s.Error)
	line("groups", strings.Join(s.Groups, ", "))
	line("tools", strings.Join(s.Tools, ", "))
	for _, other := range s.Shadows {
		line("shadows", strings.TrimSpace(fmt.Sprintf("%s (%s) %s %s", home(other.Source), other.Scope, other.Version, other.Error)))
	}
	for _, text := range s.Unmet {
		line("unmet", text)
	}
	for _, text := range s.Warnings {
		line("warning", text)
	}
	if d := s.Decision; d != nil {
		line("decided", strings.TrimSpace(fmt.Sprintf("%s by %s %s", d.At.Local().Format(time.DateTime), cmp.Or(d.By, "somebody"), d.Why)))
		line("", strings.TrimSpace(strings.Join([]string{string(d.State), d.Version, strings.Join(d.Removed, " ")}, " ")))
	}
	if s.Server != nil {
		printServer(line, serverOf(s))
	}
	line("calls", countersText(s.Counters))
	return b.String()
}

// serverOf returns the status of the MCP server behind a skill; the zero value for other
// skills.
func serverOf(s admin.SkillStatus) (server mcp.Status) {
	if raw, err := json.Marshal(s.Server); err == nil {
		_ = json.Unmarshal(raw, &server) // a gateway of another version may send less
	}
	return server
}

func printServer(line func(label, text string), s mcp.Status) {
	line("server", fmt.Sprintf("%s, %s, restarted %s, %s", s.Phase, printable.Count(len(s.Tools), "tool"), printable.Count(s.Restarts, "time"), s.Identity))
	for _, grant := range []struct {
		label string
		list  []string
	}{{"reads", s.Read}, {"writes", s.Write}, {"reaches", s.Network}} {
		places := make([]string, len(grant.list))
		for i, place := range grant.list {
			places[i] = home(place)
		}
		line(grant.label, strings.Join(places, ", "))
	}
	line("error", s.Err)
	line("skipped", s.Noise)
	if s.LeftOut > 0 {
		line("left out", fmt.Sprintf("%d further tools of the server: etui takes %d. The keys include and exclude of the skill's file choose", s.LeftOut, len(s.Tools)+len(s.Held)+len(s.Refused)))
	}
	for _, r := range s.Refused {
		line("refused", fmt.Sprintf("%s: %s", r.Tool, r.Why))
	}
	for _, h := range s.Held {
		line("held back", fmt.Sprintf("%s: %s", h.Tool, strings.Join(h.Why, "; ")))
		for text := range strings.Lines(h.Diff()) {
			line("", strings.TrimRight(text, "\n"))
		}
	}
	if len(s.Held) > 0 {
		line("", "to approve them: etui skills approve "+s.Server+" TOOL..., or --all")
	}
}

// standing describes the state of a skill.
func standing(s admin.SkillStatus) string {
	version := ""
	if s.Version != "" {
		version = ", version " + s.Version
	}
	switch s.State {
	case skill.Enabled:
		return "enabled" + version
	case skill.Loaded:
		return "loaded" + version + ", but not enabled: " + s.Why
	}
	return cmp.Or(s.Why, string(s.State))
}

func countersText(c audit.Counters) string {
	if c.Calls == 0 {
		return "none since etui started"
	}
	text := fmt.Sprintf("%d since etui started, half of them within %.1f ms, 95 %% within %.1f ms", c.Calls, c.Median, c.P95)
	for _, kind := range slices.Sorted(maps.Keys(c.Failures)) {
		text += fmt.Sprintf("; %s %d", kind, c.Failures[kind])
	}
	return text
}

func skillPath(name string) string { return "/admin/skills/" + url.PathEscape(name) }

// motive holds the flag with the reason for a change.
type motive struct{ reason string }

func (m *motive) flags(c *cobra.Command) {
	c.Flags().StringVar(&m.reason, "reason", "", "the reason; it is logged and kept")
}

func (m *motive) request() admin.Change { return admin.Change{By: userName(), Reason: m.reason} }

// userName returns the user who runs this program.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "somebody")
}

// skillsChangeCommand makes a command that changes one skill.
func (a *cli) skillsChangeCommand(use, short, method, path string) *cobra.Command {
	var why motive
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		Example: "  etui skills " + strings.Replace(use, "NAME", "search_logs", 1) + " --reason \"too slow\"",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeSkill(cmd.Context(), method, skillPath(args[0])+path, why.request())
		},
	}
	why.flags(c)
	return c
}

func (a *cli) changeSkill(ctx context.Context, method, path string, change admin.Change) error {
	return show(ctx, a, request{method: method, path: path, body: change}, func(s admin.SkillStatus) string {
		return fmt.Sprintf("%s is %s.\n", s.Name, standing(s))
	})
}

func (a *cli) skillsUseCommand() *cobra.Command {
	var why motive
	var agent string
	c := &cobra.Command{
		Use: "use NAME[@VERSION]", Short: "Choose the version of a skill, or the active toolset of an agent", Args: cobra.ExactArgs(1),
		Long: `NAME@VERSION puts that version of the skill in effect, even if there are higher ones; NAME@ goes back
to the highest. NAME alone makes the skill the active toolset of an agent of a running gateway.`,
		Example: "  etui skills use search_logs@1.2 --reason \"1.3 is slow\"\n  etui skills use search_logs@\n  etui skills use oncall",
		RunE: func(cmd *cobra.Command, args []string) error {
			if name, version, ok := strings.Cut(args[0], "@"); ok {
				change := why.request()
				change.Version = version
				return a.changeSkill(cmd.Context(), http.MethodPost, skillPath(name)+"/use", change)
			}
			put := request{http.MethodPut, "/api/skills", map[string]string{"agent": agent, "skill": args[0]}, "set workflow.default_skill in etui.yaml instead"}
			return show(cmd.Context(), a, put, func(s api.Toolsets) string {
				return fmt.Sprintf("The skill %s is active for %s: %s, %d tokens.\n", s.Active, s.Agent, printable.Count(s.Tools, "tool"), s.Tokens[s.Active])
			})
		},
	}
	why.flags(c)
	c.Flags().StringVar(&agent, "agent", "", "agent that gets the toolset (default: the first one)")
	return c
}

func (a *cli) skillsApproveCommand() *cobra.Command {
	var why motive
	var all bool
	c := &cobra.Command{
		Use: "approve NAME TOOL...", Short: "Approve tools of an MCP server that were held back", Args: cobra.MinimumNArgs(1),
		Long: `Approve tools of an MCP server that were held back because they are new, have changed or look
poisoned. etui skills show NAME lists them with the reasons. TOOL@HASH approves a tool only as it is shown
there. --all approves every tool that is held back.`,
		Example: "  etui skills approve github create_issue\n  etui skills approve github --all",
		RunE: func(cmd *cobra.Command, args []string) error {
			change := why.request()
			if change.Tools, change.All = args[1:], all; (len(change.Tools) > 0) == all {
				return config.Usagef("say which tools to approve, or --all; etui skills show %s lists them", args[0])
			}
			approve := request{method: http.MethodPost, path: skillPath(args[0]) + "/approve", body: change}
			return show(cmd.Context(), a, approve, func(s admin.Approval) string {
				return fmt.Sprintf("%s is %s. Approved: %s.\n", s.Name, standing(s.SkillStatus), strings.Join(s.Approved, ", "))
			})
		},
	}
	why.flags(c)
	c.Flags().BoolVar(&all, "all", false, "approve every tool that is held back")
	return c
}

func (a *cli) skillsReloadCommand() *cobra.Command {
	var why motive
	c := &cobra.Command{
		Use: "reload", Short: "Reload all skill files in a running gateway", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			reload := request{http.MethodPost, "/admin/skills/reload", why.request(), "a gateway reads all files when it starts"}
			return show(cmd.Context(), a, reload, func(r skill.Report) (text string) {
				for _, p := range r.Problems {
					text += fmt.Sprintf("failed: %v\n", p)
				}
				return text + fmt.Sprintf("%s, %s, %s changed.\n", printable.Count(len(r.Loaded), "skill"), printable.Count(len(r.Problems), "problem"), printable.Count(r.Changed, "file"))
			})
		},
	}
	why.flags(c)
	return c
}

func (a *cli) skillsCallsCommand() *cobra.Command {
	var user, outcome string
	var limit int
	c := &cobra.Command{
		Use: "calls [NAME]", Short: "Show the calls of skills, newest first", Args: cobra.MaximumNArgs(1),
		Long: `Show the calls of skills, newest first: who made them, with which arguments, how they ended and how
long they took. Secrets are left out and long texts are cut. etui keeps the newest 10,000 calls, for
90 days.`,
		Example: "  etui skills calls search_logs --outcome timeout\n  etui skills calls --user alice --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"user": {user}, "outcome": {outcome}, "limit": {strconv.Itoa(limit)}}
			path := "/admin/calls?" + q.Encode()
			if len(args) == 1 {
				path = skillPath(args[0]) + "/calls?" + q.Encode()
			}
			return records(cmd.Context(), a, path, describeCalls)
		},
	}
	c.Flags().StringVar(&user, "user", "", "only calls of this user")
	c.Flags().StringVar(&outcome, "outcome", "", "only with this outcome: ok, invalid_params, timeout, unavailable, failed or cancelled")
	c.Flags().IntVar(&limit, "limit", 20, "how many to show")
	return c
}

func describeCalls(calls []audit.Record) string {
	if len(calls) == 0 {
		return "There are no calls.\n"
	}
	rows := [][]string{{"TIME", "SKILL", "USER", "CHANNEL", "OUTCOME", "MS", "ARGUMENTS"}}
	for _, call := range calls {
		rows = append(rows, []string{
			call.Time.Local().Format(time.DateTime), cmp.Or(call.Tool, call.Skill), call.User, call.Channel, call.Outcome,
			strconv.FormatFloat(call.Took, 'f', 1, 64), strings.TrimSpace(call.Arguments + " " + call.Error),
		})
	}
	return layout(rows, 6, width())
}
