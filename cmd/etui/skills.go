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
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/mcp"
)

func (a *app) skillsCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "skills", Short: "See and control skills: the abilities in files", Args: unknownCommand, RunE: group,
		Long: `See and control skills: the abilities that lie in files and come and go while etui runs. What is
decided here - enabled, disabled, removed, a version - is kept with the workspace's state; a gateway
that runs takes it up at once, and one that starts later, too.`,
	}
	c.AddCommand(a.skillsListCommand(), a.skillsShowCommand(), a.skillsUseCommand(),
		a.skillsChangeCommand("enable NAME", "Let a skill be used", http.MethodPost, "/enable"),
		a.skillsChangeCommand("disable NAME", "Keep a skill from being used, and keep it", http.MethodPost, "/disable"),
		a.skillsChangeCommand("unregister NAME", "Take a skill away, until it is enabled again", http.MethodDelete, ""),
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

func (a *app) skillsListCommand() *cobra.Command {
	var agent string
	c := &cobra.Command{
		Use: "list", Short: "List the skills, the files that give none, and the toolsets", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client) error {
				var r skillsReport
				if err := c.do(cmd.Context(), http.MethodGet, "/admin/skills", nil, &r.SkillList); err != nil {
					return err
				}
				if err := c.do(cmd.Context(), http.MethodGet, "/api/skills?agent="+url.QueryEscape(agent), nil, &r.Toolsets); err != nil {
					return err
				}
				if a.json {
					return json.NewEncoder(a.out).Encode(r)
				}
				a.printSkillList(r.SkillList)
				r.Toolsets.Skills = slices.DeleteFunc(r.Toolsets.Skills, func(t catalog.Skill) bool {
					return slices.ContainsFunc(r.Skills, func(s admin.SkillStatus) bool {
						return s.Name == t.Name && s.Kind == "instructions" && len(s.Tools) == 0
					})
				})
				return a.printToolsets(r.Toolsets)
			})
		},
	}
	c.Flags().StringVar(&agent, "agent", "", "agent whose active toolset is marked (default: the first one)")
	return c
}

func (a *app) printSkillList(l admin.SkillList) {
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
		fmt.Fprint(a.out, lines[0])
		for i, s := range l.Skills {
			fmt.Fprint(a.out, lines[i+1])
			for _, note := range remarks(s) {
				fmt.Fprintf(a.out, "    %s\n", note)
			}
		}
	}
	for _, f := range l.Failed {
		fmt.Fprintf(a.out, "failed: %s\n", home(f.Error))
	}
	if l.Trouble != "" {
		fmt.Fprintf(a.out, "warning: %s\n", l.Trouble)
	}
	if l.DroppedCalls > 0 {
		fmt.Fprintf(a.out, "warning: %d calls are missing in the history; they came faster than they could be written\n", l.DroppedCalls)
	}
	if len(l.Skills)+len(l.Failed) > 0 {
		fmt.Fprintln(a.out)
	}
}

// remarks are what is worth knowing of a skill in a list.
func remarks(s admin.SkillStatus) (notes []string) {
	if s.Error != "" {
		notes = append(notes, "the last good version is in force: "+home(s.Error))
	}
	if s.Why != "" && s.State != skill.Removed {
		notes = append(notes, s.Why)
	}
	if server := serverOf(s); s.State == skill.Enabled {
		if server.Err != "" {
			notes = append(notes, fmt.Sprintf("the server is %s: %s", server.Phase, server.Err))
		}
		if n := len(server.Held); n > 0 {
			notes = append(notes, count(n, "tool")+" held back, see etui skills show "+s.Name)
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
		notes = append(notes, count(failures, "call")+" failed")
	}
	if len(s.Warnings) > 0 {
		notes = append(notes, count(len(s.Warnings), "warning"))
	}
	return notes
}

// printToolsets marks the active one.
func (a *app) printToolsets(s api.Toolsets) error {
	var rows [][]string
	for _, t := range s.Skills {
		mark := " "
		if t.Name == s.Active {
			mark = "*"
		}
		rows = append(rows, []string{mark + " " + t.Name, fmt.Sprintf("%4d tools ", s.Counts[t.Name]), t.Description})
	}
	_, err := fmt.Fprint(a.out, layout(rows, 2, width()))
	return err
}

func (a *app) skillsShowCommand() *cobra.Command {
	return &cobra.Command{
		Use: "show NAME", Short: "Show all that is known of a skill", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(cmd.Context(), false, func(c *client) error {
				var s admin.SkillStatus
				if err := c.do(cmd.Context(), http.MethodGet, skillPath(args[0]), nil, &s); err != nil {
					return err
				}
				if a.json {
					return json.NewEncoder(a.out).Encode(s)
				}
				a.printSkill(s)
				return nil
			})
		},
	}
}

func (a *app) printSkill(s admin.SkillStatus) {
	fmt.Fprintf(a.out, "%s\n  %s\n\n", s.Name, s.Description)
	line := func(label, text string) {
		if text != "" {
			fmt.Fprintf(a.out, "  %-10s %s\n", label, text)
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
}

// serverOf is how it goes with the server that a skill is; the zero value for
// other skills.
func serverOf(s admin.SkillStatus) (server mcp.Status) {
	if raw, err := json.Marshal(s.Server); err == nil {
		_ = json.Unmarshal(raw, &server) // a gateway of another version may tell less
	}
	return server
}

func printServer(line func(label, text string), s mcp.Status) {
	line("server", fmt.Sprintf("%s, %d tools, restarted %d times, %s", s.Phase, len(s.Tools), s.Restarts, s.Identity))
	line("error", s.Err)
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
		line("", "to let them be used: etui skills approve "+s.Server)
	}
}

// standing says in words where a skill stands.
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

// count writes a number of things.
func count(n int, what string) string {
	if n != 1 {
		what += "s"
	}
	return fmt.Sprintf("%d %s", n, what)
}

func skillPath(name string) string { return "/admin/skills/" + url.PathEscape(name) }

// motive holds the flag that says why a change is made.
type motive struct{ reason string }

func (m *motive) flags(c *cobra.Command) {
	c.Flags().StringVar(&m.reason, "reason", "", "why; it is logged and kept")
}

func (m *motive) request() admin.Change { return admin.Change{By: userName(), Reason: m.reason} }

// userName is who runs this program.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "somebody")
}

// skillsChangeCommand makes a command that changes one skill.
func (a *app) skillsChangeCommand(use, short, method, path string) *cobra.Command {
	var why motive
	c := &cobra.Command{
		Use: use, Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.changeSkill(cmd.Context(), method, skillPath(args[0])+path, why.request())
		},
	}
	why.flags(c)
	return c
}

func (a *app) changeSkill(ctx context.Context, method, path string, change admin.Change) error {
	return a.with(ctx, false, func(c *client) error {
		var s admin.SkillStatus
		if err := c.do(ctx, method, path, change, &s); err != nil {
			return err
		}
		if a.json {
			return json.NewEncoder(a.out).Encode(s)
		}
		_, err := fmt.Fprintf(a.out, "%s is %s.\n", s.Name, standing(s))
		return err
	})
}

func (a *app) skillsUseCommand() *cobra.Command {
	var why motive
	var agent string
	c := &cobra.Command{
		Use: "use NAME[@VERSION]", Short: "Put a version of a skill in force, or make a toolset an agent's active one", Args: cobra.ExactArgs(1),
		Long: `With @VERSION, put that version of the skill in force, whatever others there are; NAME@ alone means the
highest one again. Without, make the skill the active toolset of an agent of a running gateway.`,
		Example: "  etui skills use search_logs@1.2 --reason \"1.3 is slow\"\n  etui skills use search_logs@\n  etui skills use oncall",
		RunE: func(cmd *cobra.Command, args []string) error {
			if name, version, ok := strings.Cut(args[0], "@"); ok {
				change := why.request()
				change.Version = version
				return a.changeSkill(cmd.Context(), http.MethodPost, skillPath(name)+"/use", change)
			}
			return a.activate(cmd.Context(), agent, args[0])
		},
	}
	why.flags(c)
	c.Flags().StringVar(&agent, "agent", "", "agent whose toolset it is to be (default: the first one)")
	return c
}

// activate makes a toolset the active one of an agent.
func (a *app) activate(ctx context.Context, agent, name string) error {
	return a.with(ctx, false, func(c *client) error {
		if c.where == thisProcess {
			return usagef("no gateway is running; set workflow.default_skill in etui.yaml instead")
		}
		var s api.Toolsets
		if err := c.do(ctx, http.MethodPut, "/api/skills", map[string]string{"agent": agent, "skill": name}, &s); err != nil {
			return err
		}
		if a.json {
			return json.NewEncoder(a.out).Encode(s)
		}
		_, err := fmt.Fprintf(a.out, "The skill %s is active for %s: %d tools.\n", s.Active, s.Agent, s.Tools)
		return err
	})
}

func (a *app) skillsApproveCommand() *cobra.Command {
	var why motive
	c := &cobra.Command{
		Use: "approve NAME [TOOL...]", Short: "Let tools of a server be used that were held back", Args: cobra.MinimumNArgs(1),
		Long: `Let tools of a server be used that were held back because they are new, have changed or look
poisoned. etui skills show NAME says which those are, and why. Without TOOL: all of them.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			change := why.request()
			change.Tools = args[1:]
			return a.changeSkill(cmd.Context(), http.MethodPost, skillPath(args[0])+"/approve", change)
		},
	}
	why.flags(c)
	return c
}

func (a *app) skillsReloadCommand() *cobra.Command {
	var why motive
	c := &cobra.Command{
		Use: "reload", Short: "Let a running gateway read all files of skills again", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.with(cmd.Context(), false, func(c *client) error {
				if c.where == thisProcess {
					return usagef("no gateway is running; one that starts reads all files")
				}
				var r skill.Report
				if err := c.do(cmd.Context(), http.MethodPost, "/admin/skills/reload", why.request(), &r); err != nil {
					return err
				}
				if a.json {
					return json.NewEncoder(a.out).Encode(r)
				}
				for _, p := range r.Problems {
					fmt.Fprintf(a.out, "failed: %v\n", p)
				}
				_, err := fmt.Fprintf(a.out, "%s, %s, %s changed.\n", count(len(r.Loaded), "skill"), count(len(r.Problems), "problem"), count(r.Changed, "file"))
				return err
			})
		},
	}
	why.flags(c)
	return c
}

func (a *app) skillsCallsCommand() *cobra.Command {
	var user, outcome string
	var limit int
	c := &cobra.Command{
		Use: "calls [NAME]", Short: "Show what skills did, newest first", Args: cobra.MaximumNArgs(1),
		Long: `Show what skills did, newest first: who used them, with which arguments, how it went and how long it
took. Secrets are left out and long texts cut. The newest 10,000 calls of 90 days are kept.`,
		Example: "  etui skills calls search_logs --outcome timeout\n  etui skills calls --user alice --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			q := url.Values{"user": {user}, "outcome": {outcome}, "limit": {strconv.Itoa(limit)}}
			path := "/admin/calls?" + q.Encode()
			if len(args) == 1 {
				path = skillPath(args[0]) + "/calls?" + q.Encode()
			}
			return a.with(cmd.Context(), false, func(c *client) error {
				var calls []audit.Record
				if err := c.do(cmd.Context(), http.MethodGet, path, nil, &calls); err != nil {
					return err
				}
				if a.json {
					return json.NewEncoder(a.out).Encode(calls)
				}
				return a.printCalls(calls)
			})
		},
	}
	c.Flags().StringVar(&user, "user", "", "only this user's")
	c.Flags().StringVar(&outcome, "outcome", "", "only with this outcome: ok, invalid_params, timeout, unavailable, failed or cancelled")
	c.Flags().IntVar(&limit, "limit", 20, "how many, the newest ones")
	return c
}

func (a *app) printCalls(calls []audit.Record) error {
	if len(calls) == 0 {
		_, err := fmt.Fprintln(a.out, "There are no calls.")
		return err
	}
	rows := [][]string{{"TIME", "SKILL", "USER", "CHANNEL", "OUTCOME", "MS", "ARGUMENTS"}}
	for _, call := range calls {
		rows = append(rows, []string{
			call.Time.Local().Format(time.DateTime), cmp.Or(call.Tool, call.Skill), call.User, call.Channel, call.Outcome,
			strconv.FormatFloat(call.Took, 'f', 1, 64), strings.TrimSpace(call.Arguments + " " + call.Error),
		})
	}
	_, err := fmt.Fprint(a.out, layout(rows, 6, width()))
	return err
}
