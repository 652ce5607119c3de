package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/audit"
	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/hub"
	"github.com/etui-run/etui/internal/builtin"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/egress"
	"github.com/etui-run/etui/internal/tracing"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection/meta"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/skill/control"
	"github.com/etui-run/etui/skill/markdown"
	"github.com/etui-run/etui/skill/mcp"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
)

// skills is what serves the skills of a workspace.
type skills struct {
	table   *skill.Table
	loader  *skill.Loader
	control *control.Control
	calls   *audit.Recorder
	pins    *mcp.Pins // which tools of servers may be used
	given   *given
	log     *slog.Logger
}

// The files in the state folder.
const (
	decisionsFile = "skills.json"
	callsFile     = "calls.db"
	pinsFile      = "pins.json"
)

// The folders of skills when the configuration names none.
var (
	workspaceFolders = []string{"skills", ".agents/skills", ".claude/skills"}
	globalFolders    = []string{"~/.etui/skills", "~/.agents/skills"}
)

// newSkills loads the skills of a workspace and puts them into the registry.
// Files that cannot be used stop nothing: they are told in the report, and in the
// table.
func (b *built) newSkills(ctx context.Context, w *workspace, out *egress.Guard, stored bool, log *slog.Logger) (*skills, error) {
	var err error
	if b.traces, err = newTracing(log); err != nil {
		return nil, err
	}
	b.close = append(b.close, func() error { return endTracing(ctx, b.traces) })
	if !stored {
		log = slog.New(slog.DiscardHandler) // who looks at skills is told what is wrong with them
	}
	s := &skills{log: log, table: skill.NewTable(log), pins: mcp.NewPins(filepath.Join(w.state, pinsFile)), given: &given{}}
	providers, err := newProviders(out, b.programs, s.pins, b.traces, log)
	if err != nil {
		return nil, err
	}
	for i, p := range providers {
		providers[i] = remembering{p, b.secrets, s.given}
	}
	s.control = control.New(filepath.Join(w.state, decisionsFile), s.table, limits(w.config), log)
	s.loader = skill.NewLoader(s.table, skill.LoaderConfig{
		Roots: roots(w), Providers: providers, Package: markdown.Here().Load, Reserved: b.reserved(), Variables: skill.Variables{Allowed: w.config.Skills.Env}, Steady: b.steady, Log: log,
	})
	s.loader.Load(ctx) // what failed stands in the table and the log
	s.calls = b.newCalls(w, stored, log)
	published := skill.Publish(s.table, b.registry, skill.PublishConfig{Observe: observer(s.calls, b.traces), Idle: !stored, Log: log})
	b.close = append(b.close, published.Close)
	return s, nil
}

// newWalls makes what stands between skills and the network, and between programs
// and the machine.
func newWalls(w *workspace) (*egress.Guard, *sandbox.Sandbox, error) {
	c := w.config
	out, err := egress.New(egress.Config{Allow: c.Skills.Local, Own: w.ports})
	if err != nil {
		return nil, nil, usagef("%s: skills.local: %w", w.file, err)
	}
	programs, err := sandbox.New(sandbox.Config{
		Mode: sandbox.Mode(c.Sandbox.Mode), Require: sandbox.Mode(c.Sandbox.Require),
		Read: c.Sandbox.Read, Closed: append(workspaces(w), w.file, w.state), Dial: out.DialContext,
	})
	if err != nil {
		return nil, nil, usagef("%s: %w", w.file, err)
	}
	if err := sandbox.CheckHosts(c.Sandbox.Network); err != nil {
		return nil, nil, usagef("%s: sandbox.network: %w", w.file, err)
	}
	return out, programs, nil
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

// newCalls makes what keeps and counts calls. Commands that store nothing only
// look at what is kept.
func (b *built) newCalls(w *workspace, stored bool, log *slog.Logger) *audit.Recorder {
	kept := sqlite.NewCalls(filepath.Join(w.state, callsFile), sqlite.CallLimits{})
	b.close = append(b.close, kept.Close)
	calls := audit.NewRecorder(kept, b.secrets, log)
	if stored {
		running, stop := context.WithCancel(context.Background())
		var writer sync.WaitGroup
		writer.Go(func() { calls.Run(running) })
		b.close = append(b.close, func() error {
			stop()
			writer.Wait()
			return nil
		})
	}
	return calls
}

// failures are what is wrong with the files of skills.
func (s *skills) failures() (list []error) {
	now := s.table.Snapshot()
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

// describe sums the skills up, for the lines at the start; nothing when there are
// none.
func (s *skills) describe() string {
	all, failed := s.table.Snapshot().All(), s.table.Snapshot().Failed()
	if len(all)+len(failed) == 0 {
		return ""
	}
	text := fmt.Sprintf("  skills     %d of %d enabled", len(s.table.ListEnabled()), len(all))
	if len(failed) > 0 {
		text += ", " + count(len(failed), "file") + " cannot be used"
	}
	return text + "; see etui skills list\n"
}

// run keeps the skills up to date until ctx ends.
func (s *skills) run(ctx context.Context) {
	var running sync.WaitGroup
	running.Go(func() { s.loader.Run(ctx) })
	running.Go(func() { s.control.Run(ctx) })
	running.Wait()
}

// reload reads everything again, for somebody and a reason.
func (s *skills) reload(ctx context.Context, by, why string) skill.Report {
	s.control.Look()
	r := s.loader.Reload(ctx, by, why)
	s.log.InfoContext(ctx, "skills read again", "by", by, "why", why, "skills", len(r.Loaded), "problems", len(r.Problems), "changed", r.Changed)
	return r
}

// admin is what the admin API shows and changes.
func (s *skills) admin() admin.Config {
	return admin.Config{
		Table: s.table, Decide: s.control.Change, Decision: s.control.Decision, Trouble: s.control.Err, Calls: s.calls,
		Server: serverStatus, Approve: func(server skill.Skill, tools ...string) error { return s.pins.Approve(server.Name(), tools...) },
		Reload: func(ctx context.Context, by, why string) (any, error) {
			return s.reload(ctx, by, cmp.Or(why, "asked to read everything again")), nil
		},
	}
}

// serverStatus tells how it goes with a server; nil for other skills.
func serverStatus(s skill.Skill) any {
	if server, ok := s.(*mcp.Server); ok {
		return server.Status()
	}
	return nil
}

// check holds the skills that a configuration names against those that there are,
// whatever their state. While a file cannot be read nothing is known to be
// missing.
func (s *skills) check(file string, text []byte, c *config.Config) error {
	now := s.table.Snapshot()
	if len(now.Failed()) > 0 {
		return nil
	}
	var known []string
	for _, t := range c.Skills.Toolsets {
		known = append(known, t.Name)
	}
	for _, e := range now.All() {
		known = append(known, e.Name())
	}
	return config.CheckSkills(file, text, c, known)
}

func limits(c *config.Config) control.Limits {
	return control.Limits{Allow: c.Skills.Allow, Deny: c.Skills.Deny}
}

// roots are the folders that skills come from, far ones first.
func roots(w *workspace) []skill.Root {
	c := w.config.Skills
	var list []skill.Root
	for _, dir := range folders(c.Global, globalFolders) {
		if dir, ok := strings.CutPrefix(dir, "~/"); ok {
			if home, err := os.UserHomeDir(); err == nil {
				list = append(list, skill.Root{Dir: filepath.Join(home, dir), Scope: skill.Global})
			}
			continue
		}
		list = append(list, skill.Root{Dir: config.Abs(w.file, dir), Scope: skill.Global})
	}
	for _, dir := range folders(c.Dir, workspaceFolders) {
		list = append(list, skill.Root{Dir: dir, Scope: skill.Workspace, Within: w.dir})
	}
	return list
}

func folders(configured config.Paths, otherwise []string) []string {
	if configured == nil {
		return otherwise
	}
	return configured
}

// protected are the files and folders that tools may not change: with them an
// agent could give itself what it was not given.
func protected(w *workspace) []string {
	list := []string{w.file}
	list = append(list, skillFolders(w)...)
	if w.state != w.dir {
		return append(list, w.state)
	}
	for _, name := range []string{decisionsFile, callsFile, pinsFile, "etui.db", "usage.db", "instance.json", "etui.lock"} {
		list = append(list, filepath.Join(w.state, name))
	}
	return list
}

// skillFolders are the folders that skills come from. What lies in them is read,
// but not changed, by tools.
func skillFolders(w *workspace) (list []string) {
	for _, r := range roots(w) {
		dir := r.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(r.Within, dir)
		}
		list = append(list, dir)
	}
	return list
}

// ownNames are those of the tools of etui that are in no catalog, or not in every one,
// and of the skill of all tools.
func ownNames() []string {
	names := []string{catalog.Full}
	for _, d := range meta.Definitions() {
		names = append(names, d.Name)
	}
	for _, t := range hub.Tools(&hub.Finder{}, &hub.Installer{}) {
		names = append(names, t.Definition().Name)
	}
	return names
}

// reserved reports the names that no skill may have: those of the tools that etui
// itself brings, and of the skill of all tools.
func (b *built) reserved() func(string) bool {
	names := ownNames()
	for e := range b.registry.Catalog().All() {
		if e.Definition.Source == builtin.Source {
			names = append(names, e.Definition.Name)
		}
	}
	return func(name string) bool { return slices.Contains(names, name) }
}

// secretVariable matches names of variables whose values are likely secrets: it is
// their last word that says so. PWD alone is a folder.
var secretVariable = regexp.MustCompile(`(?i)(^|_)(api_?key|key|token|secret|passw(or)?d|passphrase|pass)$|.(_pwd|_pat|_credentials?)$`)

// secretVariables are the values of variables that are likely secrets; the path of a
// file that is there is none.
func secretVariables(environ []string) (list []secret.Value) {
	for _, line := range environ {
		name, value, _ := strings.Cut(line, "=")
		if !secretVariable.MatchString(name) {
			continue
		}
		if _, err := os.Stat(value); err != nil || !filepath.IsAbs(value) {
			list = append(list, secret.Value(value))
		}
	}
	return list
}

// remembering makes the secrets of skills known before their provider has them. They
// stay known when a skill has gone: results of it may still come.
type remembering struct {
	skill.Provider
	known *secret.Known
	given *given
}

// Load implements [skill.Provider].
func (r remembering) Load(c skill.Config) (skill.Skill, error) {
	r.known.Set("skill "+c.Name+" "+c.File, c.Secrets()...)
	r.given.note(c)
	return r.Provider.Load(c)
}

// given is what programs of skills are given beside their folder: hosts and secrets.
// It is safe for concurrent use.
type given struct{ skills sync.Map }

func (g *given) note(c skill.Config) {
	var list []string
	if len(c.Network) > 0 {
		list = append(list, "reaches "+listed(c.Network, 2))
	}
	if len(c.Command) > 0 && len(c.Expanded) > 0 {
		list = append(list, "has "+count(len(c.Expanded), "secret"))
	}
	g.skills.Store(c.Name, strings.Join(list, ", "))
}

// of says what a skill is given; nothing for most.
func (g *given) of(name string) string {
	text, _ := g.skills.Load(name)
	said, _ := text.(string)
	return said
}

// observer stands around every use of a skill: it traces, counts and records it.
func observer(calls *audit.Recorder, traces *tracing.Tracing) skill.ObserveFunc {
	return func(ctx context.Context, u skill.Use, run func(context.Context) error) error {
		who, began := tool.Caller(ctx), time.Now()
		ctx, end := traces.Start(ctx, "skill "+u.Skill, "etui.skill", u.Skill, "etui.version", u.Version, "etui.provider", u.Provider, "etui.tool", u.Tool)
		err := run(ctx)
		result := outcome(err)
		end(result, err == nil)
		calls.Record(audit.Record{
			Time: began, Skill: u.Skill, Version: u.Version, Provider: u.Provider, Tool: u.Tool,
			Agent: who.Agent, Channel: who.Channel, User: who.User, Session: who.Session, Outcome: result,
		}, u.Arguments, time.Since(began), err)
		return err
	}
}

func newTracing(log *slog.Logger) (*tracing.Tracing, error) {
	traces, err := tracing.New(os.Getenv, version(), log)
	if err != nil {
		return nil, usagef("%w", err)
	}
	return traces, nil
}

// endTracing sends what is still to be told.
func endTracing(ctx context.Context, traces *tracing.Tracing) error {
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
	defer done()
	return traces.Close(ending)
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
