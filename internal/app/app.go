// Package app turns a configuration into a running engine: it finds and reads the
// workspace, makes the walls, tools, skills, rules, models and agents, opens the
// store, reloads what may change while etui serves, and closes everything again.
// Beside cmd/etui it is the only package that knows the shape of the configuration.
package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/internal/tracing"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/skill"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/turn"
)

// Config says how an [App] runs.
type Config struct {
	// Stored keeps what happens in the state folder, which one process at a time can
	// do. Without it nothing is written.
	Stored bool
	// Secrets collects the secrets that the configuration and the skills bring.
	Secrets *secret.Known
	// Version is the version of etui that clients and servers are told.
	Version string
	// Log receives what an operator should know; nil discards.
	Log *slog.Logger

	urls Instance // where the gateway and its admin API listen
}

// App is the engine of a workspace, with all that it needs. [App.Close] ends it.
type App struct {
	// Workspace is where it comes from.
	Workspace *Workspace
	// Engine runs the turns; Config is what it was made from.
	Engine *engine.Engine
	Config engine.Config
	// HTTP serves the engine and its admin API.
	HTTP *server.Server
	// Skills are the skills of the workspace.
	Skills *skill.Table
	// Unknown are tools that toolsets name and that do not exist.
	Unknown []catalog.UnknownTarget
	// Warnings name configured features that are unavailable here.
	Warnings []error
	// DemoElsewhere reports that another program has the known address of the demo's
	// service.
	DemoElsewhere bool

	registry *catalog.Registry
	secrets  *secret.Known
	version  string
	log      *slog.Logger
	models   []string // the model of each agent, in the order of the configuration
	source   string   // why these models, when the configuration names none
	calls    atomic.Pointer[rules.Rules]
	skills   *skills
	traces   *tracing.Tracing // nil when nothing is traced
	programs *sandbox.Sandbox // runs programs
	guards   []*protect.Guard // protect names in the workspaces that programs may write
	reloader *reloader
	close    []func() error
}

// Close ends what New began, last first.
func (a *App) Close() error {
	var errs []error
	for i := len(a.close) - 1; i >= 0; i-- {
		errs = append(errs, a.close[i]())
	}
	return errors.Join(errs...)
}

// New makes the engine of a workspace. It runs no turn and watches no file yet.
func New(ctx context.Context, w *Workspace, c Config) (*App, error) {
	a := &App{Workspace: w, secrets: c.Secrets, version: c.Version, log: c.Log}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	if err := a.open(ctx, c); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// open makes everything, in the order in which the parts need each other.
func (a *App) open(ctx context.Context, settings Config) error {
	a.secrets.Set(a.Workspace.File, a.Workspace.Config.Secrets()...)
	if settings.Stored {
		unlock, err := lock(a.Workspace.State, settings.urls)
		if err != nil {
			return err
		}
		a.close = append(a.close, unlock)
	}
	err := a.openCatalog(ctx, settings.Stored)
	if err != nil {
		return err
	}
	if a.Config, err = a.engineConfig(ctx, settings.Stored); err != nil {
		return err
	}
	if a.Engine, err = engine.New(a.Config); err != nil {
		return err
	}
	a.reloader = newReloader(a)
	c := a.Workspace.Config
	a.HTTP = server.New(a.Engine, server.Config{
		Key: string(c.API.Key), Hosts: c.API.Hosts, Skills: a.skills.admin(), Log: a.log,
		Status: api.Config{
			Version: a.version, Policy: func() []rules.Status { return a.calls.Load().Status() },
			Configuration: func() api.Configuration { return *a.reloader.status.Load() },
		},
	})
	if settings.Stored {
		a.resume(ctx)
	}
	a.close = append(a.close, func() error {
		a.wait(ctx) // what turns leave behind is stored before the store is closed
		return nil
	})
	return nil
}

// resume takes up in the background what the last process left open. What is still
// running when the grace of a stop is over stays open for the next start.
func (a *App) resume(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var resuming sync.WaitGroup
	resuming.Go(func() {
		if err := a.Engine.Resume(ctx); err != nil && ctx.Err() == nil {
			a.log.ErrorContext(ctx, "open turns could not be resumed", "error", err)
		}
	})
	a.close = append(a.close, func() error {
		stop()
		resuming.Wait()
		return nil
	})
}

// grace is how long running turns may go on when etui stops.
const grace = 10 * time.Second

// wait waits for running turns to store what they have done.
func (a *App) wait(ctx context.Context) {
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	a.Engine.Wait(ending)
}

// openCatalog fills the catalog with the tools and skills of the workspace, under
// its rules.
func (a *App) openCatalog(ctx context.Context, stored bool) error {
	w := a.Workspace
	a.registry = catalog.NewRegistry(a.log)
	out, programs, err := newWalls(w)
	if err != nil {
		return err
	}
	a.programs = programs
	if err := a.addTools(ctx); err != nil {
		return err
	}
	if err := a.addSkills(ctx, out, stored); err != nil {
		return err
	}
	if err := a.addInstallTools(); err != nil {
		return err
	}
	book, err := rulebookOf(w.Config)
	if err != nil {
		return err
	}
	if err := a.skills.check(w.File, w.Text, w.Config); err != nil {
		return err
	}
	if a.Unknown, err = book.apply(a.registry, &a.calls); err != nil {
		return err
	}
	a.Warnings = slices.Concat(a.Warnings, programs.Warnings(), book.unknown(a.registry.Catalog()))
	for _, warning := range a.Warnings {
		a.log.WarnContext(ctx, "configuration", "warning", warning)
	}
	return nil
}

// engineConfig makes the engine's parts: store, models, agents and what they need.
func (a *App) engineConfig(ctx context.Context, stored bool) (engine.Config, error) {
	w, c := a.Workspace, a.Workspace.Config
	e := engine.Config{
		Registry: a.registry, Skills: a.Skills, Links: c.Sessions.Links,
		MaxMessage: int(c.Limits.Message), MaxWaiting: c.Limits.Waiting, Log: a.log,
	}
	if stored {
		s, err := sqlite.Open(ctx, w.Database())
		if err != nil {
			return e, err
		}
		a.close = append(a.close, s.Close)
		e.Store = s
	}
	e.Learning = a.openUsage(ctx, stored)
	models, err := a.newModels()
	if err != nil {
		return e, err
	}
	if e.Agents, err = a.agents(models); err != nil {
		return e, err
	}
	chooser, err := a.newChooser(models)
	if err != nil {
		return e, err
	}
	if e.Embedder, err = a.newEmbedder(stored); err != nil {
		return e, err
	}
	if e.Scope, err = route.ParseScope(c.Sessions.Scope); err != nil {
		return e, err
	}
	weights, err := LoadWeights(w.State)
	if err != nil {
		a.log.ErrorContext(ctx, "the fitted weights cannot be used", "error", err)
	}
	e.Selection = selection.Config{
		Off: c.Selection.Off, Mode: selection.Mode(c.Selection.Mode), Directory: c.Selection.Directory,
		Skills: c.Selection.Skills, Limit: c.Selection.Limit, Budget: c.Selection.Budget, WindowShare: c.Selection.WindowShare,
		Direct: c.Selection.Direct, Pinned: c.Selection.Pinned, Disabled: c.Tools.Disabled, Weights: weights,
		Recommend: recommend(c.Recommend),
	}
	e.Turn = turn.Config{
		Chooser: chooser, MaxSteps: c.Limits.Steps, CallTimeout: c.Limits.Call, MaxResult: int(c.Limits.Result), MaxSkill: int(c.Limits.Skill),
		Decide: a.decide, Audit: a.skills.calls.Decide, Secrets: a.secrets,
	}
	return e, nil
}

// Sandbox says how programs run here.
func (a *App) Sandbox() sandbox.Status { return a.programs.Status() }

// decide judges a call by the current policy.
func (a *App) decide(ctx context.Context, c rules.Attempt) rules.Decision {
	return a.calls.Load().Decide(ctx, c)
}
