package main

import (
	"cmp"
	"context"
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

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/cmd/etui/internal/explanation"
	"github.com/etui-run/etui/cmd/etui/internal/report"
	"github.com/etui-run/etui/cmd/etui/internal/servers"
	"github.com/etui-run/etui/cmd/internal/client"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/internal/terminal"
	"github.com/etui-run/etui/phrase"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/skill"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func skills() action {
	var agent, user, outcome string
	var limit int
	var change admin.Change
	// decide is an action that changes a skill and keeps why.
	decide := func(x action) action {
		more, check := x.flags, x.check
		x.names = (*client.Client).SkillNames
		x.flags = func(f *pflag.FlagSet) {
			f.StringVar(&change.Reason, "reason", "", "the reason; it is logged and kept")
			if more != nil {
				more(f)
			}
		}
		x.check = func(c *call) error {
			change.By = userName()
			if check != nil {
				return check(c)
			}
			return nil
		}
		return x
	}
	one := func(use, short, method, path string) action {
		return decide(action{
			use: use + " NAME", short: short, example: "  etui skills " + use + " search_logs --reason \"too slow\"",
			run: send(method, "/admin/skills/{}"+path, &change, describeChanged),
		})
	}
	reload := decide(action{
		use: "reload", short: "Reload all skill files in a running gateway",
		otherwise: "a gateway reads all files when it starts",
		run:       send(http.MethodPost, "/admin/skills/reload", &change, describeReload),
	})
	reload.names = nil
	return action{
		use: "skills", short: "List, control, find and install skills",
		example: "  etui skills list\n" +
			"  etui skills show search_logs\n" +
			"  etui skills disable search_logs --reason \"too slow\"",
		long: `List, control, find and install skills: abilities that come as files and may change while etui runs.
What you decide here - enabled, disabled, removed, a version - is kept in the state folder. A running
gateway applies it at once.`,
		commands: skillsOfFolder,
		actions: []action{
			{
				use: "list", short: "List the skills, the files that failed to load, and the toolsets",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&agent, "agent", "", "agent whose active toolset is marked (default: the first one)")
				},
				run: func(ctx context.Context, c *call) error { return listSkills(ctx, c, agent) },
			},
			{
				use: "show NAME", short: "Show everything about a skill or a toolset",
				names:   (*client.Client).SkillNames,
				example: "  etui skills show search_logs\n  etui skills show full --json", run: showSkill,
			},
			one("enable", "Allow a skill to be used", http.MethodPost, "/enable"),
			one("disable", "Stop a skill from being used, but keep it", http.MethodPost, "/disable"),
			one("unregister", "Remove a skill from use until it is enabled again", http.MethodDelete, ""),
			reload,
			decide(action{
				use: "use NAME[@VERSION]", short: "Choose the version of a skill, or the active toolset of an agent",
				long: `NAME@VERSION puts that version of the skill in effect, even if there are higher ones; NAME@ goes back
to the highest. NAME alone makes the skill the active toolset of an agent of a running gateway.`,
				example: "  etui skills use search_logs@1.2 --reason \"1.3 is slow\"\n" +
					"  etui skills use search_logs@\n" +
					"  etui skills use oncall",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&agent, "agent", "", "agent that gets the toolset (default: the first one)")
				},
				run: func(ctx context.Context, c *call) error {
					if name, version, ok := strings.Cut(c.args[0], "@"); ok {
						change.Version = version
						return send(http.MethodPost, skillPath(name)+"/use", change, describeChanged)(ctx, c)
					}
					if c.client.Here() {
						return config.Usagef("no gateway is running; set workflow.default_skill in etui.yaml instead")
					}
					toolset := map[string]string{"agent": agent, "skill": c.args[0]}
					return send(http.MethodPut, "/api/skills", toolset, func(lang string, s api.Toolsets) string {
						tools := phrase.Count(lang, s.Tools, "tool")
						return phrase.In(lang, "The skill %s is active for %s: %s, %d tokens.\n", s.Active, s.Agent,
							tools, s.Tokens[s.Active])
					})(ctx, c)
				},
			}),
			decide(action{
				use: "approve NAME TOOL...", args: cobra.MinimumNArgs(1),
				short: "Approve tools of an MCP server that were held back",
				long: `Approve tools of an MCP server that were held back because they are new, have changed or look
poisoned. etui skills show NAME lists them with the reasons. TOOL@HASH approves a tool only as it is shown
there. --all approves every tool that is held back.`,
				example: "  etui skills approve github create_issue\n  etui skills approve github --all",
				flags: func(f *pflag.FlagSet) {
					f.BoolVar(&change.All, "all", false, "approve every tool that is held back")
				},
				check: func(c *call) error {
					if change.Tools = c.args[1:]; (len(change.Tools) > 0) == change.All {
						return config.Usagef("say which tools to approve, or --all; etui skills show %s lists them",
							c.args[0])
					}
					return nil
				},
				run: send(http.MethodPost, "/admin/skills/{}/approve", &change,
					func(lang string, s admin.Approval) string {
						return phrase.In(lang, "%s is %s. Approved: %s.\n", s.Name, standing(lang, s.SkillStatus),
							strings.Join(s.Approved, ", "))
					}),
			}),
			{
				use: "calls [NAME]", short: "Show the calls of skills, newest first", needs: records,
				names: (*client.Client).SkillNames,
				long: `Show the calls of skills, newest first: who made them, with which arguments, how they ended and how
long they took. Secrets are left out and long texts are cut. etui keeps the newest 10,000 calls, for
90 days.`,
				example: "  etui skills calls search_logs --outcome timeout\n  etui skills calls --user alice --json",
				flags: func(f *pflag.FlagSet) {
					f.StringVar(&user, "user", "", "only calls of this user")
					f.StringVar(&outcome, "outcome", "",
						"only with this outcome: ok, invalid_params, timeout, unavailable, failed or cancelled")
					f.IntVar(&limit, "limit", 20, "how many to show")
				},
				run: func(ctx context.Context, c *call) error {
					path := "/admin/calls?"
					q := url.Values{"user": {user}, "outcome": {outcome}, "limit": {strconv.Itoa(limit)}}
					if len(c.args) == 1 {
						path = skillPath(c.args[0]) + "/calls?"
					}
					return get(path+q.Encode(), report.Table[audit.Record]{
						None: "There are no calls.\n", Row: callRow,
						Head: []string{"TIME", "SKILL", "USER", "CHANNEL", "OUTCOME", "MS", "ARGUMENTS"},
					}.Text)(ctx, c)
				},
			},
		},
	}
}

// skillsReport is what skills list prints as JSON.
type skillsReport struct {
	admin.SkillList
	// Toolsets are those of an agent: the skills that a turn can take up.
	Toolsets api.Toolsets `json:"toolsets"`
}

func listSkills(ctx context.Context, c *call, agent string) error {
	var r skillsReport
	if err := c.client.Do(ctx, http.MethodGet, "/admin/skills", nil, &r.SkillList); err != nil {
		return err
	}
	if err := c.client.Do(ctx, http.MethodGet, "/api/skills?agent="+url.QueryEscape(agent), nil,
		&r.Toolsets); err != nil {
		return err
	}
	return c.Print(r, func() string {
		r.Toolsets.Skills = slices.DeleteFunc(r.Toolsets.Skills, func(t catalog.Skill) bool {
			return slices.ContainsFunc(r.Skills, func(s admin.SkillStatus) bool {
				return s.Name == t.Name && s.Kind == "instructions" && len(s.Tools) == 0
			})
		})
		return describeSkillList(c.Language, r.SkillList) + explanation.Toolsets(c.Language, r.Toolsets)
	})
}

func describeSkillList(lang string, l admin.SkillList) string {
	var b strings.Builder
	if len(l.Skills) > 0 {
		b.WriteString(report.Table[admin.SkillStatus]{
			Head: []string{"SKILL", "STATE", "KIND", "RISK", "VERSION", "SOURCE"},
			Row: func(s admin.SkillStatus) []string {
				kind := s.Kind
				if s.Provider != "" && s.Provider != "markdown" {
					kind = s.Provider
				}
				return []string{s.Name, phrase.Word(lang, string(s.State)), phrase.Word(lang, kind),
					phrase.Word(lang, string(s.Risk)), s.Version, terminal.ShortPath(s.Source)}
			},
			Below: func(s admin.SkillStatus) (lines string) {
				for _, note := range remarks(lang, s) {
					lines += "    " + note + "\n"
				}
				return lines
			},
		}.Text(lang, l.Skills))
	}
	for _, f := range l.Failed {
		phrase.Fprintf(&b, lang, "failed: %s\n", phrase.Reword(lang, terminal.ShortPath(f.Error)))
	}
	if l.Trouble != "" {
		phrase.Fprintf(&b, lang, "warning: %s\n", l.Trouble)
	}
	if l.DroppedCalls > 0 {
		phrase.Fprintf(&b, lang, "warning: %d calls are missing in the history; they came faster than they could be written\n", l.DroppedCalls)
	}
	if len(l.Skills)+len(l.Failed) > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

// remarks returns what a list says about a skill beside its row.
func remarks(lang string, s admin.SkillStatus) (notes []string) {
	if s.Error != "" {
		notes = append(notes, phrase.In(lang, "the last good version stays in effect: %s", terminal.ShortPath(s.Error)))
	}
	if s.Why != "" && s.State != skill.Removed {
		notes = append(notes, phrase.Reword(lang, s.Why))
	}
	if server := servers.Of(s); s.State == skill.Enabled {
		if server.Err != "" {
			notes = append(notes, phrase.In(lang, "the server is %s: %s", phrase.Text(server.Phase),
				phrase.Reword(lang, server.Err)))
		}
		if server.LeftOut > 0 {
			notes = append(notes, phrase.In(lang, "%s left out, see etui skills show %s",
				phrase.Count(lang, server.LeftOut, "tool"), s.Name))
		}
		if n := len(server.Held); n > 0 {
			notes = append(notes, phrase.In(lang, "%s held back, see etui skills show %s",
				phrase.Count(lang, n, "tool"), s.Name))
		}
	}
	for _, other := range s.Shadows {
		notes = append(notes, strings.TrimSpace(phrase.In(lang, "shadows %s %s", terminal.ShortPath(other.Source),
			other.Version)))
	}
	failures := 0
	for _, n := range s.Counters.Failures {
		failures += n
	}
	if failures > 0 {
		notes = append(notes, phrase.In(lang, "%s failed", phrase.Count(lang, failures, "call")))
	}
	if len(s.Warnings) > 0 {
		notes = append(notes, phrase.Count(lang, len(s.Warnings), "warning"))
	}
	return notes
}

func showSkill(ctx context.Context, c *call) error {
	var s admin.SkillStatus
	err := c.client.Do(ctx, http.MethodGet, skillPath(c.args[0]), nil, &s)
	if t, ok := toolset(ctx, c.client, c.args[0]); ok && err != nil {
		return c.Print(t, func() string { return describeToolset(c.Language, t) })
	}
	if err != nil {
		return err
	}
	return c.Print(s, func() string { return describeSkill(c.Language, s) })
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

func describeToolset(lang string, t shownToolset) string {
	text := fmt.Sprintf("%s\n  %s\n\n", t.Name, phrase.Word(lang, t.Description))
	state := phrase.Word(lang, "not active")
	if t.Active {
		state = phrase.Word(lang, "active")
	}
	for _, line := range [][2]string{
		{"kind", phrase.In(lang, "toolset of %s", phrase.Count(lang, t.Count, "tool"))}, {"state", state},
		{"tools", cmp.Or(strings.Join(t.Tools, ", "), phrase.Word(lang, "all"))},
		{"aliases", strings.Join(t.Aliases, ", ")}, {"examples", strings.Join(t.Examples, " | ")},
		{"channels", strings.Join(t.Channels, ", ")},
	} {
		if line[1] != "" {
			text += labelled(lang, line[0], line[1])
		}
	}
	return text
}

func describeSkill(lang string, s admin.SkillStatus) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n\n", s.Name, s.Description)
	line := func(label, text string) {
		if text != "" {
			b.WriteString(labelled(lang, label, text))
		}
	}
	line("state", standing(lang, s))
	line("kind", strings.TrimSuffix(phrase.Word(lang, s.Kind)+", "+s.Provider, ", "))
	line("risk", phrase.Word(lang, string(s.Risk)))
	line("version", s.Version)
	line("source", inScope(lang, s.Source, s.Scope.String()))
	line("since", s.Since.Local().Format(time.DateTime))
	line("error", phrase.Reword(lang, s.Error))
	line("groups", strings.Join(s.Groups, ", "))
	line("tools", strings.Join(s.Tools, ", "))
	line("allowed", strings.Join(s.Allowed, ", "))
	for _, other := range s.Shadows {
		line("shadows", strings.TrimSpace(fmt.Sprintf("%s %s %s", inScope(lang, other.Source, other.Scope.String()),
			other.Version, phrase.Reword(lang, other.Error))))
	}
	for _, text := range s.Unmet {
		line("unmet", text)
	}
	for _, text := range s.Warnings {
		line("warning", text)
	}
	if d := s.Decision; d != nil {
		line("decided", strings.TrimSpace(phrase.In(lang, "%s by %s %s", d.At.Local().Format(time.DateTime),
			cmp.Or(d.By, phrase.Word(lang, "somebody")), d.Why)))
		line("", strings.TrimSpace(strings.Join([]string{string(d.State), d.Version, strings.Join(d.Removed, " ")},
			" ")))
	}
	if s.Server != nil {
		servers.Describe(lang, line, servers.Of(s))
	}
	line("calls", countersText(lang, s.Counters))
	return b.String()
}

// labelled is a line about a thing, behind a label.
func labelled(lang, label, text string) string {
	return "  " + terminal.Pad(phrase.Word(lang, label), 10) + " " + text + "\n"
}

// inScope is where a skill comes from.
func inScope(lang, source, scope string) string {
	return terminal.ShortPath(source) + phrase.In(lang, " (%s)", phrase.Word(lang, scope))
}

// standing describes the state of a skill.
func standing(lang string, s admin.SkillStatus) string {
	version := ""
	if s.Version != "" {
		version = phrase.In(lang, ", version %s", s.Version)
	}
	switch s.State {
	case skill.Enabled:
		return phrase.Word(lang, "enabled") + version
	case skill.Loaded:
		return phrase.In(lang, "loaded%s, but not enabled: %s", version, s.Why)
	}
	return cmp.Or(s.Why, phrase.Word(lang, string(s.State)))
}

func countersText(lang string, c audit.Counters) string {
	if c.Calls == 0 {
		return phrase.Word(lang, "none since etui started")
	}
	text := phrase.In(lang, "%d since etui started, half of them within %.1f ms, 95 %% within %.1f ms", c.Calls,
		c.Median, c.P95)
	for _, kind := range slices.Sorted(maps.Keys(c.Failures)) {
		text += fmt.Sprintf("; %s %d", kind, c.Failures[kind])
	}
	return text
}

func skillPath(name string) string { return "/admin/skills/" + url.PathEscape(name) }

// userName returns the user who runs this program.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return cmp.Or(os.Getenv("USER"), "somebody")
}

func describeChanged(lang string, s admin.SkillStatus) string {
	return phrase.In(lang, "%s is %s.\n", s.Name, standing(lang, s))
}

func describeReload(lang string, r skill.Report) (text string) {
	for _, p := range r.Problems {
		text += phrase.In(lang, "failed: %v\n", p)
	}
	loaded, problems := phrase.Count(lang, len(r.Loaded), "skill"), phrase.Count(lang, len(r.Problems), "problem")
	return text + phrase.In(lang, "%s, %s, %s changed.\n", loaded, problems, phrase.Count(lang, r.Changed, "file"))
}

func callRow(call audit.Record) []string {
	return []string{
		call.Time.Local().Format(time.DateTime), cmp.Or(call.Tool, call.Skill), call.User, call.Channel, call.Outcome,
		strconv.FormatFloat(call.Took, 'f', 1, 64), strings.TrimSpace(call.Arguments + " " + call.Error),
	}
}
