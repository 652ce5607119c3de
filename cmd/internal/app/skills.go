package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/cmd/internal/builtin"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/printable"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/internal/tracing"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/control"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/tool"
)

// skills loads and controls the skills of a workspace.
type skills struct {
	table   *skill.Table
	loader  *skill.Loader
	control *control.Control
	shown   *skill.Publisher
	calls   *audit.Recorder
	traces  *tracing.Tracing // nil when nothing is traced
	pins    *mcp.Pins        // which tools of servers may be used
	given   *extras
	warn    func(*skill.Entry) []error // of tools that it names and that do not exist
	log     *slog.Logger
}

// addSkills loads the skills of the workspace and puts them into the registry. Files
// that cannot be used stop nothing; the table says what is wrong with them.
func (a *App) addSkills(ctx context.Context, out *egress.Guard, stored bool) (err error) {
	w, log := a.Workspace, a.settings.Log
	traces, err := tracing.New(os.Getenv, a.settings.Version, log)
	if err != nil {
		return config.UsageError{Err: err}
	}
	a.close = append(a.close, func() error {
		ending, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
		defer done()
		return traces.Close(ending)
	})
	if !stored {
		log = slog.New(slog.DiscardHandler) // the commands print what is wrong with skills
	}
	s := &skills{log: log, table: skill.NewTable(log), pins: a.state.Pins(), given: &extras{}, traces: traces}
	s.warn = func(e *skill.Entry) []error {
		if skill.KindOf(e.Skill) != "toolset" {
			return nil
		}
		return a.Names().MissingTools(e)
	}
	a.skills, a.logins, a.desk = s, a.state.Logins(), oauth.NewDesk(cmp.Or(w.Config.API.URL, a.settings.urls.URL), nil)
	logins := &mcp.Logins{Vault: a.logins}
	if a.settings.urls.URL != "" { // else no browser comes back to this process
		logins.Desk = a.desk
	}
	providers, err := provider.New(provider.Config{
		Workspace: w, Out: out, Programs: a.tools.programs, Pins: s.pins, Logins: logins, Traces: traces,
		Version: a.settings.Version, Log: log,
	})
	if err != nil {
		return err
	}
	for i, p := range providers {
		providers[i] = remembering{p, a.settings.Secrets, s.given}
	}
	if s.control, err = a.state.Control(ctx, a.skills.table, log); err != nil {
		return err
	}
	s.loader = skill.NewLoader(s.table, skill.LoaderConfig{
		Roots: w.Roots(), Providers: providers, Package: markdown.LocalMachine().Load, Reserved: a.reserved(),
		Variables: skill.Variables{Allowed: w.Config.Skills.Env}, Steady: a.tools.steady, Log: log,
	})
	s.loader.Load(ctx) // failures are in the table and the log
	if s.calls, err = a.state.Calls(ctx, a.settings.Secrets, log); err != nil {
		return err
	}
	s.shown = skill.Publish(s.table, a.Config.Registry,
		skill.PublishConfig{Observe: observer(s.calls, traces), Idle: !stored, Log: log})
	a.close = append(a.close, s.shown.Close)
	return nil
}

// shellHosts are the hosts that commands of the exec tool may reach. Where nothing
// is isolated they reach all, and where none runs there is nothing to tell a model.
func shellHosts(c config.Sandbox, programs *sandbox.Sandbox) ([]string, error) {
	if len(c.Network) == 0 || slices.Contains([]sandbox.Mode{sandbox.Off, sandbox.None}, programs.Mode()) {
		return nil, nil
	}
	if err := programs.Network(); err != nil {
		return nil, fmt.Errorf("sandbox.network: %w", err)
	}
	return c.Network, nil
}

// Skills returns the skills of the workspace.
func (a *App) Skills() *skill.Table { return a.skills.table }

// Failures returns what is wrong with the files of skills.
func (a *App) Failures() (list []error) {
	now := a.skills.table.Snapshot()
	for _, source := range slices.Sorted(maps.Keys(now.Failed())) {
		list = append(list, now.Failed()[source])
	}
	for _, e := range now.All() {
		if e.Err != nil {
			list = append(list, e.Err)
		}
	}
	return list
}

// run keeps the skills up to date until ctx ends.
func (s *skills) run(ctx context.Context) {
	var running panics.Group
	running.Go(func() { s.loader.Run(ctx) })
	running.Go(func() { s.control.Run(ctx) })
	running.Wait()
}

// reload reads everything again, for somebody and a reason.
func (s *skills) reload(ctx context.Context, by, why string) skill.Report {
	s.control.Look()
	r := s.loader.Reload(ctx, by, why)
	s.log.InfoContext(ctx, "skills read again", "by", by, "why", why, "skills", len(r.Loaded), "problems",
		len(r.Problems), "changed", r.Changed)
	return r
}

// settling bounds how long settle waits.
const settling = 15 * time.Second

// settle waits until the servers that are gone have ended, and the others were tried once.
func (s *skills) settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settling)
	defer cancel()
	s.shown.Settle(ctx)
	for _, one := range s.table.ListEnabled() {
		server, ok := one.(*mcp.Server)
		for ok && slices.Contains([]mcp.Phase{mcp.Waiting, mcp.Trying}, server.Status().Phase) {
			if !sleep.For(ctx, 20*time.Millisecond) {
				return
			}
		}
	}
}

// admin returns what the admin API shows and changes.
func (s *skills) admin(registry admin.Registry) admin.Config {
	return admin.Config{
		Table: s.table, Decide: s.control.Change, Decision: s.control.Decision, Trouble: s.control.Err, Calls: s.calls,
		Server: serverStatus, Approve: s.approve, Warn: s.warn, Registry: registry,
		Reload: func(ctx context.Context, by, why string) (any, error) {
			report := s.reload(ctx, by, cmp.Or(why, "asked to read everything again"))
			s.settle(ctx)
			return report, nil
		},
	}
}

// approve releases tools that a server holds back, or all of them, and returns which.
func (s *skills) approve(server skill.Skill, all bool, tools ...string) ([]string, error) {
	if all {
		return s.pins.ApproveAll(server.Name())
	}
	return tools, s.pins.Approve(server.Name(), tools...)
}

// serverStatus returns the status of an MCP server; nil for other skills.
func serverStatus(s skill.Skill) any {
	if server, ok := s.(*mcp.Server); ok {
		return server.Status()
	}
	return nil
}

// reserved reports the names that no skill may have: those of the tools that etui
// itself brings, and of the skill of all tools.
func (a *App) reserved() func(string) bool {
	own := nameset.Own()
	for e := range a.Config.Registry.Catalog().All() {
		if e.Definition.Source == builtin.Source {
			own = append(own, e.Definition.Name)
		}
	}
	return func(name string) bool { return slices.Contains(own, name) }
}

// remembering makes the secrets of a skill known before its provider gets them. They
// stay known when the skill is gone, since results of it may still arrive.
type remembering struct {
	skill.Provider
	known *secret.Set
	given *extras
}

// Load implements [skill.Provider].
func (r remembering) Load(c skill.Config) (skill.Skill, error) {
	if err := r.known.Set("skill "+c.Name+" "+c.File, c.Secrets()...); err != nil {
		return nil, err
	}
	r.given.note(c)
	return r.Provider.Load(c)
}

// extras records what programs of skills get beside their folder: hosts and secrets. It
// is safe for concurrent use.
type extras struct{ skills sync.Map }

func (g *extras) note(c skill.Config) {
	var list []string
	if len(c.Network) > 0 {
		list = append(list, "reaches "+printable.First(c.Network, 2))
	}
	if len(c.Command) > 0 && len(c.Expanded) > 0 {
		list = append(list, "has "+printable.Count(len(c.Expanded), "secret"))
	}
	g.skills.Store(c.Name, strings.Join(list, ", "))
}

// of says what a skill gets; it is empty for most.
func (g *extras) of(name string) string {
	text, _ := g.skills.Load(name)
	said, _ := text.(string)
	return said
}

// observer traces, counts and records every use of a skill.
func observer(calls *audit.Recorder, traces *tracing.Tracing) skill.ObserveFunc {
	return func(ctx context.Context, u skill.Use, run func(context.Context) error) error {
		who, began := tool.Caller(ctx), time.Now()
		ctx, end := traces.Start(ctx, "skill "+u.Skill, "etui.skill", u.Skill, "etui.version", u.Version,
			"etui.provider", u.Provider, "etui.tool", u.Tool)
		err := run(ctx)
		result := outcome(err)
		end(result, err == nil)
		calls.Record(audit.Record{
			Time: began, Skill: u.Skill, Version: u.Version, Provider: u.Provider, Tool: u.Tool,
			Agent: who.Agent, Channel: who.Channel, User: who.Record(), Session: who.Session, Outcome: result,
		}, u.Arguments, time.Since(began), err)
		return err
	}
}

func outcome(err error) string {
	switch kind := skill.Kind(err); {
	case err == nil:
		return audit.OK
	case errors.Is(err, context.Canceled):
		return "cancelled"
	case kind != "":
		return kind
	}
	return skill.Kind(skill.ErrExecutionFailed)
}
