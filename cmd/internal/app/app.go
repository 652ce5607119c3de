// Package app turns a workspace into a running engine: it makes the walls, tools, skills,
// rules, models and agents, opens what is kept, reloads what may change while etui serves,
// and closes everything again.
package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/channel"
	"github.com/etui-run/etui/cmd/internal/config"
	"github.com/etui-run/etui/cmd/internal/install"
	"github.com/etui-run/etui/cmd/internal/nameset"
	"github.com/etui-run/etui/cmd/internal/provider"
	"github.com/etui-run/etui/cmd/internal/rulebook"
	"github.com/etui-run/etui/cmd/internal/state"
	"github.com/etui-run/etui/cmd/internal/tuner"
	"github.com/etui-run/etui/cmd/internal/workdir"
	"github.com/etui-run/etui/console"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/erase"
	"github.com/etui-run/etui/identity"
	"github.com/etui-run/etui/inquiry"
	"github.com/etui-run/etui/internal/panics"
	"github.com/etui-run/etui/internal/pdf"
	"github.com/etui-run/etui/internal/sleep"
	"github.com/etui-run/etui/lab/tune"
	"github.com/etui-run/etui/learning"
	"github.com/etui-run/etui/recall"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/schedule"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/admin"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/server/mcp"
	"github.com/etui-run/etui/server/oidc"
	"github.com/etui-run/etui/server/openai"
	"github.com/etui-run/etui/server/token"
	"github.com/etui-run/etui/skill/mcp/oauth"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/workflow"
)

// Config says how an [App] runs.
type Config struct {
	// Stored keeps what happens in the state folder, which one process at a time can
	// do. Without it nothing is written.
	Stored bool
	// Records says that only what is stored matters: no open turn is resumed and, without
	// Stored, the conversations are read where they are, beside any other process.
	Records bool
	// Secrets collects the secrets that the configuration and the skills bring.
	Secrets *secret.Set
	// Version is the version of etui that clients and servers are told.
	Version string
	// Log receives what an operator should know; nil discards.
	Log *slog.Logger

	urls workdir.Instance // where the gateway and its admin API listen
}

// App is the engine of a workspace, with all that it needs. [App.Close] ends it.
type App struct {
	// Workspace is where it comes from.
	Workspace *workdir.Workspace
	// Engine runs the turns; Config is what it was made from.
	Engine *engine.Engine
	Config engine.Config
	// HTTP serves the engine and its admin API.
	HTTP *server.Server
	// Misnamed are names that name nothing, without those that are refused.
	Mistakes nameset.Mistakes
	// Warnings name mistakes in the configuration that stop nothing, and configured
	// features that are unavailable here. They are not logged.
	Warnings []error

	settings Config
	state    *state.State // what is kept: conversations, keys, decisions, records
	models   models
	tools    toolbox
	skills   *skills
	pdfs     *pdf.Reader
	logins   *oauth.Vault // at MCP servers
	desk     *oauth.Desk  // where people log in there
	reloader *reloader
	eraser   *erase.Eraser
	clock    *schedule.Clock
	tuner    *tuner.Tuner
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

// Use makes the engine of a workspace for what do does, and closes it.
func Use(ctx context.Context, w *workdir.Workspace, c Config, do func(*App) error) error {
	a, err := New(ctx, w, c)
	if err != nil {
		return err
	}
	return errors.Join(do(a), a.Close())
}

// New makes the engine of a workspace. It runs no turn and watches no file yet.
func New(ctx context.Context, w *workdir.Workspace, c Config) (*App, error) {
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Log = panics.CountIn(c.Log)
	a := &App{Workspace: w, settings: c, pdfs: pdf.New()}
	a.Config.Registry, a.Config.Workflows = catalog.NewRegistry(c.Log), &workflow.Table{}
	if err := a.open(ctx); err != nil {
		return nil, errors.Join(err, a.Close())
	}
	return a, nil
}

// open makes everything, in the order in which the parts need each other.
func (a *App) open(ctx context.Context) error {
	settings := a.settings
	if err := errors.Join(
		settings.Secrets.Set(a.Workspace.File, state.Secrets(a.Workspace)...),
		settings.Secrets.Mark("secrets of "+a.Workspace.File, a.Workspace.Config.Hidden...),
	); err != nil {
		return err
	}
	if settings.Stored {
		unlock, err := a.Workspace.Lock(settings.urls)
		if err != nil {
			return err
		}
		a.close = append(a.close, unlock)
	}
	var err error
	a.state, err = state.Open(ctx, a.Workspace,
		state.Config{Stored: settings.Stored, Records: settings.Records, Log: settings.Log})
	if err != nil {
		return err
	}
	a.close = append(a.close, a.state.Close)
	if a.state.Warning != nil {
		a.Warnings = append(a.Warnings, a.state.Warning)
	}
	accounts, err := a.openCatalog(ctx, settings.Stored)
	if err != nil {
		return err
	}
	beat, err := a.heartbeat()
	if err != nil {
		return err
	}
	if a.Config, err = a.engineConfig(ctx, settings); err != nil {
		return err
	}
	if a.Engine, err = engine.New(a.Config); err != nil {
		return err
	}
	a.clock = schedule.NewClock(a.Engine, beat, settings.Log)
	a.tools.memory.Memory = recall.New(a.Engine)
	a.reloader = newReloader(a)
	c := a.Workspace.Config
	if a.tools.channels, err = channel.New(channel.Config{
		Engine: a.Engine, Accounts: accounts, Records: a.Config.Store, Files: received(a), Log: settings.Log,
	}); err != nil {
		return err
	}
	a.eraser = erase.New(erase.Config{
		Engine: a.Engine, Parts: []erase.Part{schedule.NewTasks(a.Engine), a.Engine.Approvals().Grants,
			a.Engine.Inquiries(), a.tools.channels, a.logins},
		Local: []erase.Part{a.Engine, a.skills.calls, a.desk}, Log: settings.Log,
	})
	var registry admin.Registry
	if installer, err := install.Skills(a.Workspace, settings.Log); err == nil {
		registry = installer
	} else {
		settings.Log.WarnContext(ctx, "the console cannot install skills", "error", err)
	}
	a.HTTP = server.New(a.Engine, server.Config{
		Models: c.API.Models, A2A: c.API.A2A, AGUI: c.API.AGUI,
		Eraser:  a.eraser,
		Console: elsewhere(c.API.Console),
		File: &console.File{Path: a.Workspace.File, Read: config.Read, Write: a.reloader.write,
			Check: a.reloader.check, Switch: a.reloader.switched, Schema: config.Schema()},
		Preview: a.reloader.preview,
		Key:     string(c.API.Key), Local: settings.urls.Key, Keys: a.state.Keys, Hosts: c.API.Names(),
		Origins: c.API.Origins, Tokens: tokens(c.API), Embeddings: vectors(c.Embeddings),
		URL: strings.TrimSuffix(c.API.URL, "/"), Skills: a.skills.admin(registry), Channels: a.tools.channels,
		Logins: a.desk, Log: settings.Log,
		Users: func() *identity.Users { return rulebook.Of(a.Config.Registry.Catalog()).Users() },
		Status: api.Config{
			Version: settings.Version, Policy: func() []rules.Status { return rulebook.Of(a.Config.Registry.Catalog()).Policy() },
			Configuration: func() api.Configuration { return *a.reloader.status.Load() },
			Embeddings:    embeddings(a.Config.Embedder, c.Embeddings.Model),
			Ranking:       func() api.Ranking { return a.tuner.Ranking() }, Otherwise: a.reloader.otherwise,
			Selection: a.Config.Selection, AddExample: a.tools.addExample,
		},
	})
	if settings.Stored && !settings.Records {
		a.resume(ctx)
	}
	a.close = append(a.close, func() error {
		a.settle(ctx)
		return nil
	})
	return nil
}

// The pauses between two attempts to resume what was left, while the store cannot be read.
const (
	firstResume = time.Second
	lastResume  = time.Minute
)

// resume takes up in the background what the last process left open. While the store cannot
// be read, it tries again. Work that still runs when the grace of a stop is over stays open for
// the next start.
func (a *App) resume(ctx context.Context) {
	ctx, stop := context.WithCancel(context.WithoutCancel(ctx))
	var resuming sync.WaitGroup
	resuming.Go(func() {
		defer panics.Log(a.settings.Log, "forgetting for other processes")
		a.eraser.Follow(ctx)
	})
	resuming.Go(func() {
		defer panics.Log(a.settings.Log, "resuming open turns")
		for pause := firstResume; ; pause = min(2*pause, lastResume) {
			err := a.Engine.Resume(ctx)
			if err == nil || ctx.Err() != nil {
				return
			}
			a.settings.Log.ErrorContext(ctx, "open turns could not be resumed; etui tries again", "after", pause,
				"error", err)
			if !sleep.For(ctx, pause) {
				return
			}
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

// stop lets running turns end, within the grace, and leaves the rest for the next start.
// It returns how many messages that are.
func (a *App) stop(ctx context.Context) (left int) {
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	return a.Engine.Stop(ending)
}

// settle lets what was accepted end, too: a command that ends may have left a turn to come. The app
// stores the remains of its turns before it closes the store.
func (a *App) settle(ctx context.Context) {
	ending, done := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer done()
	a.Engine.Wait(ending)
	a.Engine.Stop(ending)
}

// openCatalog fills the catalog with the tools and skills of the workspace, under
// its rules. It returns the accounts on the platforms of channels.
func (a *App) openCatalog(ctx context.Context, stored bool) (accounts []channel.Account, err error) {
	w := a.Workspace
	out, programs, err := provider.Walls(w)
	if err != nil {
		return nil, err
	}
	a.tools.programs = programs
	a.close = append(a.close, programs.Close)
	if err := a.addTools(ctx); err != nil {
		return nil, err
	}
	if accounts, err = a.openChannels(); err != nil {
		return nil, err
	}
	if err := a.addSkills(ctx, out, stored); err != nil {
		return nil, err
	}
	if err := a.addInstallTools(); err != nil {
		return nil, err
	}
	book, err := rulebook.Compile(w.Config)
	if err != nil {
		return nil, err
	}
	a.addTexts(ctx)
	a.Mistakes = nameset.Check(w.Config, a.Config.Registry.Catalog(), a.skills.table.Snapshot())
	if err := a.Mistakes.Err(); err != nil {
		return nil, err
	}
	if err := book.Apply(a.Config.Registry, a.Config.Workflows); err != nil {
		return nil, err
	}
	a.Warnings = slices.Concat(a.Warnings, programs.Warnings(),
		book.Warnings(a.Config.Registry.Catalog(), a.state.Keys, len(w.Config.Channels) > 0))
	return accounts, nil
}

// engineConfig makes the engine's parts: store, models, agents and what they need.
func (a *App) engineConfig(ctx context.Context, settings Config) (engine.Config, error) {
	w, c, stored := a.Workspace, a.Workspace.Config, settings.Stored
	asked := rulebook.ChatFunc(places{&a.tools.channels}.Chat)
	e := engine.Config{
		Registry: a.Config.Registry, Workflows: a.Config.Workflows, Skills: a.skills.table,
		Users:      func(now *catalog.Catalog) *identity.Users { return rulebook.Of(now).Users() },
		MaxMessage: int(c.Limits.Message), MaxWaiting: c.Limits.Waiting, MaxTurns: c.Limits.Turns,
		Approvers: asked.Approve,
		Asking:    inquiry.Host{Circles: asked.Circles, Places: places{&a.tools.channels}, Audit: a.skills.calls.Keep},
		Tracer:    a.skills.traces.Tracer(), Log: a.settings.Log,
	}
	if a.state.Store != nil && (stored || settings.Records) {
		e.Store = a.state.Store
	}
	u := c.Usage
	e.Learning = learning.Config{Log: a.state.Turns(ctx), Keep: u.Keep, Vote: u.Vote, OwnOnly: u.Share == "user",
		Guests: u.Guests}
	var err error
	models, err := a.newModels()
	if err != nil {
		return e, err
	}
	a.models.byName, e.Models = models, maps.Clone(models)
	delete(e.Models, "")
	if e.Agents, err = a.agents(ctx, models, stored); err != nil {
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
	fitted, err := tune.Load(w.State)
	if err != nil {
		a.settings.Log.ErrorContext(ctx, "the fitted weights cannot be used", "error", err)
	}
	e.Selection = selection.Config{
		Off: c.Selection.Off, Mode: selection.Mode(c.Selection.Mode), Directory: c.Selection.Directory,
		Skills: c.Selection.Skills, Limit: c.Selection.Limit, Budget: c.Selection.Budget,
		WindowShare: c.Selection.WindowShare,
		Direct:      c.Selection.Direct, Pinned: c.Selection.Pinned, Weights: fitted.Weights,
		Recommend: recommend(c.Recommend, fitted), Tuning: &selection.Tuning{},
	}
	a.tuner = a.newTuner(e, fitted)
	e.Turn = turn.Config{
		Chooser: chooser, MaxSteps: c.Limits.Steps, CallTimeout: c.Limits.Call, MaxResult: int(c.Limits.Result),
		MaxSkill: int(c.Limits.Skill),
		Decide:   rulebook.Decide, Approvals: stored, Expire: c.Policy.Approvals.Expire, Audit: a.skills.calls.Decide,
		Secrets: a.settings.Secrets,
	}
	if name := c.Sessions.SummaryModel; name != "" {
		if e.Turn.Summarizer, err = a.named(models, "sessions.summary_model", name); err != nil {
			return e, err
		}
	}
	return e, nil
}

// Sandbox says how programs run here.
func (a *App) Sandbox() sandbox.Status { return a.tools.programs.Status() }

// tokens verifies the tokens of the issuer that is configured; nil if there is none.
func tokens(c config.API) *token.Verifier {
	if c.Issuer == "" {
		return nil
	}
	return token.New(token.Config{
		Issuer: c.Issuer, Audience: cmp.Or(c.Audience, strings.TrimSuffix(c.URL, "/")+mcp.Path), Claim: c.Claim,
	})
}

// elsewhere says how people sign in to the console from other machines.
func elsewhere(c config.Console) server.Elsewhere {
	out := server.Elsewhere{URL: c.URL, Keys: c.Keys}
	if c.Issuer != "" {
		out.Provider = oidc.New(oidc.Config{
			Issuer: c.Issuer, ClientID: c.ClientID, ClientSecret: string(c.ClientSecret),
			Back: c.URL + console.Path + "/back", Scopes: c.Scopes,
			RoleClaim: c.RoleClaim, GroupsClaim: c.GroupsClaim,
			Roles: map[console.Role][]string{console.Owner: c.Owners, console.Operator: c.Operators,
				console.Viewer: c.Viewers},
		})
	}
	return out
}

// vectors passes requests for vectors on to the server that is configured; nil if there is none.
func vectors(c config.Embeddings) *openai.Embeddings {
	if c.Model == "" {
		return nil
	}
	return openai.NewEmbeddings(cmp.Or(c.BaseURL, "https://api.openai.com/v1"), string(c.APIKey), c.Model)
}
