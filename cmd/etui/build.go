package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lmittmann/tint"

	"github.com/etui-run/etui/catalog"
	"github.com/etui-run/etui/embedding"
	"github.com/etui-run/etui/engine"
	"github.com/etui-run/etui/internal/config"
	"github.com/etui-run/etui/internal/demo"
	"github.com/etui-run/etui/internal/nearest"
	"github.com/etui-run/etui/internal/protect"
	"github.com/etui-run/etui/internal/tracing"
	"github.com/etui-run/etui/memory"
	"github.com/etui-run/etui/model"
	"github.com/etui-run/etui/prompt"
	"github.com/etui-run/etui/rank"
	"github.com/etui-run/etui/route"
	"github.com/etui-run/etui/rules"
	"github.com/etui-run/etui/sandbox"
	"github.com/etui-run/etui/secret"
	"github.com/etui-run/etui/selection"
	"github.com/etui-run/etui/server"
	"github.com/etui-run/etui/server/api"
	"github.com/etui-run/etui/session"
	"github.com/etui-run/etui/store/sqlite"
	"github.com/etui-run/etui/tool"
	"github.com/etui-run/etui/turn"
	"github.com/etui-run/etui/usage"
)

// built is a workspace's gateway, ready to serve.
type built struct {
	gateway *engine.Engine
	// server is the gateway over HTTP.
	server *server.Server
	// config is what the gateway was made of.
	config engine.Config
	// models names the model of each agent, in the order of the configuration.
	models []string
	// source says why these models, when the configuration does not.
	source   string
	registry *catalog.Registry
	calls    atomic.Pointer[rules.Rules] // which calls may run
	secrets  *secret.Known
	skills   *skills
	traces   *tracing.Tracing // nil when nobody is told
	// elsewhere says that the demo's service does not have its known address.
	elsewhere bool
	// programs is where programs run.
	programs *sandbox.Sandbox
	// guards keep the protected names of the workspaces that programs may write.
	guards []*protect.Guard
	// usage is what is kept of past turns.
	usage engine.Learning
	// unknown are the tools that skills name and that do not exist.
	unknown []catalog.UnknownTarget
	// warnings are about what the configuration asks for and is not to be had.
	warnings []error
	reloader *reloader
	close    []func() error
}

// Close ends what build began, last first.
func (b *built) Close() error {
	var errs []error
	for i := len(b.close) - 1; i >= 0; i-- {
		errs = append(errs, b.close[i]())
	}
	return errors.Join(errs...)
}

// logger writes to standard error, in colours on a terminal and without secrets.
func (a *app) logger(c config.Log) *slog.Logger {
	out := a.secrets.Writer(a.err)
	var level slog.Level
	_ = level.UnmarshalText([]byte(c.Level)) // the configuration allows four words
	if c.JSON {
		return slog.New(slog.NewJSONHandler(out, &slog.HandlerOptions{Level: level}))
	}
	return slog.New(tint.NewTextHandler(out, &tint.Options{Level: level, TimeFormat: time.TimeOnly, NoColor: !isTerminal(a.err) || os.Getenv("NO_COLOR") != ""}))
}

// build makes the gateway of a workspace. Without a store nothing is kept.
func (a *app) build(ctx context.Context, w *workspace, stored bool, log *slog.Logger) (b *built, err error) {
	b = &built{secrets: a.secrets}
	b.secrets.Set(w.file, w.config.Secrets()...)
	defer func() {
		if err != nil {
			err = errors.Join(err, b.Close())
		}
	}()
	registry := catalog.NewRegistry(log)
	b.registry = registry
	out, programs, err := newWalls(w)
	if err != nil {
		return b, err
	}
	b.programs = programs
	if err := b.addTools(ctx, registry, w, log); err != nil {
		return b, err
	}
	if b.skills, err = b.newSkills(ctx, w, out, stored, log); err != nil {
		return b, err
	}
	if err := b.addInstallTools(w, log); err != nil {
		return b, err
	}
	p, err := rulebookOf(w.config)
	if err != nil {
		return b, err
	}
	if err := b.skills.check(w.file, w.text, w.config); err != nil {
		return b, err
	}
	if b.unknown, err = p.apply(registry, &b.calls); err != nil {
		return b, err
	}
	b.warnings = slices.Concat(b.warnings, programs.Warnings(), p.unknown(registry.Catalog()))
	for _, warning := range b.warnings {
		log.WarnContext(ctx, "configuration", "warning", warning)
	}
	b.reloader = newReloader(w, b, log)
	var store session.Store
	if stored {
		s, err := sqlite.Open(ctx, filepath.Join(w.state, "etui.db"))
		if err != nil {
			return b, err
		}
		b.close = append(b.close, s.Close)
		store = s
	}
	c := w.config
	b.usage = b.openUsage(ctx, w, stored, log)
	models, err := b.newModels(registry, c, log)
	if err != nil {
		return b, err
	}
	agents, err := b.agents(models, w)
	if err != nil {
		return b, err
	}
	chooser, err := newChooser(models, c.Recommend, log)
	if err != nil {
		return b, err
	}
	embedder, err := b.newEmbedder(w, stored, log)
	if err != nil {
		return b, err
	}
	scope, err := route.ParseScope(c.Sessions.Scope)
	if err != nil {
		return b, err
	}
	b.config = engine.Config{
		Registry: registry, Agents: agents, Store: store, Scope: scope, Links: c.Sessions.Links,
		Selection: selection.Config{
			Off: c.Selection.Off, Mode: selection.Mode(c.Selection.Mode), Directory: c.Selection.Directory,
			Skills: c.Selection.Skills, Limit: c.Selection.Limit, Budget: c.Selection.Budget, WindowShare: c.Selection.WindowShare,
			Direct: c.Selection.Direct, Pinned: c.Selection.Pinned, Disabled: c.Tools.Disabled, Weights: weights(ctx, w.state, log),
			Recommend: recommend(c.Recommend),
		},
		Skills:   b.skills.table,
		Learning: b.usage,
		Embedder: embedder,
		Turn: turn.Config{
			Chooser: chooser, MaxSteps: c.Limits.Steps, CallTimeout: c.Limits.Call, MaxResult: int(c.Limits.Result), MaxSkill: int(c.Limits.Skill),
			Decide: b.decide, Audit: b.skills.calls.Decide, Secrets: b.secrets,
		},
		MaxMessage: int(c.Limits.Message), MaxWaiting: c.Limits.Waiting, Log: log,
	}
	b.gateway, err = engine.New(b.config)
	b.reloader.gateway = b.gateway
	if err != nil {
		return b, err
	}
	b.server = server.New(b.gateway, server.Config{
		Key: string(c.API.Key), Hosts: c.API.Hosts, Skills: b.skills.admin(), Log: log,
		Status: api.Config{
			Version: version(), Policy: func() []rules.Status { return b.calls.Load().Status() },
			Configuration: func() api.Configuration { return *b.reloader.status.Load() },
		},
	})
	b.close = append(b.close, func() error {
		// What turns leave behind is stored before the store is closed.
		ending, done := context.WithTimeout(context.WithoutCancel(ctx), shutdown)
		defer done()
		b.gateway.Wait(ending)
		return nil
	})
	return b, nil
}

// decide judges a call by the policy that is in force now.
func (b *built) decide(ctx context.Context, c rules.Attempt) rules.Decision {
	return b.calls.Load().Decide(ctx, c)
}

// openUsage opens what is kept of past turns. The file is made only when turns
// are to be kept and the command stores what it does. A file that cannot be
// opened stops nothing: then nothing is kept or learnt, and who asks for it is
// told why.
func (b *built) openUsage(ctx context.Context, w *workspace, stored bool, log *slog.Logger) engine.Learning {
	c := w.config.Usage
	u := engine.Learning{Keep: c.Keep, Vote: c.Vote, OwnOnly: c.Share == "user"}
	file := filepath.Join(w.state, "usage.db")
	if _, err := os.Stat(file); err != nil && (!c.Keep || !stored) {
		return u
	}
	turns, err := sqlite.OpenUsage(ctx, file, sqlite.UsageLimits{Age: time.Duration(c.Days) * 24 * time.Hour})
	if err != nil {
		log.ErrorContext(ctx, "past turns are neither kept nor learnt from", "error", err)
		u.Log = brokenLog{err}
		return u
	}
	b.close = append(b.close, turns.Close)
	u.Log = turns
	return u
}

// brokenLog is a log that could not be opened.
type brokenLog struct{ err error }

func (l brokenLog) Add(context.Context, usage.Turn) error { return l.err }

func (l brokenLog) List(context.Context, usage.Filter) ([]usage.Turn, error) { return nil, l.err }

func (l brokenLog) Erase(context.Context, string, bool) (int, error) { return 0, l.err }

// addTools registers the tools that the configuration asks for.
func (b *built) addTools(ctx context.Context, registry *catalog.Registry, w *workspace, log *slog.Logger) error {
	if w.config.Tools.Builtin {
		if err := b.addBuiltin(registry, w, log); err != nil {
			return err
		}
	}
	if !w.config.Demo {
		return nil
	}
	tools, elsewhere, stop, err := startDemo(ctx)
	if err != nil {
		return err
	}
	b.elsewhere = elsewhere
	b.close = append(b.close, stop)
	return registry.Register(tools...)
}

// demoAddress is where the skills of the demo's workspace call its service.
const demoAddress = "127.0.0.1:8081"

// startDemo starts the demo's service; elsewhere when another program has taken
// its address: that one is called by the demo's skills then.
func startDemo(ctx context.Context) (tools []tool.Tool, elsewhere bool, stop func() error, err error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", demoAddress)
	if err != nil {
		elsewhere = true
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	}
	if err != nil {
		return nil, false, nil, fmt.Errorf("starting the demo's service: %w", err)
	}
	server := &http.Server{Handler: demo.Lazy(), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = server.Serve(listener) }() // it ends with server.Close
	return demo.Tools("http://"+listener.Addr().String(), &http.Client{Timeout: 30 * time.Second}), elsewhere, server.Close, nil
}

func toolsets(c *config.Config) []catalog.Skill {
	list := make([]catalog.Skill, len(c.Skills.Toolsets))
	for i, s := range c.Skills.Toolsets {
		list[i] = catalog.Skill{Name: s.Name, Description: s.Description, Tools: s.Tools, Aliases: s.Aliases, Examples: s.Examples, Channels: s.Channels}
	}
	return list
}

func recommend(c config.Recommend) selection.Recommend {
	return selection.Recommend{
		On: c.Mode != "off", Channel: float64(c.Channel), Keyword: float64(c.Keyword), History: float64(c.History), Recency: float64(c.Recency),
	}
}

// newChooser makes what is asked when the recommender is unsure; nil when nobody
// is to be.
func newChooser(models map[string]model.Model, c config.Recommend, log *slog.Logger) (*turn.Chooser, error) {
	if c.Mode != "model" {
		return nil, nil
	}
	m, ok := models[c.Model]
	if !ok {
		return nil, usagef("recommend.model: there is no model %q%s", c.Model, nearest.Hint(c.Model, slices.Values(slices.Sorted(maps.Keys(models)))))
	}
	return turn.NewChooser(m, c.Timeout, log), nil
}

// newEmbedder makes what compares meanings; nil when nothing does. Without a store
// only what is kept from before counts: a command that ends at once computes
// nothing.
func (b *built) newEmbedder(w *workspace, stored bool, log *slog.Logger) (*embedding.Embedder, error) {
	c := w.config.Embeddings
	if c.Model == "" {
		return nil, nil
	}
	e, err := embedding.New(embedding.Config{
		BaseURL: c.BaseURL, Model: c.Model, APIKey: string(c.APIKey), Timeout: c.Timeout,
		Weights: rank.VectorWeights{Weight: c.Weight, Threshold: c.Threshold},
		File:    filepath.Join(w.state, "embeddings.jsonl"), ReadOnly: !stored, Log: log,
	})
	if err != nil {
		return nil, err
	}
	b.close = append(b.close, e.Close)
	return e, nil
}

// newModels makes the models, by name. The empty name is the first one's.
func (b *built) newModels(registry *catalog.Registry, c *config.Config, log *slog.Logger) (map[string]model.Model, error) {
	configs := c.Models
	if len(configs) == 0 {
		configs, b.source = modelsOf(os.Getenv)
	}
	models := map[string]model.Model{}
	for _, m := range configs {
		made, err := newModel(m, registry)
		if err != nil {
			return nil, fmt.Errorf("model %s: %w", m.Name, err)
		}
		models[m.Name] = model.Log(made, log)
	}
	models[""] = models[configs[0].Name]
	return models, nil
}

// modeOf is how the tools reach a model, if its configuration says so. The empty
// name is the first one's.
func modeOf(models []config.Model, name string) string {
	for _, m := range models {
		if name == "" || m.Name == name {
			return m.Mode
		}
	}
	return ""
}

// agents makes the agents.
func (b *built) agents(models map[string]model.Model, w *workspace) ([]engine.Agent, error) {
	c := w.config
	list := c.Agents
	if len(list) == 0 {
		list = []config.Agent{{Name: "main"}}
	}
	agents := make([]engine.Agent, len(list))
	for i, a := range list {
		chain := []model.Model{models[a.Model]}
		for _, name := range a.Fallback {
			chain = append(chain, models[name])
		}
		remembered := memory.New(cmp.Or(config.Abs(w.file, a.Workspace), w.dir))
		strategy, err := prompt.ParseStrategy(a.Strategy)
		if err != nil {
			return nil, err
		}
		agents[i] = engine.Agent{
			Name: a.Name, Model: model.Fallback(chain[0], chain[1:]...), Instructions: a.Instructions, Groups: a.Groups,
			Skill: cmp.Or(a.Skill, c.Workflow.DefaultSkill), Skills: a.Skills, Strategy: strategy, Memory: remembered, HistoryTokens: c.Limits.HistoryTokens,
			Mode: selection.Mode(cmp.Or(a.Mode, modeOf(c.Models, a.Model))),
		}
		b.models = append(b.models, agents[i].Model.Info().Name)
	}
	return agents, nil
}

// describeModels says which models answer, for the line at the start.
func (b *built) describeModels() string {
	text := strings.Join(b.models, ", ")
	if b.source != "" {
		text += " (" + b.source + ")"
	}
	return text
}
